import { Heap } from '@monitor/shared/heap.ts';

/** A planned slot. `plan` distinguishes it from outdated plans of the same check. */
export interface QueuedSlot {
  at: number;
  checkId: string;
  plan: number;
}

/** The earliest slot first. */
export class SlotQueue extends Heap<QueuedSlot> {
  constructor() {
    super((one, other) => one.at < other.at);
  }
}
