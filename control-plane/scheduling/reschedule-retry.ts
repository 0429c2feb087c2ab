import type { Kysely } from 'kysely';
import type { ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import type { Database } from '../db/tables.ts';
import type { Services } from '../core/services.ts';
import { createJob } from './jobs.ts';

/** A retry of an attempt that ended longer ago would say nothing about that moment. */
const staleAfterMs = 10 * 60_000;

/**
 * Reschedules a failed attempt to another location of its check, chosen at random among the served
 * ones; to the same location when there is no other. Gives that location, `too-late` when the
 * attempt must be the last one, or null when the retry exists already (`isKnown`).
 */
export async function rescheduleRetry(
  services: Services,
  db: Kysely<Database>,
  accountId: string,
  item: ResultSubmission & { isKnown: boolean },
): Promise<string | null> {
  if (item.isKnown || item.retryElsewhere === null) return null;
  if (services.clock.now() - item.stoppedAt > staleAfterMs) return 'too-late';
  const rows = await db
    .selectFrom('check_locations')
    .select('location')
    .where('account_id', '=', accountId)
    .where('check_id', '=', item.checkId)
    .where('location', '!=', item.runLocation)
    .orderBy('position')
    .execute();
  const served = rows
    .map((row) => row.location)
    .filter((location) => services.hub.isServed(accountId, location));
  const location = served[Math.floor(services.random() * served.length)] ?? item.runLocation;
  const job =
    item.jobId === null
      ? undefined
      : await db
          .selectFrom('jobs')
          .select('environment_url')
          .where('account_id', '=', accountId)
          .where('id', '=', item.jobId)
          .executeTakeFirst();
  await createJob(services, db, {
    environmentUrl: job?.environment_url ?? null,
    accountId,
    checkId: item.checkId,
    location,
    source: 'RETRY_ELSEWHERE',
    continues: {
      runId: item.runId,
      slotLocation: item.slotLocation,
      scheduledFor: item.scheduledFor,
      attempt: item.attempt + 1,
      sequenceStartedAt: item.retryElsewhere.sequenceStartedAt,
      notBefore: item.retryElsewhere.notBefore,
    },
  });
  return location;
}
