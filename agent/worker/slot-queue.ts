/** A planned slot. `plan` distinguishes it from outdated plans of the same check. */
export interface QueuedSlot {
  at: number;
  checkId: string;
  plan: number;
}

/** A binary heap: the earliest slot first. */
export class SlotQueue {
  readonly #heap: QueuedSlot[] = [];

  peek(): QueuedSlot | undefined {
    return this.#heap[0];
  }

  push(slot: QueuedSlot): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(slot);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || above.at <= slot.at) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = slot;
  }

  pop(): QueuedSlot | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      const left = heap[2 * index + 1];
      const right = heap[2 * index + 2];
      if (left === undefined) break;
      const isRight = right !== undefined && right.at < left.at;
      const child = isRight ? right : left;
      if (child.at >= last.at) break;
      heap[index] = child;
      index = 2 * index + (isRight ? 2 : 1);
    }
    heap[index] = last;
    return first;
  }
}
