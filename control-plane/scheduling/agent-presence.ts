/** Updates a location when its agents come or go: the epoch grows; presence and jobs are updated. */
import type { AgentsChanged } from './location-hub.ts';
import type { Services } from '../core/services.ts';
import { releaseJobsOf } from './jobs.ts';
import { inTransaction } from '../db/unit.ts';

/** Records a change of the agents of a location. Jobs of agents that left are released at once. */
export async function recordAgentsChanged(
  services: Pick<Services, 'db' | 'clock'>,
  change: AgentsChanged,
): Promise<void> {
  const { accountId, location, gone, servingCount } = change;
  const now = services.clock.now();
  await inTransaction(services.db, async (db) => {
    const before = await db
      .selectFrom('location_states')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('location', '=', location)
      .executeTakeFirst();
    const isServed = servingCount > 0;
    const state = {
      epoch: (before?.epoch ?? 0) + 1,
      served_since: isServed ? (before?.served_since ?? now) : null,
      unserved_since: isServed ? null : (before?.unserved_since ?? now),
    };
    await db
      .insertInto('location_states')
      .values({ account_id: accountId, location, ...state })
      .onConflict((conflict) => conflict.columns(['account_id', 'location']).doUpdateSet(state))
      .execute();
    if (gone.length === 0) return;
    await db
      .updateTable('agents')
      .set({ gone_at: now })
      .where('account_id', '=', accountId)
      .where('location', '=', location)
      .where('id', 'in', gone)
      .execute();
    await releaseJobsOf(db, { accountId, location, gone });
  });
}
