/** The newest records of the outbox in memory, so that what is sent at once is not read back from disk. */

export interface StoredRecord {
  seq: number;
  /** JSON of the submission. */
  payload: string;
  sizeBytes: number;
  createdAt: number;
}

export interface NewRecord extends StoredRecord {
  isTombstone: boolean;
}

/** Enough for several seconds of a busy agent; in an outage the disk has the others. */
export const keptBytes = 2_000_000;

/** Up to `limit` records and about `maxBytes`, at least one. */
export function batchOf(
  records: Iterable<StoredRecord>,
  limit: number,
  maxBytes: number,
): StoredRecord[] {
  const batch: StoredRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    if (batch.length >= limit) break;
    bytes += record.sizeBytes;
    if (batch.length > 0 && bytes > maxBytes) break;
    batch.push(record);
  }
  return batch;
}

export class NewestRecords {
  /** In the order of their numbers. */
  readonly #records = new Map<number, NewRecord>();
  #bytes = 0;
  /** Every waiting record with a higher number is here. */
  #after: number;

  constructor(after: number) {
    this.#after = after;
  }

  add(records: readonly NewRecord[]): void {
    for (const record of records) {
      this.#records.set(record.seq, record);
      this.#bytes += record.sizeBytes;
    }
    for (const seq of this.#records.keys()) {
      if (this.#bytes <= keptBytes) break;
      this.remove(seq);
      this.#after = seq;
    }
  }

  find(seq: number): NewRecord | undefined {
    return this.#records.get(seq);
  }

  /** The removed record; undefined when it is not here. */
  remove(seq: number): NewRecord | undefined {
    const record = this.#records.get(seq);
    this.#records.delete(seq);
    this.#bytes -= record?.sizeBytes ?? 0;
    return record;
  }

  /** True when all records after this number are here, of so many in the outbox. */
  hasAllAfter(after: number, depth: number): boolean {
    return after >= this.#after || this.#records.size === depth;
  }

  /** Records with `after < seq <= upTo`. */
  take(after: number, upTo: number, limit: number, maxBytes: number): StoredRecord[] {
    return batchOf(this.#between(after, upTo), limit, maxBytes);
  }

  *#between(after: number, upTo: number): Generator<StoredRecord, void> {
    for (const record of this.#records.values()) {
      if (record.seq > upTo) return;
      if (record.seq > after) yield record;
    }
  }
}
