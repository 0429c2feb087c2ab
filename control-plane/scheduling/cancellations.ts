/** Cancelled jobs. */
import type { Kysely } from 'kysely';
import type { Database } from '../db/tables.ts';

/** Cancelled runs of an agent, for the answer to its check-in. */
export async function cancellationsFor(
  db: Kysely<Database>,
  { accountId, location }: { accountId: string; location: string },
  agentId: string,
): Promise<string[]> {
  const jobs = await db
    .selectFrom('jobs')
    .select('run_id')
    .where('account_id', '=', accountId)
    .where('location', '=', location)
    .where('agent_id', '=', agentId)
    .where('cancel_requested_at', 'is not', null)
    .execute();
  return jobs.map((job) => job.run_id);
}
