/** Bounded concurrency, first come first served. */
export class Permits {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get running(): number {
    return this.#running;
  }

  get queued(): number {
    return this.#waiting.length;
  }

  /** Calls `work` with a permit, which it may release before it ends. */
  async run<T>(work: (releasePermit: () => void) => Promise<T>): Promise<T> {
    if (this.#running >= this.#limit) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running += 1;
    }
    let isReleased = false;
    const releasePermit = (): void => {
      if (isReleased) return;
      isReleased = true;
      const next = this.#waiting.shift();
      // The permit goes straight to the next waiter, so that no newcomer gets it.
      if (next === undefined) this.#running -= 1;
      else next();
    };
    try {
      return await work(releasePermit);
    } finally {
      releasePermit();
    }
  }
}
