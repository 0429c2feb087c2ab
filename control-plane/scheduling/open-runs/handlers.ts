/** Runs in progress. */
import type { openRunRoutes } from '@monitor/shared/contract/open-run.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Services } from '../../core/services.ts';
import { openRunsOf } from './store.ts';

export function openRunHandlers(services: Services): Handlers<typeof openRunRoutes> {
  return {
    listOpenRuns: async ({ query }, { principal, setTotal }) => {
      const { checkId, location, state, limit, page } = query;
      const all = await openRunsOf(services, principal.accountId, checkId);
      const matching = all.filter(
        (run) =>
          (location === undefined || run.location === location) &&
          (state === undefined || run.state === state),
      );
      const offset = (page - 1) * limit;
      const shown = matching.slice(offset, offset + limit);
      setTotal(matching.length, offset, shown.length);
      return shown;
    },
  };
}
