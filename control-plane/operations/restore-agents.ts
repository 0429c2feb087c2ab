import type { Services } from '../services.ts';

/** Agents that served when the process stopped have so long to come back before their checks move. */
const returnWithinMs = 30_000;

/** Fills the hub with the agents that were serving when the process stopped. */
export async function restoreAgents(services: Services): Promise<void> {
  const rows = await services.db
    .selectFrom('agents')
    .selectAll()
    .where('gone_at', 'is', null)
    .execute();
  for (const row of rows) {
    const capabilities = JSON.parse(row.capabilities_json) as { checkTypes: string[] };
    services.hub.expect(
      row.account_id,
      row.location,
      {
        id: row.id,
        weight: Math.max(1, row.capacity_light),
        checkTypes: new Set(capabilities.checkTypes),
      },
      returnWithinMs,
    );
  }
}
