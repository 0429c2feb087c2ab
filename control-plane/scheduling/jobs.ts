/**
 * Every change of `jobs`: queued runs outside of the schedule, and their leases. Shards of runs are leased
 * in the same way, see `run-shards.ts`.
 */
import type { ExpressionBuilder } from 'kysely';
import { leaseMs } from '@monitor/shared/contract/agent-protocol.ts';
import type { RunSource } from '@monitor/shared/contract/check-trigger.ts';
import { toFlag } from '../db/columns.ts';
import { eachOf, unindexed } from '../db/expressions.ts';
import { prepareInserts } from '../db/insert-many.ts';
import { lockRows } from '../db/lock.ts';
import { rowsOf } from '../db/rows.ts';
import type { Database, Db, RowOf } from '../db/tables.ts';
import { shiftOf, type Gap } from '../reception/index.ts';
import { raiseJobs, type Place } from '../core/location-versions.ts';
import type { Services } from '../core/services.ts';

/** Lifetime of a job that no agent takes. */
const jobLifetimeMs = 5 * 60_000;

export interface NewJob {
  accountId: string;
  checkId: string;
  /** Where it is to run. */
  location: string;
  source: RunSource | 'RETRY_ELSEWHERE';
  /** Id of the new run, when the caller needs it. */
  runId?: string;
  /** `ENVIRONMENT_URL` of the run. */
  environmentUrl?: string | null;
  /** The agent sends what its script prints while it runs. */
  streamsLogs?: boolean;
  /** Its snapshots are made anew. */
  updatesSnapshots?: boolean;
  /** When the job expires without an agent. */
  expiresAt?: number;
  /** Set when the job continues a run; otherwise a new run begins. */
  continues?: {
    runId: string;
    slotLocation: string;
    scheduledFor: number | null;
    attempt: number;
    sequenceStartedAt: number;
    notBefore: number;
  };
}

const insertJobs = prepareInserts('jobs', [
  ...(['id', 'account_id', 'check_id', 'location', 'run_id', 'source', 'slot_location'] as const),
  ...(['scheduled_for', 'attempt', 'sequence_started_at', 'not_before', 'expires_at'] as const),
  ...(['agent_id', 'lease_until', 'created_at', 'environment_url', 'streams_logs'] as const),
  'updates_snapshots',
]);

/**
 * Queues runs in locations. Call `raiseJobs` for the locations at the end of the transaction, and
 * `hub.notify` after the commit.
 */
export async function createJobs(
  services: Pick<Services, 'clock' | 'newId' | 'newRunId'>,
  db: Db,
  jobs: readonly NewJob[],
): Promise<void> {
  const now = services.clock.now();
  const rows = jobs.map((job) => {
    const { continues } = job;
    const notBefore = Math.max(now, continues?.notBefore ?? now);
    return {
      id: services.newId(),
      account_id: job.accountId,
      check_id: job.checkId,
      location: job.location,
      run_id: continues?.runId ?? job.runId ?? services.newRunId(),
      source: job.source,
      slot_location: continues?.slotLocation ?? job.location,
      scheduled_for: continues?.scheduledFor ?? null,
      attempt: continues?.attempt ?? 1,
      sequence_started_at: continues?.sequenceStartedAt ?? null,
      not_before: notBefore,
      expires_at: job.expiresAt ?? notBefore + jobLifetimeMs,
      agent_id: null,
      lease_until: null,
      created_at: now,
      environment_url: job.environmentUrl ?? null,
      streams_logs: toFlag(job.streamsLogs ?? false),
      updates_snapshots: toFlag(job.updatesSnapshots ?? false),
    };
  });
  await insertJobs.run(db, rows);
}

/** Jobs of a location that an agent names. */
interface JobsOfAgent {
  accountId: string;
  location: string;
  agentId: string;
  jobIds: readonly string[];
}

