/** Updates the status of a check from its FINAL results. */
import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import { toFlag } from '../db/columns.ts';
import { largerOf, smallerOf } from '../db/expressions.ts';
import { prepareInserts } from '../db/insert-many.ts';
import type { Db } from '../db/tables.ts';
import type { StatusCache } from './status-cache.ts';

/** The combined effect of several FINAL results of one check. */
export interface StatusChange {
  accountId: string;
  checkId: string;
  maxRunMs: number | null;
  minRunMs: number | null;
  /** The newest result. */
  newest: {
    startedAt: number;
    hasFailures: boolean;
    hasErrors: boolean;
    isDegraded: boolean;
    runLocation: string;
    checkRunId: number;
  };
}

type FinalResult = Pick<
  ResultSubmission,
  | 'checkId'
  | 'startedAt'
  | 'hasFailures'
  | 'hasErrors'
  | 'isDegraded'
  | 'runLocation'
  | 'responseTime'
> & { accountId: string; checkRunId: number };

function extreme(
  pick: (a: number, b: number) => number,
  before: number | null,
  next: number | null,
): number | null {
  if (before === null || next === null) return before ?? next;
  return pick(before, next);
}

/** Adds a FINAL result to a change. Agent errors do not count for run times. */
export function statusUpdate(change: StatusChange | undefined, result: FinalResult): StatusChange {
  const time = result.hasErrors ? null : Math.floor(result.responseTime);
  const { startedAt, hasFailures, hasErrors, isDegraded, runLocation, checkRunId } = result;
  const newest = { startedAt, hasFailures, hasErrors, isDegraded, runLocation, checkRunId };
  return {
    accountId: result.accountId,
    checkId: result.checkId,
    maxRunMs: extreme(Math.max, change?.maxRunMs ?? null, time),
    minRunMs: extreme(Math.min, change?.minRunMs ?? null, time),
    newest: change !== undefined && change.newest.startedAt > startedAt ? change.newest : newest,
  };
}

/** True where the status of a check has a result. Until then its row is only the lock of the check. */
export function hasResult(): RawBuilder<SqlBool> {
  return sql<SqlBool>`check_statuses.last_started_at > 0`;
}

/**
 * True when a status is based on a FINAL result without errors, kept or not; until then its flags
 * say nothing about the target. Only such results have a run time.
 */
export function isKnown<S extends { longest_run_ms: number | null }>(
  status: S | undefined,
): status is S {
  return status !== undefined && status.longest_run_ms !== null;
}

const isNewer = sql`(excluded.last_started_at >= check_statuses.last_started_at
  or check_statuses.last_started_at > excluded.updated_at)`;
const ifNewer = (column: string) =>
  sql`${sql.ref(column)} = case when ${isNewer} then ${sql.ref(`excluded.${column}`)}
    else ${sql.ref(`check_statuses.${column}`)} end`;
const ifConclusive = (column: string) =>
  sql`${sql.ref(column)} = case when ${isNewer} and excluded.has_errors = 0
    then ${sql.ref(`excluded.${column}`)} else ${sql.ref(`check_statuses.${column}`)} end`;
const either = (column: string, pick: typeof largerOf) =>
  sql`${sql.ref(column)} = ${pick(
    sql`coalesce(${sql.ref(`check_statuses.${column}`)}, ${sql.ref(`excluded.${column}`)})`,
    sql`coalesce(${sql.ref(`excluded.${column}`)}, ${sql.ref(`check_statuses.${column}`)})`,
  )}`;

/**
 * A result older than the newest one (replayed after an outage) only extends the extremes, unless the
 * newest one was stored before the clock was set back. A result with `hasErrors` is shown as such and
 * keeps the last verdict.
 */
const upsertStatuses = prepareInserts(
  'check_statuses',
  [
    ...(['check_id', 'account_id', 'has_failures', 'has_errors', 'is_degraded'] as const),
    ...(['longest_run_ms', 'shortest_run_ms', 'last_run_location', 'last_check_run_id'] as const),
    ...(['last_started_at', 'created_at', 'updated_at'] as const),
  ],
  {
    onConflict: sql`on conflict (check_id) do update set ${sql.join([
      ...['has_failures', 'is_degraded'].map(ifConclusive),
      ...['has_errors', 'last_run_location', 'last_check_run_id', 'last_started_at'].map(ifNewer),
      either('longest_run_ms', largerOf),
      either('shortest_run_ms', smallerOf),
      sql`created_at = case when ${hasResult()} then check_statuses.created_at
        else excluded.created_at end`,
      sql`updated_at = excluded.updated_at`,
    ])}`,
  },
);

/** Writes the changes of one commit. */
export async function writeStatuses(
  cache: StatusCache,
  db: Db,
  changes: ReadonlyMap<string, StatusChange>,
  now: number,
): Promise<void> {
  const rows = [...changes.values()].map(({ accountId, checkId, maxRunMs, minRunMs, newest }) => ({
    check_id: checkId,
    account_id: accountId,
    has_failures: toFlag(newest.hasFailures && !newest.hasErrors),
    has_errors: toFlag(newest.hasErrors),
    is_degraded: toFlag(newest.isDegraded && !newest.hasErrors),
    longest_run_ms: maxRunMs,
    shortest_run_ms: minRunMs,
    last_run_location: newest.runLocation,
    last_check_run_id: newest.checkRunId,
    last_started_at: newest.startedAt,
    created_at: now,
    updated_at: now,
  }));
  for (const checkId of changes.keys()) cache.drop(checkId);
  await upsertStatuses.run(db, rows);
}

/** Stores the remaining days of the certificate of a check. */
export async function writeCertificateDays(
  cache: StatusCache,
  db: Db,
  { accountId, checkId }: { accountId: string; checkId: string },
  daysRemaining: number | null,
): Promise<void> {
  await db
    .updateTable('check_statuses')
    .set({ ssl_days_remaining: daysRemaining })
    .where('account_id', '=', accountId)
    .where('check_id', '=', checkId)
    .execute();
  cache.drop(checkId);
}
