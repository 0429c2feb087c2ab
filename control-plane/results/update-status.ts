/** Updates the status of a check from its FINAL results. */
import type { Kysely } from 'kysely';
import type { ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import { toFlag } from '../db/columns.ts';
import { largerOf, smallerOf } from '../db/expressions.ts';
import { prepareQuery } from '../db/prepared.ts';
import type { Database } from '../db/tables.ts';
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

/**
 * True when a status is based on a FINAL result without errors, kept or not; until then its flags
 * say nothing about the target. Only such results have a run time.
 */
export function isKnown<S extends { longest_run_ms: number | null }>(
  status: S | undefined,
): status is S {
  return status !== undefined && status.longest_run_ms !== null;
}

interface StatusArguments {
  check_id: string;
  account_id: string;
  has_failures: number;
  has_errors: number;
  is_degraded: number;
  longest_run_ms: number | null;
  shortest_run_ms: number | null;
  last_run_location: string;
  last_check_run_id: number;
  last_started_at: number;
  now: number;
}

/**
 * A result older than the newest one (replayed after an outage) only extends the extremes. A result
 * with `hasErrors` is shown as such and keeps the last verdict.
 */
const upsertStatus = prepareQuery<StatusArguments>((db, argument) =>
  db
    .insertInto('check_statuses')
    .values({
      check_id: argument('check_id'),
      account_id: argument('account_id'),
      has_failures: argument('has_failures'),
      has_errors: argument('has_errors'),
      is_degraded: argument('is_degraded'),
      longest_run_ms: argument('longest_run_ms'),
      shortest_run_ms: argument('shortest_run_ms'),
      last_run_location: argument('last_run_location'),
      last_check_run_id: argument('last_check_run_id'),
      ssl_days_remaining: null,
      last_started_at: argument('last_started_at'),
      created_at: argument('now'),
      updated_at: argument('now'),
    })
    .onConflict((conflict) =>
      conflict.column('check_id').doUpdateSet((set) => {
        const isNewer = set.or([
          set('excluded.last_started_at', '>=', set.ref('check_statuses.last_started_at')),
          // It was stored before the clock was set back.
          set('check_statuses.last_started_at', '>', set.ref('excluded.updated_at')),
        ]);
        const isConclusive = set.and([isNewer, set('excluded.has_errors', '=', 0)]);
        const either = (bound: 'longest_run_ms' | 'shortest_run_ms', pick: typeof largerOf) =>
          pick(
            set.fn.coalesce(`check_statuses.${bound}`, `excluded.${bound}`),
            set.fn.coalesce(`excluded.${bound}`, `check_statuses.${bound}`),
          );
        const conclusive = (flag: 'has_failures' | 'is_degraded') =>
          set
            .case()
            .when(isConclusive)
            .then(set.ref(`excluded.${flag}`))
            .else(set.ref(`check_statuses.${flag}`))
            .end();
        const newer = <
          C extends 'has_errors' | 'last_run_location' | 'last_check_run_id' | 'last_started_at',
        >(
          column: C,
        ) =>
          set
            .case()
            .when(isNewer)
            .then(set.ref(`excluded.${column}`))
            .else(set.ref(`check_statuses.${column}`))
            .end();
        return {
          has_failures: conclusive('has_failures'),
          is_degraded: conclusive('is_degraded'),
          has_errors: newer('has_errors'),
          last_run_location: newer('last_run_location'),
          last_check_run_id: newer('last_check_run_id'),
          last_started_at: newer('last_started_at'),
          longest_run_ms: either('longest_run_ms', largerOf),
          shortest_run_ms: either('shortest_run_ms', smallerOf),
          updated_at: set.ref('excluded.updated_at'),
        };
      }),
    ),
);

/** Writes the changes of one commit. */
export async function writeStatuses(
  cache: StatusCache,
  db: Kysely<Database>,
  changes: ReadonlyMap<string, StatusChange>,
  now: number,
): Promise<void> {
  for (const { accountId, checkId, maxRunMs, minRunMs, newest } of changes.values()) {
    cache.drop(checkId);
    await upsertStatus.run(db, {
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
      now,
    });
  }
}

/** Stores the remaining days of the certificate of a check. False without a status. */
export async function writeCertificateDays(
  cache: StatusCache,
  db: Kysely<Database>,
  { accountId, checkId }: { accountId: string; checkId: string },
  daysRemaining: number | null,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('check_statuses')
    .set({ ssl_days_remaining: daysRemaining })
    .where('account_id', '=', accountId)
    .where('check_id', '=', checkId)
    .executeTakeFirst();
  cache.drop(checkId);
  return numUpdatedRows > 0n;
}
