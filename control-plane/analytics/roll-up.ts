/**
 * Sums up results by hour and hours by day, each once. Sums and the roll-up position (`seq`, in the
 * order of commits) change in one transaction. Batches are so small that other writers hardly wait,
 * and a database with years of results catches up in the background.
 */
import type { Kysely } from 'kysely';
import type { Database } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import { Cells, dayMs, dayOf, type Cell } from './decide/roll-ups/cell.ts';
import { pack, unpackInto, type Distributions } from './decide/roll-ups/packing.ts';
import type { Services } from '../core/services.ts';
import { sumUpDays } from './roll-up-days.ts';
import {
  correctedResults,
  deleteDay,
  findRollUp,
  insertRollUp,
  noteDay,
  progressOf,
  resultsAfter,
  saveProgress,
  toRolled,
  updateRollUp,
} from './roll-up-rows.ts';

const fewest = 50;
const firstLimit = 250;
const most = 8_000;
/** Target duration of a batch, in milliseconds. */
const batchMs = 20;
const correctionsAtOnce = 200;
/** Results of a past day still arrive for a while. */
const dayIsDueAfterMs = dayMs + 3_600_000;
/** Delay before a day that was summed up and then got another result is summed up again. */
const dayIsDueAgainMs = 60_000;

async function addToHour(db: Kysely<Database>, cell: Cell, now: number): Promise<void> {
  const { accountId, checkId, startsAt } = cell;
  const key = {
    check_id: checkId,
    hours: 1,
    starts_at: startsAt,
    location: cell.location,
    part: cell.part,
    outcome: cell.outcome,
  };
  const [known] = await findRollUp.run(db, key);
  if (known === undefined) {
    await insertRollUp.run(db, {
      ...key,
      account_id: accountId,
      finals: cell.finals,
      failures: cell.failures,
      degraded: cell.degraded,
      retries: cell.retries,
      first_at: cell.firstAt,
      last_at: cell.lastAt,
      metrics: Buffer.from(pack(cell.metrics)),
    });
  } else {
    const metrics: Distributions = new Map();
    unpackInto(known.metrics, metrics);
    for (const [metric, values] of cell.metrics) {
      const before = metrics.get(metric);
      if (before === undefined) metrics.set(metric, values);
      else before.merge(values);
    }
    await updateRollUp.run(db, {
      id: known.id,
      finals: known.finals + cell.finals,
      failures: known.failures + cell.failures,
      degraded: known.degraded + cell.degraded,
      retries: known.retries + cell.retries,
      first_at: Math.min(known.first_at, cell.firstAt),
      last_at: Math.max(known.last_at, cell.lastAt),
      metrics: Buffer.from(pack(metrics)),
    });
  }
  const day = dayOf(startsAt);
  const isOver = now >= day + dayMs;
  // The first result of the hour has recorded the day.
  if (known !== undefined && !isOver) return;
  if (isOver) await deleteDay.run(db, { checkId, day });
  const dueAt = Math.max(day + dayIsDueAfterMs, now + dayIsDueAgainMs);
  await noteDay.run(db, { accountId, checkId, day, dueAt });
}

interface Batch {
  /** Number of results processed. */
  count: number;
  /** Without the wait for the disk, which does not depend on the number of results. */
  workMs: number;
}

async function rollUpBatch(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  limit: number,
): Promise<Batch> {
  return inTransaction(db, async (unit) => {
    const now = clock.now();
    const start = clock.monotonic();
    const [progress] = await progressOf.run(unit, {});
    if (progress === undefined) throw new Error('how far results are rolled up is not known');
    const cells = new Cells();
    const corrected = await correctedResults.run(unit, { limit: correctionsAtOnce });
    for (const row of corrected) {
      const result = toRolled(row);
      if (result !== null) cells.add(result, true);
    }
    const rows = await resultsAfter.run(unit, { seq: progress.rolled_up_to, limit });
    for (const row of rows) {
      const result = toRolled(row);
      if (result !== null) cells.add(result);
    }
    for (const cell of cells) await addToHour(unit, cell, now);
    const lastCorrected = corrected.at(-1);
    if (lastCorrected !== undefined) {
      await unit
        .deleteFrom('roll_up_corrections')
        .where('result_seq', '<=', lastCorrected.seq)
        .execute();
    }
    const last = rows.at(-1);
    if (last !== undefined) await saveProgress.run(unit, { rolledUpTo: last.seq });
    return { count: rows.length, workMs: clock.monotonic() - start };
  });
}

/** Rolls up new results, batch by batch. */
export class RollUp {
  readonly #services: Pick<Services, 'db' | 'clock'>;
  #limit = firstLimit;

  constructor(services: Pick<Services, 'db' | 'clock'>) {
    this.#services = services;
  }

  /** Runs one batch; days are summed up when no results are left. True when there may be more. */
  async run(): Promise<boolean> {
    const limit = this.#limit;
    const { count, workMs } = await rollUpBatch(this.#services, limit);
    if (workMs > batchMs) {
      // Results of many checks cost several times as much as results of one: the size shrinks at
      // once.
      this.#limit = Math.max(fewest, Math.floor(limit * Math.max(0.25, (0.9 * batchMs) / workMs)));
    } else if (count === limit && workMs < batchMs * 0.7) {
      this.#limit = Math.min(most, Math.ceil(limit * 1.4));
    }
    if (count === limit) return true;
    return sumUpDays(this.#services);
  }
}
