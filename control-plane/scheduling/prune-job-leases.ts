import type { Services } from '../core/services.ts';

/** Forgets which jobs were leased, once a result of them would not be kept any more. */
export async function pruneJobLeases(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  keptMs: number,
): Promise<void> {
  await db
    .deleteFrom('job_leases')
    .where('leased_at', '<', clock.now() - keptMs)
    .execute();
}
