/** Reading results and runs. */
import {
  type checkResultRoutes,
  sixHoursMs,
} from '@monitor/shared/contract/check-result-routes.ts';
import type { Fields } from '@monitor/shared/fields.ts';
import type { RouteInput } from '@monitor/shared/contract/route.ts';
import { notFound } from '../../errors/api-error.ts';
import { isExistingClient } from '../../http/authenticate.ts';
import { asJson } from '../../http/answer.ts';
import type { Handlers } from '../../http/handlers.ts';
import { requireCheck } from '../../checks/index.ts';
import { readableResult } from '../decide/readable-result.ts';
import { windowOf } from '../../core/query-window.ts';
import type { Services } from '../../core/services.ts';
import { withDigests } from '../baselines/with-digests.ts';
import { findResult, listResults, listResultsByCursor, listRuns } from './store.ts';

const maxRunsWindowMs = 31 * 24 * 3_600_000;

/** A page of results with some of their fields. */
function onlyFields(json: string, names: readonly string[]): string {
  const page = JSON.parse(json) as { entries: Fields[] };
  const entries = page.entries.map((entry) =>
    Object.fromEntries(names.map((name) => [name, entry[name]])),
  );
  return JSON.stringify({ ...page, entries });
}

export function checkResultHandlers(services: Services): Handlers<typeof checkResultRoutes> {
  const { db, clock } = services;

  type Query = RouteInput<(typeof checkResultRoutes)['listCheckResults']>['query'];
  const filterOf = (query: Omit<Query, 'limit' | 'page'> & { isLate?: boolean }) => ({
    resultType: query.isLate === true ? ('LATE' as const) : query.resultType,
    ...(query.location !== undefined && { location: query.location }),
    ...(query.checkType !== undefined && { checkType: query.checkType }),
    ...(query.hasFailures !== undefined && { hasFailures: query.hasFailures }),
  });

  return {
    listCheckResults: async ({ params, query }, { principal, setTotal }) => {
      const { accountId } = principal;
      const window = windowOf(query, clock.now(), sixHoursMs, Infinity);
      const filter = { ...window, ...filterOf(query) };
      const page = await listResults(services, accountId, params.checkId, filter, query);
      // An account has results of its own checks only.
      if (page.total === 0) await requireCheck(db, accountId, params.checkId);
      setTotal(page.total, page.offset, page.count);
      return asJson(page.json);
    },

    listCheckResultsByCursor: async ({ params, query }, { principal }) => {
      const { accountId } = principal;
      const whole = { from: query.from ?? 0, to: query.to ?? Number.MAX_SAFE_INTEGER };
      const window = windowOf(whole, clock.now(), sixHoursMs, Infinity);
      const filter = { ...window, ...filterOf(query) };
      const page = await listResultsByCursor(services, accountId, params.checkId, filter, query);
      if (page.count === 0) await requireCheck(db, accountId, params.checkId);
      return asJson(query.fields === undefined ? page.json : onlyFields(page.json, query.fields));
    },

    getCheckResult: async ({ params }, { principal, headers }) => {
      const { checkId, checkResultId } = params;
      const { accountId } = principal;
      const found = await findResult(services, accountId, checkId, checkResultId);
      if (found === undefined) throw notFound('result', checkResultId);
      const json = await withDigests(db, { accountId, resultId: checkResultId }, found);
      return asJson(isExistingClient(headers) ? readableResult(json) : json);
    },

    listCheckRuns: async ({ params, query }, { principal, setTotal }) => {
      const window = windowOf(query, clock.now(), sixHoursMs, maxRunsWindowMs);
      await requireCheck(db, principal.accountId, params.checkId);
      const { items, total, offset } = await listRuns(
        db,
        principal.accountId,
        params.checkId,
        {
          ...window,
          ...(query.location !== undefined && { location: query.location }),
          ...(query.state !== undefined && { state: query.state }),
        },
        query,
      );
      setTotal(total, offset, items.length);
      return items;
    },
  };
}
