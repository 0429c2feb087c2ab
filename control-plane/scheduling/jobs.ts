/** Every change of `jobs`: queued runs outside of the schedule, and their leases. */
import type { Kysely, Selectable } from 'kysely';
import { leaseMs } from '@monitor/shared/contract/agent-protocol.ts';
import type { RunSource } from '@monitor/shared/contract/check-trigger.ts';
import { eachOf } from '../db/expressions.ts';
import { lockRows } from '../db/lock.ts';
import type { Database } from '../db/tables.ts';
import { shiftOf, type Gap } from '../reception/index.ts';
import { raiseJobs } from '../core/location-versions.ts';
import type { Services } from '../core/services.ts';
import type { JobsTable } from './tables.ts';

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

/**
 * Queues a run in a location. Call `raiseJobs` for the location at the end of the transaction, and
 * `hub.notify` after the commit.
 */
export async function createJob(
  services: Pick<Services, 'clock' | 'newId' | 'newRunId'>,
  db: Kysely<Database>,
  job: NewJob,
): Promise<void> {
  const now = services.clock.now();
  const { continues } = job;
  const notBefore = Math.max(now, continues?.notBefore ?? now);
  await db
    .insertInto('jobs')
    .values({
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
    })
    .execute();
}

/** Jobs of a location that an agent names. */
interface JobsOfAgent {
  accountId: string;
  location: string;
  agentId: string;
  jobIds: readonly string[];
}

/** Records the leased jobs, so that their results are accepted even after the jobs were deleted. */
async function rememberLeases(
  db: Kysely<Database>,
  jobs: readonly Selectable<JobsTable>[],
  now: number,
): Promise<void> {
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
  db: Kysely<Database>,
  { accountId, location, agentId, jobIds }: JobsOfAgent,
  { now, leaseUntil }: { now: number; leaseUntil: number },
): Promise<Selectable<JobsTable>[]> {
  const waiting = await lockRows(
    db
      .selectFrom('jobs')
      .selectAll()
      .where('account_id', '=', accountId)
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
    .where('account_id', '=', accountId)
    .where('id', 'in', eachOf(waiting.map(({ id }) => id)))
    .execute();
  await rememberLeases(db, waiting, now);
  return waiting;
}

/** Ids of the jobs that are still leased to the agent. */
export async function renewLeases(
  db: Kysely<Database>,
  { accountId, location, agentId, jobIds }: JobsOfAgent,
  now: number,
): Promise<string[]> {
  const rows = await db
    .updateTable('jobs')
    .set({ lease_until: now + leaseMs })
    .where('account_id', '=', accountId)
    .where('location', '=', location)
    .where('agent_id', '=', agentId)
    .where('id', 'in', jobIds)
    .returning('id')
    .execute();
  return rows.map((row) => row.id);
}

/** Releases jobs in a transaction, so that other agents may take them at once. */
export async function releaseJobs(
  db: Kysely<Database>,
  { accountId, location, agentId, jobIds }: JobsOfAgent,
): Promise<void> {
  await db
    .updateTable('jobs')
    .set({ agent_id: null, lease_until: null })
    .where('account_id', '=', accountId)
    .where('location', '=', location)
    .where('agent_id', '=', agentId)
    .where('id', 'in', jobIds)
    .execute();
  await raiseJobs(db, accountId, [location]);
}

/** Releases all jobs of agents that left. */
export async function releaseJobsOf(
  db: Kysely<Database>,
  { accountId, location, gone }: { accountId: string; location: string; gone: readonly string[] },
): Promise<void> {
  await db
    .updateTable('jobs')
    .set({ agent_id: null, lease_until: null })
    .where('account_id', '=', accountId)
    .where('location', '=', location)
    .where('agent_id', 'in', gone)
    .execute();
}

/** Deletes a job whose result an agent of this location submitted. */
export async function finishJob(
  db: Kysely<Database>,
  { accountId, location, jobId }: { accountId: string; location: string; jobId: string },
): Promise<void> {
  await db
    .deleteFrom('jobs')
    .where('account_id', '=', accountId)
    .where('location', '=', location)
    .where('id', '=', jobId)
    .execute();
}

/** Requests a cancellation, for the next check-in of the agent that runs the job. */
export async function requestCancellation(
  db: Kysely<Database>,
  jobId: string,
  now: number,
): Promise<void> {
  await db
    .updateTable('jobs')
    .set({ cancel_requested_at: now })
    .where('id', '=', jobId)
    .where('cancel_requested_at', 'is', null)
    .execute();
}

export async function dropJob(db: Kysely<Database>, jobId: string): Promise<void> {
  await db.deleteFrom('jobs').where('id', '=', jobId).execute();
}

/** Deletes jobs of a check that no agent has begun. */
export async function dropWaitingJobs(
  db: Kysely<Database>,
  { accountId, checkId }: { accountId: string; checkId: string },
): Promise<void> {
  await db
    .deleteFrom('jobs')
    .where('account_id', '=', accountId)
    .where('check_id', '=', checkId)
    .where('agent_id', 'is', null)
    .execute();
}

/** Deletes at most `limit` expired jobs; gives the ids of their runs. */
export async function dropOverdueJobs(
  db: Kysely<Database>,
  now: number,
  limit: number,
): Promise<string[]> {
  const rows = await db
    .deleteFrom('jobs')
    .where('id', 'in', (overdue) =>
      overdue
        .selectFrom('jobs')
        .select('id')
        .where('expires_at', '<=', now)
        .where((where) =>
          where.or([where('lease_until', 'is', null), where('lease_until', '<=', now)]),
        )
        .limit(limit),
    )
    .returning('run_id')
    .execute();
  return rows.map((row) => row.run_id);
}

/** Moves leases and expiry times after a gap in reception. */
export async function moveJobs(db: Kysely<Database>, gap: Gap): Promise<void> {
  const shift = shiftOf(gap);
  await db
    .updateTable('jobs')
    .set((set) => ({
      not_before: set('not_before', '+', gap.stepMs),
      expires_at: set('expires_at', '+', shift),
      lease_until: set('lease_until', '+', shift),
    }))
    .execute();
}
