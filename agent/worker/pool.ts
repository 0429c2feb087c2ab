/** Bounded concurrency, first come first served. */
export class Pool {
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

  /**
   * Calls `work` as soon as a place is free. Work that goes on without needing its place may `leave` it
   * to others before it ends.
   */
  async run<T>(work: (leave: () => void) => Promise<T>): Promise<T> {
    if (this.#running >= this.#limit) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running += 1;
    }
    let hasLeft = false;
    const leave = (): void => {
      if (hasLeft) return;
      hasLeft = true;
      const next = this.#waiting.shift();
      // The place goes straight to the next in line, so nobody can slip in between.
      if (next === undefined) this.#running -= 1;
      else next();
    };
    try {
      return await work(leave);
    } finally {
      leave();
    }
  }
}
