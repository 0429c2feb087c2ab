import type { Services } from '../core/services.ts';

/** Forgets what agents reported about faults of their own, as long after as results are forgotten. */
export async function pruneAgentReports(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  keptMs: number,
): Promise<void> {
  await db
    .deleteFrom('agent_reports')
    .where('reported_at', '<', clock.now() - keptMs)
    .execute();
}
