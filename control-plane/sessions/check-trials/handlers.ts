/** Runs a check once before it is saved. */
import type { checkTrialRoutes } from '@monitor/shared/contract/check-trial.ts';
import { checkTypes, type CheckType } from '@monitor/shared/contract/checks/index.ts';
import {
  type CheckFields,
  createCheck,
  deleteCheck,
  findCheck,
  locationsOf,
  runsOnAgents,
} from '../../checks/index.ts';
import type { Services } from '../../core/services.ts';
import { invalidField, invalidQuery, notFound } from '../../errors/api-error.ts';
import type { Handlers } from '../../http/handlers.ts';
import { startSessions } from '../check-sessions.ts';
import { trialOf } from './trial-of.ts';

export function checkTrialHandlers(services: Services): Handlers<typeof checkTrialRoutes> {
  return {
    createCheckTrial: async ({ query, body }, { principal: { accountId } }) => {
      const { checkType, ...fields } = body as { checkType: CheckType };
      if (!runsOnAgents(checkType)) {
        throw invalidField('checkType', 'has no runs to try: it waits for pings');
      }
      const { checkId, location = locationsOf(fields as unknown as CheckFields)[0] } = query;
      if (location === undefined) throw invalidQuery('location', 'is required: the check has none');
      const of =
        checkId === undefined ? undefined : await findCheck(services.db, accountId, checkId);
      if (checkId !== undefined && (of === undefined || of.is_trial === 2))
        throw notFound('check', checkId);
      const row = await createCheck(
        services,
        accountId,
        checkTypes[checkType],
        trialOf(fields, location),
        false,
        { trial: { of } },
      );
      const [session] = await startSessions(services, [row], { source: 'EDITOR', location });
      if (session === undefined) throw notFound('check trial', row.id);
      return { id: row.id, checkSessionId: session.id };
    },

    deleteCheckTrial: async ({ params }, { principal: { accountId } }) => {
      const row = await findCheck(services.db, accountId, params.id);
      if (row?.is_trial !== 1) throw notFound('check trial', params.id);
      await deleteCheck(services, accountId, params.id);
      return undefined;
    },
  };
}
