/**
 * Results that wait for the sums of analytics. A transaction that stores a result, or makes an attempt
 * FINAL, adds a row here; `analytics/roll-up.ts` takes rows away and adds them to the sums in
 * one transaction. So each result is in the sums once, in whatever order transactions commit.
 */
import { sql } from 'kysely';
import { fromJson } from '../db/columns.ts';
import { engineOf } from '../db/engine.ts';
import { prepareInserts } from '../db/insert-many.ts';
import { prepareQuery } from '../db/prepared.ts';
import { eachNumberIn } from '../db/expressions.ts';
import { daysOf } from '../db/run-days.ts';
import { shardOf } from '../db/shard.ts';
import type { Db } from '../db/tables.ts';

/**
 * What became of a result, as its writer knew it: FINAL results, attempts, and attempts that became
 * FINAL after they were stored as attempts.
 */
export type Occasion = 'finals' | 'attempts' | 'promoted';

export interface Waiting {
  seq: number;
  runDay: number;
  checkId: string;
  occasion: Occasion;
}

/**
 * `results_json` of a row: numbers of results, and on PostgreSQL the days of their runs, which older builds for
 * SQLite would take for numbers.
 */
interface WaitingRow extends Partial<Record<Occasion, number[]>> {
  days?: number[];
}

/** Results by what became of them. */
export type WaitingResults = Omit<WaitingRow, 'days'>;

const insertRows = prepareInserts('roll_up_inbox', [
  'shard',
  'first_seq',
  'result_count',
  'results_json',
  'created_at',
]);

/** How a stored result waits; null for one that no sum counts. */
export function occasionOf(
  resultType: 'FINAL' | 'ATTEMPT' | 'LATE',
  isCancelled: boolean,
): Occasion | null {
  if (isCancelled || resultType === 'LATE') return null;
  return resultType === 'FINAL' ? 'finals' : 'attempts';
}

/** Adds results, one row for each shard of their checks. */
export async function addToInbox(db: Db, waiting: readonly Waiting[], now: number): Promise<void> {
  const ofShards = Map.groupBy(waiting, ({ checkId }) => shardOf(checkId));
  const rows = [...ofShards].map(([shard, ofShard]) => {
    const results: WaitingResults = {};
    const days = new Set<number>();
    let first = Infinity;
    for (const { seq, runDay, occasion } of ofShard) {
      (results[occasion] ??= []).push(seq);
      days.add(runDay);
      first = Math.min(first, seq);
    }
    const onServer = engineOf(db) === 'postgres' ? { days: [...days] } : {};
    const json = JSON.stringify({ ...results, ...onServer } satisfies WaitingRow);
    return {
      ...{ shard, first_seq: first, result_count: ofShard.length },
      ...{ results_json: json, created_at: now },
    };
  });
  await insertRows.run(db, rows);
}

const takeRows = prepareQuery<
  { shards: string; limit: number },
  { result_count: number; results_json: string }
>((db, argument) =>
  db
    .deleteFrom('roll_up_inbox')
    .where('id', 'in', (taken) =>
      taken
        .selectFrom((counted) =>
          counted
            .selectFrom((oldest) =>
              oldest
                .selectFrom('roll_up_inbox')
                .select(['id', 'result_count'])
                .where('shard', 'in', eachNumberIn(argument('shards')))
                .orderBy('id')
                // A row has at least one result.
                .limit(argument('limit'))
                .as('oldest'),
            )
            .select('id')
            .select((select) =>
              sql<number>`${select.fn
                .sum('result_count')
                .over((over) => over.orderBy('id'))} - result_count`.as('before'),
            )
            .as('counted'),
        )
        .select('id')
        .where('before', '<', argument('limit')),
    )
    .returning(['result_count', 'results_json']),
);

function readRows(rows: readonly { results_json: string }[]): {
  waiting: WaitingResults[];
  days: string;
} {
  const read = rows.map((row) => fromJson<WaitingRow>(row.results_json));
  return {
    waiting: read.map(({ days: _, ...results }) => results),
    days: daysOf(read.flatMap(({ days = [] }) => days)),
  };
}

const oldestShard = prepareQuery<{ shards: string }, { shard: number }>((db, argument) =>
  db
    .selectFrom('roll_up_inbox')
    .select('shard')
    .where('shard', 'in', eachNumberIn(argument('shards')))
    .orderBy('id')
    .limit(1),
);

const countOf = (rows: readonly { result_count: number }[]): number =>
  rows.reduce((sum, row) => sum + row.result_count, 0);

/**
 * Takes the oldest rows of shards away: at least one, and others until they have `limit` results. Those of the
 * shard that has waited longest come first: where many wait, they are of few checks, whose sums are then changed
 * once for many results. The caller holds the locks of these shards. Gives the results, the days of their runs and
 * how many they are.
 */
export async function takeFromInbox(
  db: Db,
  shards: readonly number[],
  limit: number,
): Promise<{ waiting: WaitingResults[]; days: string; count: number }> {
  const all = JSON.stringify(shards);
  const isOne = shards.length === 1;
  const oldest = isOne ? [] : await oldestShard.run(db, { shards: all });
  const first = isOne ? all : JSON.stringify(oldest.map(({ shard }) => shard));
  const rows = await takeRows.run(db, { shards: first, limit });
  const left = limit - countOf(rows);
  if (left > 0 && !isOne) rows.push(...(await takeRows.run(db, { shards: all, limit: left })));
  return { ...readRows(rows), count: countOf(rows) };
}

const rowsOfShard = prepareQuery<{ shard: number }, { results_json: string }>((db, argument) =>
  db.selectFrom('roll_up_inbox').select('results_json').where('shard', '=', argument('shard')),
);

/** The results that a shard still has to add to the sums; most are of other checks than one asks for. */
export async function waitingOfShard(
  db: Db,
  shard: number,
): Promise<{ stored: number[]; promoted: number[]; days: string }> {
  const { waiting, days } = readRows(await rowsOfShard.run(db, { shard }));
  return {
    days,
    stored: waiting.flatMap(({ finals = [], attempts = [] }) => [...finals, ...attempts]),
    promoted: waiting.flatMap(({ promoted = [] }) => promoted),
  };
}

/** Shards that have rows. */
export async function waitingShards(db: Db): Promise<number[]> {
  const rows = await db.selectFrom('roll_up_inbox').select('shard').distinct().execute();
  return rows.map((row) => row.shard);
}

/** The lowest number of a result that is named here; null when nothing waits. */
export async function firstWaitingSeq(db: Db): Promise<number | null> {
  const row = await db
    .selectFrom('roll_up_inbox')
    .select((select) => select.fn.min<number | null>('first_seq').as('first'))
    .executeTakeFirst();
  return row?.first ?? null;
}
