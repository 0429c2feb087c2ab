/**
 * Sums up results by hour and hours by day, each once. Rows of `roll_up_inbox` are taken away and their
 * results added in one transaction, under the lock of their shard: several processes work side by side,
 * each on other checks. Batches are so small that other writers hardly wait, and a database with years
 * of results catches up in the background.
 */
import type { Kysely } from 'kysely';
import { engineOf } from '../db/engine.ts';
import { tryLockKeys } from '../db/lock.ts';
import type { Database } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import { Cells, dayMs, dayOf, type Cell } from './decide/roll-ups/cell.ts';
import { pack, unpackInto, type Distributions } from './decide/roll-ups/packing.ts';
import type { Services } from '../core/services.ts';
import { type Occasion, takeFromInbox, waitingShards } from '../results/index.ts';
import { sumUpDays } from './roll-up-days.ts';
import {
  deleteDays,
  findHours,
  noteDays,
  resultsOf,
  storeRollUps,
  toRolled,
  type CheckDay,
} from './roll-up-rows.ts';

const fewest = 50;
const firstLimit = 250;
const most = 8_000;
/** Target duration of a batch, in milliseconds. */
const batchMs = 20;
/** Results of a past day still arrive for a while. */
const dayIsDueAfterMs = dayMs + 3_600_000;
/** Delay before a day that was summed up and then got another result is summed up again. */
const dayIsDueAgainMs = 60_000;

type Hour = Awaited<ReturnType<typeof findHours>>[number];

const keyOf = ({ check_id, starts_at, location, part, outcome }: Omit<Hour, 'id'>): string =>
  [check_id, starts_at, location, part, outcome].join('/');

/** The sums of a cell as a row. */
function toRow(cell: Cell): Omit<Hour, 'id' | 'metrics'> {
  return {
    account_id: cell.accountId,
    check_id: cell.checkId,
    hours: 1,
    starts_at: cell.startsAt,
    location: cell.location,
    part: cell.part,
    outcome: cell.outcome,
    finals: cell.finals,
    failures: cell.failures,
    degraded: cell.degraded,
    retries: cell.retries,
    first_at: cell.firstAt,
    last_at: cell.lastAt,
  };
}

/** The stored sums with those of a cell added. */
function added(known: Hour, row: Omit<Hour, 'id' | 'metrics'>, cell: Cell): Omit<Hour, 'id'> {
  const metrics: Distributions = new Map();
  unpackInto(known.metrics, metrics);
  for (const [metric, values] of cell.metrics) {
    const before = metrics.get(metric);
    if (before === undefined) metrics.set(metric, values);
    else before.merge(values);
  }
  return {
    ...row,
    finals: known.finals + row.finals,
    failures: known.failures + row.failures,
    degraded: known.degraded + row.degraded,
    retries: known.retries + row.retries,
    first_at: Math.min(known.first_at, row.first_at),
    last_at: Math.max(known.last_at, row.last_at),
    metrics: Buffer.from(pack(metrics)),
  };
}

/** Adds cells to their hours, and notes the days to be summed up anew. */
async function addToHours(db: Kysely<Database>, cells: Cells, now: number): Promise<void> {
  const rows = [...cells].map((cell) => ({ cell, row: toRow(cell) }));
  if (rows.length === 0) return;
  const known = new Map(
    (
      await findHours(
        db,
        rows.map(({ row }) => row),
      )
    ).map((hour) => [keyOf(hour), hour]),
  );
  const sums: Omit<Hour, 'id'>[] = [];
  const noted = new Map<string, CheckDay & { account_id: string; due_at: number }>();
  const over: CheckDay[] = [];
  for (const { cell, row } of rows) {
    const sum = { ...row, metrics: Buffer.alloc(0) };
    const before = known.get(keyOf(sum));
    sums.push(
      before === undefined
        ? { ...sum, metrics: Buffer.from(pack(cell.metrics)) }
        : added(before, row, cell),
    );
    const { account_id, check_id } = row;
    const day = dayOf(cell.startsAt);
    const isOver = now >= day + dayMs;
    // The first result of the hour has recorded the day.
    if (before !== undefined && !isOver) continue;
    const key = `${check_id}/${day}`;
    if (noted.has(key)) continue;
    if (isOver) over.push({ check_id, starts_at: day });
    const dueAt = Math.max(day + dayIsDueAfterMs, now + dayIsDueAgainMs);
    noted.set(key, { account_id, check_id, starts_at: day, due_at: dueAt });
  }
  await noteDays.run(db, [...noted.values()]);
  await deleteDays(db, over);
  await storeRollUps.run(db, sums);
}

interface Batch {
  /** Number of results processed. */
  count: number;
  /** Without the wait for the disk, which does not depend on the number of results. */
  workMs: number;
}

/** Adds about `limit` results of shards to the sums; none of a shard that another process has. */
async function rollUpBatch(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  shards: readonly number[],
  limit: number,
): Promise<Batch> {
  return inTransaction(db, async (unit) => {
    const now = clock.now();
    const start = clock.monotonic();
    const nameOf = (shard: number) => `roll-up/${shard}`;
    const taken = await tryLockKeys(unit, shards.map(nameOf));
    const own = shards.filter((shard) => taken.has(nameOf(shard)));
    if (own.length === 0) return { count: 0, workMs: 0 };
    const { waiting, days, count } = await takeFromInbox(unit, own, limit);
    const occasions = waiting.flatMap((row) =>
      Object.entries(row).flatMap(([occasion, seqs]) =>
        seqs.map((seq) => ({ seq, occasion: occasion as Occasion })),
      ),
    );
    const seqs = [...new Set(occasions.map(({ seq }) => seq))];
    const given = { seqs: JSON.stringify(seqs), days };
    const rows = seqs.length === 0 ? [] : await resultsOf.run(unit, given);
    const results = new Map(rows.map((row) => [row.seq, row]));
    const cells = new Cells();
    for (const { seq, occasion } of occasions) {
      const row = results.get(seq);
      const result = row === undefined ? null : toRolled(row, occasion);
      if (result !== null) cells.add(result, occasion === 'promoted');
    }
    await addToHours(unit, cells, now);
    return { count, workMs: clock.monotonic() - start };
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
    const { db } = this.#services;
    const waiting = await waitingShards(db);
    // SQLite has one writer, and each transaction waits for the disk.
    const batches = engineOf(db) === 'sqlite' ? [waiting] : waiting.map((shard) => [shard]);
    let hasMore = false;
    for (const shards of batches) {
      if (shards.length > 0 && (await this.#batch(shards))) hasMore = true;
    }
    return hasMore || sumUpDays(this.#services);
  }

  async #batch(shards: readonly number[]): Promise<boolean> {
    const limit = this.#limit;
    const { count, workMs } = await rollUpBatch(this.#services, shards, limit);
    if (workMs > batchMs) {
      // Results of many checks cost several times as much as results of one: the size shrinks at
      // once.
      this.#limit = Math.max(fewest, Math.floor(limit * Math.max(0.25, (0.9 * batchMs) / workMs)));
    } else if (count >= limit && workMs < batchMs * 0.7) {
      this.#limit = Math.min(most, Math.ceil(limit * 1.4));
    }
    return count >= limit;
  }
}
