/**
 * The last finished slot of each check, on disk. Checks stand in the order of their ids, which is
 * random: writing the slots of each commit there would write a page for each result. They are written
 * as one row for each commit, and come to their checks by the hundreds.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { z } from 'zod';

export interface Slot {
  checkId: string;
  /** In ms. */
  scheduledFor: number;
}

const batch = z.array(z.tuple([z.string(), z.number()]));
/** Takes a few milliseconds. */
const foldFrom = 500;

/** None for a damaged row: what runs again because of it is recorded once all the same. */
function slotsIn(text: string): Slot[] {
  try {
    return batch
      .parse(JSON.parse(text))
      .map(([checkId, scheduledFor]) => ({ checkId, scheduledFor }));
  } catch {
    return [];
  }
}

export class FinishedSlots {
  readonly #db: DatabaseSync;
  readonly #append: StatementSync;
  readonly #set: StatementSync;
  /** In rows of their commits. */
  #unfolded: Slot[] = [];

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#append = db.prepare('insert into finished_slot_batches (slots) values (?)');
    this.#set = db.prepare(
      `insert into finished_slots (check_id, scheduled_for) values (?, ?)
       on conflict (check_id) do update
         set scheduled_for = max(scheduled_for, excluded.scheduled_for)`,
    );
    for (const row of db.prepare('select slots from finished_slot_batches').all()) {
      this.added(slotsIn(String(row['slots'])));
    }
  }

  /** Within the transaction of the caller, who calls `added` after its commit. */
  add(slots: readonly Slot[]): void {
    if (slots.length === 0) return;
    this.#append.run(
      JSON.stringify(slots.map(({ checkId, scheduledFor }) => [checkId, scheduledFor])),
    );
  }

  added(slots: readonly Slot[]): void {
    for (const slot of slots) this.#unfolded.push(slot);
  }

  /** Brings the slots to their checks when there are `from` of them; after an error the next call does it. */
  fold(from = foldFrom): void {
    if (this.#unfolded.length < Math.max(1, from)) return;
    const newest = new Map<string, number>();
    for (const { checkId, scheduledFor } of this.#unfolded) {
      newest.set(checkId, Math.max(scheduledFor, newest.get(checkId) ?? scheduledFor));
    }
    this.#db.exec('begin immediate');
    try {
      for (const [checkId, scheduledFor] of newest) this.#set.run(checkId, scheduledFor);
      this.#db.exec('delete from finished_slot_batches');
      this.#db.exec('commit');
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('rollback');
      throw error;
    }
    this.#unfolded = [];
  }

  all(): Map<string, number> {
    const rows = this.#db.prepare('select check_id, scheduled_for from finished_slots').all();
    const slots = new Map(
      rows.map((row) => [String(row['check_id']), Number(row['scheduled_for'])]),
    );
    for (const { checkId, scheduledFor } of this.#unfolded) {
      slots.set(checkId, Math.max(scheduledFor, slots.get(checkId) ?? scheduledFor));
    }
    return slots;
  }
}
