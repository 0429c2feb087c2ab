/**
 * Sums up results by hour and hours by day, each once. Rows of `roll_up_inbox` are taken away and their
 * results added in one transaction, under the lock of their shard: several processes work side by side,
 * each on other checks. On SQLite all of it happens on the event loop: a batch takes some milliseconds
 * of it, waits for no disk, and leaves it to others for three times as long. So a database with years of
 * results catches up in the background.
 */
import { engineOf } from '../db/engine.ts';
import { lockKeys, tryLockKeys } from '../db/lock.ts';
import { shardOf, shards } from '../db/shard.ts';
import type { Db } from '../db/tables.ts';
import { inRepeatableTransaction } from '../db/unit.ts';
import { Cells, dayMs, dayOf, type Cell } from './decide/roll-ups/cell.ts';
import { pack, unpackInto, type Distributions } from './decide/roll-ups/packing.ts';
import type { Services } from '../core/services.ts';
import { Again } from '../core/timers.ts';
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
/** Target duration of a batch in milliseconds: on SQLite nothing else happens meanwhile. */
const batchMs = { sqlite: 5, postgres: 20 };
/** How long others have the event loop after a batch, for each millisecond of it. */
const pausePerMs = 3;
/** Days per batch, each of one check: one takes some milliseconds. */
const maxDays = { sqlite: 1, postgres: 4 };
const everyShard = Array.from({ length: shards }, (_, shard) => shard);
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

const lockOf = (shard: number) => `roll-up/${shard}`;

/** Waits until no roll-up adds to the hours of a check, and keeps them from it in this transaction. */
export const lockHours = (db: Db, checkId: string): Promise<void> =>
  lockKeys(db, [lockOf(shardOf(checkId))]);

/** Adds cells to their hours, and notes the days to be summed up anew. */
export async function addToHours(db: Db, cells: Cells, now: number): Promise<void> {
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
  /** When its transaction began, by the monotonic clock. */
  beganAt: number;
  /** Without the commit, which hardly depends on the number of results. */
  workMs: number;
}

/** Adds about `limit` results of shards to the sums; none of a shard that another process has. */
async function rollUpBatch(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  ofShards: readonly number[],
  limit: number,
): Promise<Batch> {
  return inRepeatableTransaction(db, async (unit) => {
    const now = clock.now();
    const beganAt = clock.monotonic();
    const taken = await tryLockKeys(unit, ofShards.map(lockOf));
    const own = ofShards.filter((shard) => taken.has(lockOf(shard)));
    if (own.length === 0) return { count: 0, beganAt, workMs: 0 };
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
    return { count, beganAt, workMs: clock.monotonic() - beganAt };
  });
}

/** Rolls up new results, batch by batch. */
export class RollUp {
  readonly #services: Pick<Services, 'db' | 'clock'>;
  #limit = firstLimit;

  constructor(services: Pick<Services, 'db' | 'clock'>) {
    this.#services = services;
  }

  /**
   * Runs one batch; days are summed up when no results are left. False when there is nothing more. On
   * PostgreSQL others have the event loop during the batch, which mostly waits for the server.
   */
  async run(): Promise<Again | false> {
    const { db, clock } = this.#services;
    const ofEngine = engineOf(db);
    // SQLite has one writer and no locks: a batch is of all shards.
    const batches =
      ofEngine === 'sqlite' ? [everyShard] : (await waitingShards(db)).map((shard) => [shard]);
    let turn = { hasMore: false, beganAt: 0 };
    for (const batch of batches) {
      const { hasMore, beganAt } = await this.#batch(batch);
      turn = { hasMore: hasMore || turn.hasMore, beganAt };
    }
    if (!turn.hasMore) turn = await sumUpDays(this.#services, maxDays[ofEngine]);
    const tookMs = ofEngine === 'sqlite' ? clock.monotonic() - turn.beganAt : 0;
    return turn.hasMore && new Again(pausePerMs * tookMs);
  }

  async #batch(ofShards: readonly number[]): Promise<{ hasMore: boolean; beganAt: number }> {
    const limit = this.#limit;
    const targetMs = batchMs[engineOf(this.#services.db)];
    const { count, beganAt, workMs } = await rollUpBatch(this.#services, ofShards, limit);
    if (workMs > targetMs) {
      // Results of many checks cost several times as much as results of one: the size shrinks at
      // once.
      this.#limit = Math.max(fewest, Math.floor(limit * Math.max(0.25, (0.9 * targetMs) / workMs)));
    } else if (count >= limit && workMs < targetMs * 0.7) {
      this.#limit = Math.min(most, Math.ceil(limit * 1.4));
    }
    return { hasMore: count >= limit, beganAt };
  }
}
