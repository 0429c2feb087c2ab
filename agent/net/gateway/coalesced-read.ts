/** Something costly to read, for many callers at once: one read serves all that asked before it began. */
export class CoalescedRead<T> {
  readonly #read: () => Promise<T>;
  #present: Promise<unknown> = Promise.resolve();
  #next: Promise<T> | null = null;

  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  /** What a read that begins from now on gives; an older one may be outdated. */
  read(): Promise<T> {
    if (this.#next !== null) return this.#next;
    const begin = (): Promise<T> => {
      this.#next = null;
      return this.#read();
    };
    const next = this.#present.then(begin, begin);
    this.#next = next;
    this.#present = next;
    return next;
  }
}
