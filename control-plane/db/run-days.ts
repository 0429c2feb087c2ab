/**
 * Days of runs. On PostgreSQL runs and their results are partitioned by the day of the run, so that old
 * ones go with their tables and not row by row. The day follows from the run alone: whatever arrives
 * about it days later meets it there. SQLite has neither the partitions nor the column.
 */
import { sql, type RawBuilder, type SqlBool } from 'kysely';
import { byEngine, engineOf } from './engine.ts';
import { lockKeys } from './lock.ts';
import type { Db } from './tables.ts';

const dayMs = 86_400_000;
/** Runs may be stored for longer than this before the next ones are made. */
const daysAhead = 14;
/** Runs of no slot whose ids tell no time. */
const noDay = 0;

/** What is unique within a day, and so at all. */
const uniqueWithinADay = {
  check_runs: ['run_id', 'check_id, scheduled_for, location'],
  check_results: ['id'],
} as const;
type Partitioned = keyof typeof uniqueWithinADay;
const partitioned = Object.keys(uniqueWithinADay) as Partitioned[];

/** The day of an instant, since 1970. */
export const dayAt = (instant: number): number => Math.floor(instant / dayMs);

/** The day of a run, since 1970: that of its slot, or of the time in its id (UUID version 7). */
export function runDayOf(run: { run_id: string; scheduled_for: number | null }): number {
  const { run_id: id, scheduled_for: scheduledFor } = run;
  if (scheduledFor !== null) return dayAt(scheduledFor);
  if (id.charAt(14) !== '7') return noDay;
  return dayAt(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}

/** Days for `isOfDays`; runs of no day always count. */
export function daysOf(days: Iterable<number>): string {
  return `{${[...new Set([noDay, ...days])].join()}}`;
}

/**
 * True for rows of these days: the other partitions are not looked at. `days` is from `daysOf`. A statement
 * that leaves this out looks at all days, which costs some milliseconds.
 */
export function isOfDays(
  table: Partitioned | 'result_payloads',
  days: string,
): RawBuilder<SqlBool> {
  return byEngine({
    sqlite: sql<SqlBool>`true`,
    postgres: sql<SqlBool>`${sql.ref(`${table}.run_day`)} = any(${days}::int[])`,
  });
}

/** Runs begin up to a day after their slot, and clocks of agents may be two days wrong. */
const slackDays = 3;

/** The same for what began in a window of instants. */
export function isOfWindow(table: Partitioned, from: number, to: number): RawBuilder<SqlBool> {
  const day = sql.ref(`${table}.run_day`);
  const [first, last] = [from, to].map((instant) => sql`(${instant}::bigint / ${sql.lit(dayMs)})`);
  return byEngine({
    sqlite: sql<SqlBool>`true`,
    postgres: sql<SqlBool>`(
      ${day} between ${first} - ${sql.lit(slackDays)} and ${last} + ${sql.lit(slackDays)}
      or ${day} = ${sql.lit(noDay)}
    )`,
  });
}

/** Joins runs with their results within their day. */
export const isOfSameDay: RawBuilder<SqlBool> = byEngine({
  sqlite: sql<SqlBool>`true`,
  postgres: sql<SqlBool>`check_runs.run_day = check_results.run_day`,
});

/** The column, which reads as no day on SQLite. */
export function runDayIn(table: Partitioned): RawBuilder<number> {
  return byEngine({
    sqlite: sql<number>`${sql.lit(noDay)}`,
    postgres: sql.ref(`${table}.run_day`),
  });
}

const nameOf = (table: Partitioned, day: number): string => `${table}_d${day}`;

/** Makes the partitions of runs of no day, with the tables. */
export const firstDay: readonly string[] = partitioned.flatMap((table) => [
  `create table ${nameOf(table, noDay)} partition of ${table} for values from (${noDay}) to (${noDay + 1})`,
  ...uniqueWithinADay[table].map(
    (columns) => `create unique index on ${nameOf(table, noDay)} (${columns})`,
  ),
]);

/** Days that have partitions, in order. */
async function daysThere(db: Db): Promise<number[]> {
  const { rows } = await sql<{ day: number }>`
    select substring(child.relname from '_d(\\d+)$')::int as day
    from pg_inherits join pg_class as child on child.oid = inhrelid
    where inhparent = to_regclass('check_results') order by day`.execute(db);
  return rows.map(({ day }) => day);
}

/** Makes the partitions of days that have none. */
export async function makeDays(db: Db, days: readonly number[]): Promise<void> {
  await db.transaction().execute(async (unit) => {
    await lockKeys(unit, ['days of runs']);
    const there = new Set(await daysThere(unit));
    for (const day of days.filter((each) => !there.has(each))) {
      for (const table of partitioned) {
        const name = nameOf(table, day);
        const run = (text: string) => sql.raw(text).execute(unit);
        // Made apart and attached, which keeps nobody from reading and writing other days.
        await run(`create table ${name} (like ${table} including all excluding identity)`);
        for (const columns of uniqueWithinADay[table]) {
          await run(`create unique index on ${name} (${columns})`);
        }
        await run(
          `alter table ${table} attach partition ${name} for values from (${day}) to (${day + 1})`,
        );
      }
    }
  });
}

/** Makes the partitions of today and the next days. */
export async function makeNextDays(db: Db, now: number): Promise<void> {
  if (engineOf(db) === 'sqlite') return;
  const next = Array.from({ length: daysAhead + 1 }, (_, index) => dayAt(now) + index);
  const there = new Set(await daysThere(db));
  if (next.some((day) => !there.has(day))) await makeDays(db, next);
}

/** Makes the partition that an insert did not find. False for any other error. */
export async function makeMissingDay(db: Db, error: unknown): Promise<boolean> {
  if (!(error instanceof Error && 'code' in error && error.code === '23514')) return false;
  const detail = 'detail' in error ? String(error.detail) : '';
  const [, day] = /\(run_day\) = \((\d+)\)/.exec(detail) ?? [];
  if (day === undefined) return false;
  await makeDays(db, [Number(day)]);
  return true;
}

/** The oldest day that ended before an instant and has partitions; null without one, and on SQLite. */
export async function oldestDayBefore(db: Db, instant: number): Promise<number | null> {
  if (engineOf(db) === 'sqlite') return null;
  const day = (await daysThere(db)).find((each) => each !== noDay);
  return day !== undefined && (day + 1) * dayMs <= instant ? day : null;
}

/** The highest number of the results of a day; 0 without any. */
export async function newestSeqOf(db: Db, day: number): Promise<number> {
  const { rows } = await sql<{ newest: number | null }>`
    select max(seq) as newest from ${sql.table(nameOf('check_results', day))}`.execute(db);
  return rows[0]?.newest ?? 0;
}

/**
 * Locks a day that is about to be dropped. Everybody else who reads or writes runs waits meanwhile, so
 * it gives up soon when others are in the way.
 */
export async function lockDay(db: Db, day: number): Promise<void> {
  await sql`set local lock_timeout = '100ms'`.execute(db);
  const tables = partitioned.map((table) => `only ${table}, ${nameOf(table, day)}`);
  await sql.raw(`lock table ${tables.join()} in access exclusive mode`).execute(db);
}

/** Drops a day that is locked. */
export async function dropDay(db: Db, day: number): Promise<void> {
  await sql.raw(`drop table ${partitioned.map((table) => nameOf(table, day)).join()}`).execute(db);
}
