/** The agents of an account and the locations they serve. */
import type { fleetRoutes } from '@monitor/shared/contract/fleet.ts';
import type { Handlers } from '../http/handlers.ts';
import type { Services } from '../core/services.ts';
import { listAgents, listInterruptions, listLocationStates } from './store.ts';

export function fleetHandlers({
  db,
  hub,
  clock,
  reception,
}: Services): Handlers<typeof fleetRoutes> {
  return {
    listAgents: async (_input, { principal: { accountId } }) =>
      listAgents(db, accountId, clock.now(), (location, agentId) =>
        hub.isServing(accountId, location, agentId),
      ),

    listLocationStates: async (_input, { principal: { accountId } }) =>
      listLocationStates(
        db,
        accountId,
        clock.now(),
        (location) => hub.members(accountId, location).length,
        (instant) => reception.since(instant),
      ),

    listInterruptions: async () => ({
      clockProblem: reception.clockProblem,
      interruptions: await listInterruptions(db),
    }),
  };
}
