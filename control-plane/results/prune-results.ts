/**
 * Single results are kept for a while, sums of them longer. Results go in the order in which they came,
 * so finding them needs no index, and never before they are rolled up. The space in the file is used
 * again by what comes after them.
 */
import type { Kysely } from 'kysely';
import type { Database } from '../db/tables.ts';
import type { Services } from '../core/services.ts';

/** Some tens of milliseconds each. */
const resultsAtOnce = 250;
const runsAtOnce = 500;

type Needs = Pick<Services, 'db' | 'clock'>;

/** What goes with single results. */
export interface PruningHooks {
  /** Sums know single results from this instant on. */
  setRawFrom: (db: Kysely<Database>, instant: number) => Promise<void>;
  /** Events of heartbeats, which results are rolled up by. True when there may be more. */
  pruneEvents: (db: Kysely<Database>, before: number) => Promise<boolean>;
}

async function pruneOldestResults(
  db: Kysely<Database>,
  before: number,
  { setRawFrom }: PruningHooks,
): Promise<number> {
  const { rolled_up_to: rolledUpTo, raw_from: rawFrom } = await db
    .selectFrom('roll_up_progress')
    .select(['rolled_up_to', 'raw_from'])
    .executeTakeFirstOrThrow();
  const oldest = await db
    .selectFrom('check_results')
    .leftJoin('roll_up_corrections', 'roll_up_corrections.result_seq', 'check_results.seq')
    .select(['check_results.seq', 'check_results.created_at', 'roll_up_corrections.result_seq'])
    .orderBy('check_results.seq')
    .limit(resultsAtOnce)
    .execute();
  // Results that came as attempts and have just become FINAL are rolled up once more.
  const end = oldest.findIndex(
    (row) => row.created_at >= before || row.seq > rolledUpTo || row.result_seq !== null,
  );
  const prunable = end === -1 ? oldest : oldest.slice(0, end);
  const last = prunable.at(-1);
  if (last === undefined) return 0;
  await db.deleteFrom('check_results').where('seq', '<=', last.seq).execute();
  await setRawFrom(db, Math.max(rawFrom, before));
  return prunable.length;
}

/** The first rows of a list in order of age that are older than so. */
export function olderThan<Row>(
  rows: readonly Row[],
  before: number,
  ageOf: (row: Row) => number,
): Row[] {
  const end = rows.findIndex((row) => ageOf(row) >= before);
  return end === -1 ? [...rows] : rows.slice(0, end);
}

/** Forgets single results, with their payloads, files, runs and events, a batch at a time. */
export class ResultPruning {
  readonly #services: Needs;
  readonly #keptMs: number;
  readonly #hooks: PruningHooks;
  /** Runs up to here have been looked at; some of them still have results that came late. */
  #lastRun = 0;

  constructor(services: Needs, keptMs: number, hooks: PruningHooks) {
    this.#hooks = hooks;
    this.#services = services;
    this.#keptMs = keptMs;
  }

  /** True when there is more to do. */
  async run(): Promise<boolean> {
    const { db, clock } = this.#services;
    const before = clock.now() - this.#keptMs;
    return db.transaction().execute(async (unit) => {
      const results = await pruneOldestResults(unit, before, this.#hooks);
      if (results > 0) return true;
      // Whatever is that old and still there waits to be rolled up, and so do its run and its event.
      const oldest = await unit
        .selectFrom('check_results')
        .select('created_at')
        .orderBy('seq')
        .executeTakeFirst();
      if (oldest !== undefined && oldest.created_at < before) return false;
      const runs = await this.#pruneRuns(unit, before);
      const events = await this.#hooks.pruneEvents(unit, before);
      return runs || events;
    });
  }

  /** Runs that have no results, or none any more. */
  async #pruneRuns(db: Kysely<Database>, before: number): Promise<boolean> {
    const rows = await db
      .selectFrom('check_runs')
      .select(['id', 'created_at'])
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
    await db
      .deleteFrom('check_runs')
      .where('id', '>=', first.id)
      .where('id', '<=', last.id)
      .where((where) =>
        where.not(
          where.exists(
            where
              .selectFrom('check_results')
              .select('check_results.seq')
              .whereRef('check_results.check_run_id', '=', 'check_runs.id'),
          ),
        ),
      )
      .execute();
    this.#lastRun = old.length === runsAtOnce ? last.id : 0;
    return old.length === runsAtOnce;
  }
}
