/** Calls that arrive while others are being worked on are worked on together, after them. */
import { setImmediate as nextTurn } from 'node:timers/promises';

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

export class Gathered<Item, Result> {
  readonly #work: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #mostAtOnce: number;
  #waiting: Waiting<Item, Result>[] = [];
  #isWorking = false;

  /** `work` gives the result of each item, in their order; when it fails, the call of each fails. */
  constructor(work: (items: readonly Item[]) => Promise<readonly Result[]>, mostAtOnce: number) {
    this.#work = work;
    this.#mostAtOnce = mostAtOnce;
  }

  /** The work on the item begins after the call. */
  run(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#isWorking) void this.#workOff();
    });
  }

  async #workOff(): Promise<void> {
    this.#isWorking = true;
    // Calls of the same turn of the event loop are among the first ones.
    await nextTurn();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#mostAtOnce);
      try {
        const results = await this.#work(batch.map(({ item }) => item));
        for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isWorking = false;
  }
}
