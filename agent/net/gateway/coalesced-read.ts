/** Something costly to look at, for many at once: one look serves all who asked before it began. */
export class SharedLook<T> {
  readonly #look: () => Promise<T>;
  #present: Promise<unknown> = Promise.resolve();
  #next: Promise<T> | null = null;

  constructor(look: () => Promise<T>) {
    this.#look = look;
  }

  /** What there is to be seen from now on; what was seen before is not what was asked for. */
  ask(): Promise<T> {
    if (this.#next !== null) return this.#next;
    const begin = (): Promise<T> => {
      this.#next = null;
      return this.#look();
    };
    const next = this.#present.then(begin, begin);
    this.#next = next;
    this.#present = next;
    return next;
  }
}
