/** Shares an expensive read between callers: one read serves all callers from before its start. */
export class CoalescedRead<T> {
  readonly #read: () => Promise<T>;
  #present: Promise<unknown> = Promise.resolve();
  #next: Promise<T> | null = null;

  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  /** The value of a read that begins from now on; an older one may be outdated. */
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
