/** Ends runs that were begun and never finished, so that their last attempt counts. */
import { sql } from 'kysely';
import type { Db, RowOf } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import { fromFlag } from '../db/columns.ts';
import type { Services } from '../core/services.ts';
import { lockChecks } from '../checks/index.ts';
import { eachIdOf, eachNumberOf, isOneOf } from '../db/expressions.ts';
import { daysOf, isOfDays, runDayIn } from '../db/run-days.ts';
import { dropOverdueJobs, overdueJobs } from '../scheduling/index.ts';
import { runAll } from '../db/after-commit.ts';
import { promoteResults, updateRuns } from './result-rows.ts';
import { addToInbox } from './roll-up-inbox.ts';
import { publishResults } from './result-consumer.ts';
import type { RunVerdict } from './run-verdict.ts';
import { verdictOfRow } from './verdict-of-result.ts';
import { statusUpdate, writeStatuses, type StatusChange } from './update-status.ts';

/** Longer than any retry strategy, with time for the submission. */
const abandonedAfterMs = 25 * 60_000;
const runsPerSweep = 500;
const jobsPerSweep = 500;

type Result = RowOf<'check_results'>;

/** The last attempt of each of these runs that has one, with the day of its run. */
async function lastAttempts(
  db: Db,
  runs: readonly { id: number; run_day: number }[],
): Promise<Result[]> {
  const attempts = await db
    .selectFrom('check_results')
    .selectAll()
    .select(runDayIn('check_results').as('run_day'))
    .where(isOneOf('check_run_id', eachNumberOf(runs.map(({ id }) => id))))
    .where(isOfDays('check_results', daysOf(runs.map((run) => run.run_day))))
    .where('result_type', '=', 'ATTEMPT')
    .orderBy('attempt', 'desc')
    .execute();
  const ofRuns = Map.groupBy(attempts, (attempt) => attempt.check_run_id);
  return [...ofRuns.values()].flatMap((ofRun) => ofRun.slice(0, 1));
}

/** Ends runs with their last attempt. */
async function closeWith(db: Db, last: readonly Result[], now: number): Promise<void> {
  if (last.length === 0) return;
  await promoteResults(
    db,
    last.map(({ seq, run_day: runDay }) => ({ seq, runDay })),
  );
  await updateRuns(
    db,
    last.map(({ check_run_id: id, id: result_id, run_day }) => ({
      ...{ id, run_day, result_id, state: 'FINAL', missed_reason: null, late: 0 },
    })),
  );
  const waiting = last
    .filter((attempt) => !fromFlag(attempt.is_cancelled))
    .map(({ seq, check_id: checkId, run_day: runDay }) => ({
      ...{ seq, runDay, checkId, occasion: 'promoted' as const },
    }));
  await addToInbox(db, waiting, now);
}

function withStatus(change: StatusChange | undefined, attempt: Result): StatusChange {
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
    const overdue = await overdueJobs(db, now, jobsPerSweep);
    const old = await db
      .selectFrom('check_runs')
      .select(['id', 'check_id'])
      .where('state', '=', sql.lit('RUNNING'))
      .where('created_at', '<=', now - abandonedAfterMs)
      .orderBy('created_at')
      .limit(runsPerSweep)
      .execute();
    const checkIds = [...overdue.map((job) => job.checkId), ...old.map((run) => run.check_id)];
    await lockChecks(db, [...new Set(checkIds)]);
    const expired = await dropOverdueJobs(
      db,
      now,
      overdue.map(({ id }) => id),
    );
    const abandoned = await db
      .selectFrom('check_runs')
      .select('id')
      .select(runDayIn('check_runs').as('run_day'))
      .where('state', '=', sql.lit('RUNNING'))
      .where((where) =>
        where.or([
          where('id', 'in', eachNumberOf(old.map(({ id }) => id))),
          where('run_id', 'in', eachIdOf(expired)),
        ]),
      )
      .execute();
    const last = abandoned.length === 0 ? [] : await lastAttempts(db, abandoned);
    await closeWith(db, last, now);
    const changes = new Map<string, StatusChange>();
    const verdicts: RunVerdict[] = [];
    for (const attempt of last) {
      // A cancelled run says nothing about the target.
      if (fromFlag(attempt.is_cancelled)) continue;
      const { check_id: checkId } = attempt;
      changes.set(checkId, withStatus(changes.get(checkId), attempt));
      verdicts.push(await verdictOfRow(db, attempt));
    }
    await writeStatuses(services.statuses, db, changes, now);
    return {
      isBehind: overdue.length === jobsPerSweep,
      steps: await publishResults(services, db, { verdicts, endings: [] }),
    };
  });
  runAll(steps);
  return isBehind;
}
