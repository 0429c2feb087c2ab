import type { Kysely } from 'kysely';
import type { RunSource } from '@monitor/shared/contract/check-trigger.ts';
import type { Database } from '../db/tables.ts';
import type { Services } from '../core/services.ts';

/** Nobody took it for so long: it is given up. */
const jobLifetimeMs = 5 * 60_000;

export interface NewJob {
  accountId: string;
  checkId: string;
  /** Where it is to run. */
  location: string;
  source: RunSource | 'RETRY_ELSEWHERE';
  /** Of the new run, when the caller has to know it. */
  runId?: string;
  /** `ENVIRONMENT_URL` of the run. */
  environmentUrl?: string | null;
  /** Nobody took it by then: it is given up. */
  expiresAt?: number;
  /** Set when the job continues a run; a new run begins otherwise. */
  continues?: {
    runId: string;
    slotLocation: string;
    scheduledFor: number | null;
    attempt: number;
    sequenceStartedAt: number;
    notBefore: number;
  };
}

/** Puts a run that is not on the schedule into the queue of a location. Call `hub.notify` after the commit. */
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