/** Records the leased jobs, so that their results are accepted even after the jobs were deleted. */
async function rememberLeases(db: Db, jobs: readonly RowOf<'jobs'>[], now: number): Promise<void> {
  await db
    .insertInto('job_leases')
    .values(
      jobs.map((job) => ({
        account_id: job.account_id,
        location: job.location,
        run_id: job.run_id,
        job_id: job.id,
        check_id: job.check_id,
        slot_location: job.slot_location,
        scheduled_for: job.scheduled_for,
        attempt: job.attempt,
        leased_at: now,
      })),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['account_id', 'location', 'run_id', 'job_id'])
        .doUpdateSet({ leased_at: now }),
    )
    .execute();
}

/**
 * Leases those of these jobs to an agent that still wait and that no other transaction is leasing;
 * gives them.
 */
export async function leaseWaiting(
  db: Db,
  { accountId, location, agentId, jobIds }: JobsOfAgent,
  { now, leaseUntil }: { now: number; leaseUntil: number },
): Promise<RowOf<'jobs'>[]> {
  const waiting = await lockRows(
    db
      .selectFrom('jobs')
      .selectAll()
      .where(unindexed<string>('account_id'), '=', accountId)
      .where('location', '=', location)
      .where('id', 'in', eachOf(jobIds))
      .where('expires_at', '>', now)
      .where('cancel_requested_at', 'is', null)
      .where((where) => where.or([where('agent_id', 'is', null), where('lease_until', '<=', now)]))
      .orderBy('not_before')
      .orderBy('id'),
    { skipLocked: true },
  ).execute();
  if (waiting.length === 0) return [];
  await db
    .updateTable('jobs')
    .set({ agent_id: agentId, lease_until: leaseUntil })
    .where(unindexed<string>('account_id'), '=', accountId)
    .where('id', 'in', eachOf(waiting.map(({ id }) => id)))
    .execute();
  await rememberLeases(db, waiting, now);
  return waiting;
}

/** Jobs and shards are leased alike. */
const leasedTables = ['jobs', 'run_shards'] as const;

/** Ids of the jobs that are still leased to the agent. */
export async function renewLeases(
  db: Db,
  { accountId, location, agentId, jobIds }: JobsOfAgent,
  now: number,
): Promise<string[]> {
  const renewed: string[] = [];
  for (const table of leasedTables) {
    if (renewed.length === jobIds.length) break;
    const rows = await db
      .updateTable(table)
      .set({ lease_until: now + leaseMs })
      .where('account_id', '=', accountId)
      .where('location', '=', location)
      .where('agent_id', '=', agentId)
      .where('id', 'in', jobIds)
      .returning('id')
      .execute();
    renewed.push(...rows.map((row) => row.id));
  }
  return renewed;
}

/** The leases of agents of a location in a table, without holders. */
function released(
  db: Db,
  table: (typeof leasedTables)[number],
  { accountId, location, agentIds }: Place & { agentIds: readonly string[] },
) {
  return db
    .updateTable(table)
    .set({ agent_id: null, lease_until: null })
    .where('account_id', '=', accountId)
    .where('location', '=', location)
    .where('agent_id', 'in', eachOf(agentIds));
}

/** Releases jobs in a transaction, so that other agents may take them at once. */
export async function releaseJobs(
  db: Db,
  { accountId, location, agentId, jobIds }: JobsOfAgent,
): Promise<void> {
  for (const table of leasedTables) {
    await released(db, table, { accountId, location, agentIds: [agentId] })
      .where('id', 'in', jobIds)
      .execute();
  }
  await raiseJobs(db, accountId, [location]);
}

/** Releases all jobs of agents that left. */
export async function releaseJobsOf(
  db: Db,
  { accountId, location, gone }: { accountId: string; location: string; gone: readonly string[] },
): Promise<void> {
  for (const table of leasedTables) {
    await released(db, table, { accountId, location, agentIds: gone }).execute();
  }
}

/** The shards of agents that started again: these have forgotten them. */
export async function releaseShardsOf(
  db: Db,
  { accountId, location }: Place,
  agentIds: readonly string[],
): Promise<void> {
  if (agentIds.length === 0) return;
  const free = await released(db, 'run_shards', { accountId, location, agentIds })
    .where('outcome_json', 'is', null)
    .returning('id')
    .execute();
  if (free.length > 0) await raiseJobs(db, accountId, [location]);
}

