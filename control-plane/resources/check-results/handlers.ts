/** Reading results and runs. */
import { sixHoursMs, type checkResultRoutes } from '@monitor/shared/contract/check-result.ts';
import { ApiError, notFound } from '../../api-error.ts';
import { resolveWindow, type Window } from '../../domain/results-window.ts';
import type { Handlers } from '../../http/implement.ts';
import type { Services } from '../../services.ts';
import { findResult, listResults, listRuns } from './store.ts';

const longestRunsWindowMs = 31 * 24 * 3_600_000;

export function checkResultHandlers(services: Services): Handlers<typeof checkResultRoutes> {
  const { db, clock } = services;

  const requireCheck = async (accountId: string, checkId: string): Promise<void> => {
    const row = await db
      .selectFrom('checks')
      .select('id')
      .where('account_id', '=', accountId)
      .where('id', '=', checkId)
      .executeTakeFirst();
    if (row === undefined) throw notFound('check', checkId);
  };

  const windowOf = (
    query: { from?: number | undefined; to?: number | undefined },
    longestMs: number,
  ): Window => {
    const window = resolveWindow(query, clock.now(), longestMs);
    if ('from' in window) return window;
    throw new ApiError('VALIDATION', `"${window.field}" ${window.problem}`, {
      source: 'query',
      keys: [window.field],
      issues: [{ path: window.field, message: window.problem }],
    });
  };

  return {
    listCheckResults: async ({ params, query }, { principal, setTotal }) => {
      const window = windowOf(query, sixHoursMs);
      await requireCheck(principal.accountId, params.checkId);
      const offset = (query.page - 1) * query.limit;
      const { items, total } = await listResults(
        db,
        principal.accountId,
        params.checkId,
        {
          ...window,
          resultType: query.resultType,
          ...(query.location !== undefined && { location: query.location }),
          ...(query.checkType !== undefined && { checkType: query.checkType }),
          ...(query.hasFailures !== undefined && { hasFailures: query.hasFailures }),
        },
        query.limit,
        offset,
      );
      setTotal(total, offset, items.length);
      return items;
    },

    getCheckResult: async ({ params }, { principal }) => {
      const { checkId, checkResultId } = params;
      const result = await findResult(db, principal.accountId, checkId, checkResultId);
      if (result === undefined) throw notFound('result', checkResultId);
      return result;
    },

    listCheckRuns: async ({ params, query }, { principal, setTotal }) => {
      const window = windowOf(query, longestRunsWindowMs);
      await requireCheck(principal.accountId, params.checkId);
      const offset = (query.page - 1) * query.limit;
      const { items, total } = await listRuns(
        db,
        principal.accountId,
        params.checkId,
        {
          ...window,
          ...(query.location !== undefined && { location: query.location }),
          ...(query.state !== undefined && { state: query.state }),
        },
        query.limit,
        offset,
      );
      setTotal(total, offset, items.length);
      return items;
    },
  };
}
