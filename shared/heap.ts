/** A binary heap: what comes before all others is first. */
export class Heap<T> {
  readonly #comesBefore: (one: T, other: T) => boolean;
  readonly #items: T[] = [];

  constructor(comesBefore: (one: T, other: T) => boolean) {
    this.#comesBefore = comesBefore;
  }

  /** In no order. */
  get items(): readonly T[] {
    return this.#items;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let index = items.length;
    items.push(item);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = items[parent];
      if (above === undefined || !this.#comesBefore(item, above)) break;
      items[index] = above;
      index = parent;
    }
    items[index] = item;
  }

  pop(): T | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (first === undefined || last === undefined || items.length === 0) return first;
    let index = 0;
    for (;;) {
      const left = items[2 * index + 1];
      const right = items[2 * index + 2];
      if (left === undefined) break;
      const isRight = right !== undefined && this.#comesBefore(right, left);
      const child = isRight ? right : left;
      if (!this.#comesBefore(child, last)) break;
      items[index] = child;
      index = 2 * index + (isRight ? 2 : 1);
    }
    items[index] = last;
    return first;
  }
}
