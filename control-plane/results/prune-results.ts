/**
 * Deletes single results after their retention, never before they are rolled up; sums are kept longer.
 * On PostgreSQL whole days of runs go at once. Results of no day, and all on SQLite, are deleted in the
 * order of arrival, which needs no index. SQLite reuses the space in the file.
 */
import { sql } from 'kysely';
import { databaseFailure } from '../db/failure.ts';
import type { Db } from '../db/tables.ts';
import {
  daysOf,
  dropDay,
  isOfDays,
  lockDay,
  makeNextDays,
  newestSeqOf,
  oldestDayBefore,
} from '../db/run-days.ts';
import { inTransaction } from '../db/unit.ts';
import { lockChecks } from '../checks/index.ts';
import type { Services } from '../core/services.ts';
import { firstWaitingSeq } from './roll-up-inbox.ts';

/** Some tens of milliseconds each. */
const resultsAtOnce = 250;
const runsAtOnce = 500;
/** On PostgreSQL. */
const namesAtOnce = 5_000;
/**
 * Days are kept for longer: a run may begin a day after its slot, and its result is accepted until it is too
 * old itself. Events are there for as long as their results.
 */
const keptLongerMs = 2 * 86_400_000;
const eventsKeptLongerMs = keptLongerMs + 86_400_000;
/** A day that a backup reads for hours is not tried each minute. */
const againAfterMs = 10 * 60_000;
const ofNoDay = daysOf([]);

type Needs = Pick<Services, 'db' | 'clock'>;

/** Work for other modules when single results are deleted. */
export interface PruningHooks {
  /** Single results exist only from this instant on. */
  setRawFrom: (db: Db, instant: number) => Promise<void>;
  /** Deletes heartbeat events, which belong to the roll-up of results. True when there may be more. */
  pruneEvents: (db: Db, before: number) => Promise<boolean>;
}

async function pruneOldestResults(
  db: Db,
  before: number,
  { setRawFrom }: PruningHooks,
): Promise<number> {
  const firstWaiting = (await firstWaitingSeq(db)) ?? Infinity;
  const oldest = await db
    .selectFrom('check_results')
    .select(['seq', 'created_at'])
    .where(isOfDays('check_results', ofNoDay))
    .orderBy('seq')
    .limit(resultsAtOnce)
    .execute();
  const end = oldest.findIndex((row) => row.created_at >= before || row.seq >= firstWaiting);
  const prunable = end === -1 ? oldest : oldest.slice(0, end);
  const last = prunable.at(-1);
  if (last === undefined) return 0;
  await db
    .deleteFrom('check_results')
    .where(isOfDays('check_results', ofNoDay))
    .where('seq', '<=', last.seq)
    .execute();
  await setRawFrom(db, before);
  return prunable.length;
}

/** Deletes some of what names the results of a day. False when nothing is left. */
async function deleteNames(db: Db, day: number): Promise<boolean> {
  for (const table of ['check_result_error_groups', 'artifacts'] as const) {
    const { numAffectedRows = 0n } = await sql`
      delete from ${sql.table(table)} where ctid in (
        select ctid from ${sql.table(table)} where run_day = ${day} limit ${namesAtOnce}
      )`.execute(db);
    if (numAffectedRows > 0n) return true;
  }
  return false;
}

/** The first rows of a list, in order of age, that are older than an instant. */
export function olderThan<Row>(
  rows: readonly Row[],
  before: number,
  ageOf: (row: Row) => number,
): Row[] {
  const end = rows.findIndex((row) => ageOf(row) >= before);
  return end === -1 ? [...rows] : rows.slice(0, end);
}

/** Deletes single results with their payloads, files, runs and events, in batches. */
export class ResultPruning {
  readonly #services: Needs;
  readonly #keptMs: number;
  readonly #hooks: PruningHooks;
  /** Runs up to here were checked; some of them still have late results. */
  #lastRun = 0;
  /** Monotonic time from which it tries again to drop a day that others were reading. */
  #dropsFrom = -Infinity;

  constructor(services: Needs, keptMs: number, hooks: PruningHooks) {
    this.#hooks = hooks;
    this.#services = services;
    this.#keptMs = keptMs;
  }

  /** True when there may be more. */
  async run(): Promise<boolean> {
    const { db, clock } = this.#services;
    const before = clock.now() - this.#keptMs;
    await makeNextDays(db, clock.now());
    const day = await oldestDayBefore(db, before - keptLongerMs);
    const mayDrop = day !== null && clock.monotonic() >= this.#dropsFrom;
    if (mayDrop && (await this.#pruneDay(day, before))) return true;
    return inTransaction(db, async (unit) => {
      const results = await pruneOldestResults(unit, before, this.#hooks);
      if (results > 0) return true;
      // Old results that still exist wait for their roll-up, and so do their runs and events.
      const oldest = await unit
        .selectFrom('check_results')
        .select('created_at')
        .where(isOfDays('check_results', ofNoDay))
        .orderBy('seq')
        .limit(1)
        .executeTakeFirst();
      if (oldest !== undefined && oldest.created_at < before) return false;
      const runs = await this.#pruneRuns(unit, before);
      // Results of a day that waits for its roll-up need their events.
      const events =
        day === null && (await this.#hooks.pruneEvents(unit, before - eventsKeptLongerMs));
      return runs || events;
    });
  }

  /** Deletes some of a day, and at last the day. False while its results wait for their roll-up, or others read it. */
  async #pruneDay(day: number, before: number): Promise<boolean> {
    const { db, clock } = this.#services;
    const isWaiting = async (unit: Db) =>
      (await newestSeqOf(unit, day)) >= ((await firstWaitingSeq(unit)) ?? Infinity);
    if (await isWaiting(db)) return false;
    if (await inTransaction(db, (unit) => deleteNames(unit, day))) return true;
    try {
      // Not repeated: everybody waits in each attempt.
      return await db.transaction().execute(async (unit) => {
        await lockDay(unit, day);
        if (await isWaiting(unit)) return false;
        await this.#hooks.setRawFrom(unit, before);
        await dropDay(unit, day);
        return true;
      });
    } catch (error) {
      if (databaseFailure(error) !== 'conflict') throw error;
      this.#dropsFrom = clock.monotonic() + againAfterMs;
      return false;
    }
  }

  /** Deletes runs without results. */
  async #pruneRuns(db: Db, before: number): Promise<boolean> {
    const rows = await db
      .selectFrom('check_runs')
      .select(['id', 'check_id', 'created_at'])
      .where(isOfDays('check_runs', ofNoDay))
      .where('id', '>', this.#lastRun)
      .orderBy('id')
      .limit(runsAtOnce)
      .execute();
    const old = olderThan(rows, before, (row) => row.created_at);
    const first = old[0];
    const last = old.at(-1);
    if (first === undefined || last === undefined) {
      this.#lastRun = 0;
      return false;
    }
    // Nobody stores a result of such a run meanwhile.
    await lockChecks(db, [...new Set(old.map((row) => row.check_id))]);
    await db
      .deleteFrom('check_runs')
      .where(isOfDays('check_runs', ofNoDay))
      .where('id', '>=', first.id)
      .where('id', '<=', last.id)
      .where((where) =>
        where.not(
          where.exists(
            where
              .selectFrom('check_results')
              .select('check_results.seq')
              .whereRef('check_results.check_run_id', '=', 'check_runs.id')
              .where(isOfDays('check_results', ofNoDay)),
          ),
        ),
      )
      .execute();
    this.#lastRun = old.length === runsAtOnce ? last.id : 0;
    return old.length === runsAtOnce;
  }
}