export interface FinishedJob {
  accountId: string;
  location: string;
  jobId: string;
  /** The agent that submitted the result. */
  agentId: string;
}

/** Deletes jobs whose results were submitted, unless another agent has the lease by now. */
export async function finishJobs(db: Db, finished: readonly FinishedJob[]): Promise<void> {
  if (finished.length === 0) return;
  const columns = {
    accountId: 'text',
    location: 'text',
    jobId: 'text',
    agentId: 'text',
  } as const;
  const given = rowsOf(columns, finished).as('given');
  await db
    .deleteFrom('jobs')
    .where((where) =>
      where(
        where.refTuple('account_id', 'location', 'id'),
        'in',
        where
          .selectFrom(given)
          .select(['accountId', 'location', 'jobId'])
          .$asTuple('accountId', 'location', 'jobId'),
      ),
    )
    .where((where) =>
      where.or([
        where('agent_id', 'is', null),
        where(
          where.refTuple('id', 'agent_id'),
          'in',
          where.selectFrom(given).select(['jobId', 'agentId']).$asTuple('jobId', 'agentId'),
        ),
      ]),
    )
    .execute();
}

/** Requests a cancellation, for the next check-in of the agent that runs the job. */
export async function requestCancellation(db: Db, jobId: string, now: number): Promise<void> {
  await db
    .updateTable('jobs')
    .set({ cancel_requested_at: now })
    .where('id', '=', jobId)
    .where('cancel_requested_at', 'is', null)
    .execute();
}

export async function dropJob(db: Db, jobId: string): Promise<void> {
  await db.deleteFrom('jobs').where('id', '=', jobId).execute();
}

/** Deletes jobs of a check that no agent has begun; gives the ids of their runs. */
export async function dropWaitingJobs(
  db: Db,
  { accountId, checkId }: { accountId: string; checkId: string },
): Promise<string[]> {
  const rows = await db
    .deleteFrom('jobs')
    .where('account_id', '=', accountId)
    .where('check_id', '=', checkId)
    .where('agent_id', 'is', null)
    .returning('run_id')
    .execute();
  return rows.map((row) => row.run_id);
}

const isOverdue =
  (now: number) =>
  ({ and, or, eb }: ExpressionBuilder<Database, 'jobs'>) =>
    and([
      eb('expires_at', '<=', now),
      or([eb('lease_until', 'is', null), eb('lease_until', '<=', now)]),
    ]);

/** At most `limit` expired jobs, the oldest first. */
export async function overdueJobs(
  db: Db,
  now: number,
  limit: number,
): Promise<{ id: string; checkId: string }[]> {
  return db
    .selectFrom('jobs')
    .select(['id', 'check_id as checkId'])
    .where(isOverdue(now))
    .orderBy('expires_at')
    .limit(limit)
    .execute();
}

/** Deletes those of these jobs that are still expired; gives the ids of their runs. */
export async function dropOverdueJobs(
  db: Db,
  now: number,
  jobIds: readonly string[],
): Promise<string[]> {
  if (jobIds.length === 0) return [];
  const rows = await db
    .deleteFrom('jobs')
    .where('id', 'in', eachOf(jobIds))
    .where(isOverdue(now))
    .returning('run_id')
    .execute();
  return rows.map((row) => row.run_id);
}

/** Moves leases and expiry times after a gap in reception. */
export async function moveJobs(db: Db, gap: Gap): Promise<void> {
  const shift = shiftOf(gap);
  await db
    .updateTable('jobs')
    .set((set) => ({
      not_before: set('not_before', '+', gap.stepMs),
      expires_at: set('expires_at', '+', shift),
      lease_until: set('lease_until', '+', shift),
    }))
    .execute();
  await db
    .updateTable('run_shards')
    .set((set) => ({
      created_at: set('created_at', '+', gap.stepMs),
      expires_at: set('expires_at', '+', shift),
      lease_until: set('lease_until', '+', shift),
    }))
    .execute();
}
