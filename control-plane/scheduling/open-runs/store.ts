/** Runs in progress: queued jobs, and runs that agents report. */
import { runSource } from '@monitor/shared/contract/check-trigger.ts';
import type { OpenRunWire } from '@monitor/shared/contract/open-run.ts';
import type { CheckType } from '@monitor/shared/contract/checks/index.ts';
import { toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import { eachIdOf, eachOf, isOneOf, unindexed } from '../../db/expressions.ts';
import { daysOf, isOfDays, runDayOf } from '../../db/run-days.ts';
import type { Db, RowOf } from '../../db/tables.ts';
import { reportedRuns, type ReportedRun } from '../open-runs.ts';
import type { Services } from '../../core/services.ts';

interface NamedCheck {
  id: string;
  name: string;
  type: string;
}

type Described = Pick<OpenRunWire, 'checkId' | 'name' | 'checkType'>;

const described = ({ id, name, type }: NamedCheck): Described => ({
  checkId: id,
  name,
  checkType: type as CheckType,
});

/** `reported` is what the agent that has the job says of its run. */
function ofJob(
  job: RowOf<'jobs'>,
  check: NamedCheck,
  reported: ReportedRun | undefined,
  now: number,
): OpenRunWire {
  const isTaken = job.agent_id !== null && (job.lease_until ?? 0) > now && job.not_before <= now;
  return {
    ...described(check),
    sequenceId: job.run_id,
    location: job.location,
    state: isTaken || reported !== undefined ? 'RUNNING' : 'QUEUED',
    // The source of a retry is not stored; it counts as scheduled.
    runSource: runSource.safeParse(job.source).data ?? 'SCHEDULER',
    scheduledFor: toTimestampOrNull(job.scheduled_for),
    queuedAt: toTimestamp(job.created_at),
    startedAt: toTimestampOrNull(reported?.startedAt ?? job.sequence_started_at),
    attempt: reported?.attempt ?? job.attempt,
    isCancelRequested: job.cancel_requested_at !== null,
  };
}

function ofSlot(run: ReportedRun, check: NamedCheck): OpenRunWire {
  return {
    ...described(check),
    sequenceId: run.runId,
    location: run.location,
    state: 'RUNNING',
    runSource: 'SCHEDULER',
    scheduledFor: toTimestampOrNull(run.scheduledFor),
    queuedAt: null,
    startedAt: toTimestamp(run.startedAt),
    attempt: run.attempt,
    isCancelRequested: run.isCancelRequested,
  };
}

/** Those of reported runs that belong to a check of the account in their location, and have no FINAL yet. */
async function believable(
  db: Db,
  accountId: string,
  reported: readonly ReportedRun[],
): Promise<ReportedRun[]> {
  if (reported.length === 0) return [];
  const ended = await db
    .selectFrom('check_runs')
    .select('run_id')
    .where('account_id', '=', accountId)
    .where(isOneOf('run_id', eachIdOf(reported.map(({ runId }) => runId))))
    .where(
      isOfDays(
        'check_runs',
        daysOf(
          reported.map((run) => runDayOf({ run_id: run.runId, scheduled_for: run.scheduledFor })),
        ),
      ),
    )
    .where('state', '=', 'FINAL')
    .execute();
  const places = await db
    .selectFrom('check_locations')
    .select(['check_id', 'location'])
    .where(unindexed<string>('account_id'), '=', accountId)
    .where('check_id', 'in', eachOf(reported.map(({ checkId }) => checkId)))
    .execute();
  const isOver = new Set(ended.map((run) => run.run_id));
  const runsThere = new Set(places.map((place) => `${place.check_id} ${place.location}`));
  return reported.filter(
    ({ runId, checkId, location }) => !isOver.has(runId) && runsThere.has(`${checkId} ${location}`),
  );
}

/** All runs in progress of an account, newest first. */
export async function openRunsOf(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  accountId: string,
  checkId?: string,
): Promise<OpenRunWire[]> {
  const now = clock.now();
  let waiting = db.selectFrom('jobs').selectAll().where('account_id', '=', accountId);
  if (checkId !== undefined) waiting = waiting.where('check_id', '=', checkId);
  const jobs = await waiting.where('expires_at', '>', now).execute();
  const all = await reportedRuns(db, accountId);
  const ofCheck = checkId === undefined ? all : all.filter((run) => run.checkId === checkId);
  const reported = new Map(
    (await believable(db, accountId, ofCheck)).map((run) => [run.runId, run]),
  );
  const ids = [
    ...jobs.map((job) => job.check_id),
    ...[...reported.values()].map((run) => run.checkId),
  ];
  if (ids.length === 0) return [];
  const named = await db
    .selectFrom('checks')
    .select(['id', 'name', 'type'])
    .where(unindexed<string>('account_id'), '=', accountId)
    .where('id', 'in', eachOf(ids))
    .execute();
  const checks = new Map(named.map((check) => [check.id, check]));
  const queued = new Set(jobs.map((job) => job.run_id));
  const wire = [
    ...jobs.flatMap((job) => {
      const check = checks.get(job.check_id);
      return check === undefined ? [] : [ofJob(job, check, reported.get(job.run_id), now)];
    }),
    ...[...reported.values()].flatMap((run) => {
      const check = checks.get(run.checkId);
      return check === undefined || queued.has(run.runId) ? [] : [ofSlot(run, check)];
    }),
  ];
  const since = ({ startedAt, queuedAt }: OpenRunWire): string => startedAt ?? queuedAt ?? '';
  return wire.sort((left, right) => since(right).localeCompare(since(left)));
}
