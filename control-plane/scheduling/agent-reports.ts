import type { Services } from '../core/services.ts';
import type { Db } from '../db/tables.ts';

interface Reports {
  accountId: string;
  location: string;
  agentId: string;
  events: readonly { code: string; count: number }[];
}

/** Stores internal errors that an agent counted. */
export async function storeReports(
  db: Db,
  { accountId, location, agentId, events }: Reports,
  now: number,
): Promise<void> {
  await db
    .insertInto('agent_reports')
    .values(
      events.map(({ code, count }) => ({
        ...{ account_id: accountId, location, agent_id: agentId },
        ...{ code, count, reported_at: now },
      })),
    )
    .execute();
}

/** Deletes reports older than the retention of results. */
export async function pruneAgentReports(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  keptMs: number,
): Promise<void> {
  await db
    .deleteFrom('agent_reports')
    .where('reported_at', '<', clock.now() - keptMs)
    .execute();
}
