import type { Services } from '../core/services.ts';
import { candidateFromRow } from './check-needs.ts';

/** After a restart, agents get this long to come back before their checks move to other agents. */
const returnWithinMs = 30_000;

/** Fills the hub with the agents that served when the process stopped. */
export async function restoreAgents(services: Services): Promise<void> {
  const rows = await services.db
    .selectFrom('agents')
    .selectAll()
    .where('gone_at', 'is', null)
    .execute();
  for (const row of rows) {
    services.hub.expect(row.account_id, row.location, candidateFromRow(row), returnWithinMs);
  }
}
