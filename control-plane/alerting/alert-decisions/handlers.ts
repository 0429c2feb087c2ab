/** Explains why alerts were sent or not sent. */
import {
  defaultDecisionsWindowMs,
  maxDecisionsWindowMs,
  type alertDecisionRoutes,
} from '@monitor/shared/contract/alert-decision.ts';
import { readPage } from '../../db/page.ts';
import type { Handlers } from '../../http/handlers.ts';
import { requireCheck } from '../../checks/index.ts';
import { windowOf } from '../../core/query-window.ts';
import type { Services } from '../../core/services.ts';
import { replayOf } from './replay.ts';
import { suppressedAlerts } from './suppressed-alerts.ts';
import { decisionsOf, explainResult, toDecisions } from './store.ts';

const always = { from: 0, to: Number.MAX_SAFE_INTEGER };

export function alertDecisionHandlers({
  db,
  readPool,
  clock,
}: Services): Handlers<typeof alertDecisionRoutes> {
  return {
    listAlertDecisions: async ({ params, query }, { principal, setTotal }) => {
      const { accountId } = principal;
      const { checkId } = params;
      const { checkResultId } = query;
      const isNarrow = checkResultId !== undefined;
      const given = isNarrow ? { ...always, ...query } : query;
      const longest = isNarrow ? Infinity : maxDecisionsWindowMs;
      const window = windowOf(given, clock.now(), defaultDecisionsWindowMs, longest);
      await requireCheck(db, accountId, checkId);
      const filter = { ...window, ...(isNarrow ? { checkResultId } : {}) };
      const page = await readPage(decisionsOf(db, accountId, checkId, filter), query);
      if (page.total === 0 && isNarrow) {
        const answer = await explainResult(db, accountId, checkId, checkResultId);
        const answers = answer === undefined ? [] : [answer];
        setTotal(answers.length, 0, answers.length);
        return answers;
      }
      setTotal(page.total, page.offset, page.rows.length);
      return toDecisions(db, accountId, page.rows);
    },
    replayAlerts: ({ params, body }, { principal }) =>
      readPool.read(principal.accountId, (reading) =>
        replayOf(reading, principal.accountId, params.checkId, body, clock.now()),
      ),
    listSuppressedAlerts: ({ params }, { principal }) =>
      readPool.read(principal.accountId, (reading) =>
        suppressedAlerts(reading, principal.accountId, params, clock.now()),
      ),
  };
}
