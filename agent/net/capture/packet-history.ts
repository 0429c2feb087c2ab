/**
 * Copies of the blocks that may be asked for, in segments of memory that are made when they are needed
 * and used again when nobody needs what they hold any more, or when there is no room for more.
 */
import { maxBlockBytes, readBlock, type BlockHeader } from '../../native/packet-ring.ts';

const segmentBytes = maxBlockBytes;

export interface KeptBlock extends BlockHeader {
  readonly bytes: Buffer;
}

class Segment {
  readonly memory: Buffer;
  used = 0;
  lastAt = 0;
  blocks: KeptBlock[] = [];
  next: Segment | null = null;

  constructor(memory: Buffer) {
    this.memory = memory;
  }
}

export class PacketHistory {
  #first: Segment | null = null;
  #last: Segment | null = null;
  #segments = 0;
  #maxSegments = 1;

  /** Of all segments; at least one is made. */
  limitTo(bytes: number): void {
    this.#maxSegments = Math.max(1, Math.floor(bytes / segmentBytes));
    while (this.#segments > this.#maxSegments) this.#dropOldest();
  }

  get bytes(): number {
    return this.#segments * segmentBytes;
  }

  /** Copies a block; older ones are needed from an instant on. Both are of the monotonic clock. */
  add(block: Buffer, now: number, neededFrom: number): void {
    const header = readBlock(block);
    if (header === null) return;
    let segment = this.#last;
    if (segment === null || segment.used + header.length > segmentBytes)
      segment = this.#append(neededFrom);
    const bytes = segment.memory.subarray(segment.used, segment.used + header.length);
    block.copy(bytes);
    segment.blocks.push({ ...header, bytes });
    segment.used += header.length;
    segment.lastAt = now;
  }

  #append(neededFrom: number): Segment {
    let memory: Buffer | null = null;
    while (
      this.#first !== null &&
      (this.#segments >= this.#maxSegments || this.#first.lastAt < neededFrom)
    ) {
      memory = this.#dropOldest();
    }
    const segment = new Segment(memory ?? Buffer.allocUnsafeSlow(segmentBytes));
    if (this.#last === null) this.#first = segment;
    else this.#last.next = segment;
    this.#last = segment;
    this.#segments += 1;
    return segment;
  }

  #dropOldest(): Buffer | null {
    const oldest = this.#first;
    if (oldest === null) return null;
    // A walk that is in it goes on to the next.
    oldest.blocks = [];
    this.#first = oldest.next;
    if (this.#first === null) this.#last = null;
    this.#segments -= 1;
    return oldest.memory;
  }

  clear(): void {
    while (this.#first !== null) this.#dropOldest();
  }

  /** Oldest first, also those that come during the walk. Blocks that go meanwhile are left out. */
  *[Symbol.iterator](): Generator<KeptBlock, void, undefined> {
    for (let segment = this.#first; segment !== null; segment = segment.next) {
      for (let index = 0; index < segment.blocks.length; index += 1) {
        const block = segment.blocks[index];
        if (block !== undefined) yield block;
      }
    }
  }
}
