import type { Services } from '../core/services.ts';

/** Deletes records of leases that are older than the retention of results. */
export async function pruneJobLeases(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  keptMs: number,
): Promise<void> {
  await db
    .deleteFrom('job_leases')
    .where('leased_at', '<', clock.now() - keptMs)
    .execute();
}
