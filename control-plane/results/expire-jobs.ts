/** Ends runs that were begun and never finished, so that their last attempt counts. */
import type { Kysely, Selectable } from 'kysely';
import type { Database } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import type { CheckResultsTable } from './tables.ts';
import { fromFlag } from '../db/columns.ts';
import type { Services } from '../core/services.ts';
import { dropOverdueJobs } from '../scheduling/index.ts';
import { runAll } from '../core/after-commit.ts';
import { publishResults } from './result-consumer.ts';
import type { RunVerdict } from './run-verdict.ts';
import { verdictOfRow } from './verdict-of-result.ts';
import { statusUpdate, writeStatuses, type StatusChange } from './update-status.ts';

/** Longer than any retry strategy, with time for the submission. */
const abandonedAfterMs = 25 * 60_000;
const runsPerSweep = 500;
const jobsPerSweep = 500;

async function closeWithLastAttempt(
  db: Kysely<Database>,
  run: { id: number; account_id: string },
): Promise<Selectable<CheckResultsTable> | null> {
  const attempt = await db
    .selectFrom('check_results')
    .selectAll()
    .where('account_id', '=', run.account_id)
    .where('check_run_id', '=', run.id)
    .where('result_type', '=', 'ATTEMPT')
    .orderBy('attempt', 'desc')
    .executeTakeFirst();
  if (attempt === undefined) return null;
  await db
    .updateTable('check_results')
    .set({ result_type: 'FINAL' })
    .where('seq', '=', attempt.seq)
    .execute();
  await db
    .updateTable('check_runs')
    .set({ state: 'FINAL', result_id: attempt.id })
    .where('id', '=', run.id)
    .execute();
  return attempt;
}

function withStatus(
  change: StatusChange | undefined,
  attempt: Selectable<CheckResultsTable>,
): StatusChange {
  return statusUpdate(change, {
    accountId: attempt.account_id,
    checkId: attempt.check_id,
    checkRunId: attempt.check_run_id,
    startedAt: attempt.started_at,
    hasFailures: fromFlag(attempt.has_failures),
    hasErrors: fromFlag(attempt.has_errors),
    isDegraded: fromFlag(attempt.is_degraded),
    runLocation: attempt.run_location,
    responseTime: attempt.response_time_ms,
  });
}

/**
 * Deletes expired jobs and ends runs that wait for nothing any more: their last attempt becomes the
 * FINAL result. True when there may be more.
 */
export async function expireJobs(services: Services): Promise<boolean> {
  const now = services.clock.now();
  const { isBehind, steps } = await inTransaction(services.db, async (db) => {
    const expired = await dropOverdueJobs(db, now, jobsPerSweep);
    const abandoned = await db
      .selectFrom('check_runs')
      .select(['id', 'account_id'])
      .where('state', '=', 'RUNNING')
      .where((where) =>
        where.or([
          where('created_at', '<=', now - abandonedAfterMs),
          ...(expired.length > 0 ? [where('run_id', 'in', expired)] : []),
        ]),
      )
      .limit(runsPerSweep)
      .execute();
    const changes = new Map<string, StatusChange>();
    const verdicts: RunVerdict[] = [];
    for (const run of abandoned) {
      const attempt = await closeWithLastAttempt(db, run);
      // A cancelled run says nothing about the target.
      if (attempt === null || fromFlag(attempt.is_cancelled)) continue;
      const { check_id: checkId } = attempt;
      changes.set(checkId, withStatus(changes.get(checkId), attempt));
      verdicts.push(await verdictOfRow(db, attempt));
    }
    await writeStatuses(services.statuses, db, changes, now);
    return {
      isBehind: expired.length === jobsPerSweep,
      steps: await publishResults(services, db, { verdicts, endings: [] }),
    };
  });
  runAll(steps);
  return isBehind;
}
