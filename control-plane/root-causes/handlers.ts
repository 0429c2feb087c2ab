/** Analyses of error groups, and why a result failed. */
import type { rootCauseRoutes } from '@monitor/shared/contract/root-cause.ts';
import { findCheck } from '../checks/index.ts';
import type { Services } from '../core/services.ts';
import { ownRows } from '../db/own-rows.ts';
import { notFound } from '../errors/api-error.ts';
import type { Handlers } from '../http/handlers.ts';
import { findVerdict, storeAnalysis, toAnalysis } from '../results/index.ts';
import { findCauses } from './find-causes.ts';

export function rootCauseHandlers(services: Services): Handlers<typeof rootCauseRoutes> {
  const { db, clock, newId } = services;

  const analyse = async (accountId: string, groupId: string, userContext: string | null) => {
    const group = await ownRows(db, 'error_groups', accountId)
      .where('id', '=', groupId)
      .executeTakeFirstOrThrow(() => notFound('error group', groupId));
    const check = await findCheck(db, accountId, group.check_id);
    const began = clock.monotonic();
    const [cause] = await findCauses(services, db, accountId, {
      checkIds: [group.check_id],
      at: group.last_seen_at,
    });
    // The runs of that minute may be deleted by now.
    if (check === undefined || cause === undefined)
      throw notFound('result with the error', groupId);
    const id = newId();
    const analysis = {
      ...{ id, account_id: accountId, check_id: check.id, error_group_id: group.id },
      check_type: check.type,
      created_at: clock.now(),
      duration_ms: Math.round(clock.monotonic() - began),
      user_context: userContext,
    };
    await storeAnalysis(db, analysis, cause);
    return { id, status: 'PENDING' as const };
  };

  return {
    analyseErrorGroup: ({ params, body }, { principal }) =>
      analyse(principal.accountId, params.errorGroupId, body.userContext ?? null),

    analyseTestSessionErrorGroup: ({ params, body }, { principal }) =>
      analyse(principal.accountId, params.testSessionErrorGroupId, body.userContext ?? null),

    getRootCauseAnalysis: async ({ params }, { principal }) => {
      const row = await ownRows(db, 'root_cause_analyses', principal.accountId)
        .where('id', '=', params.id)
        .executeTakeFirstOrThrow(() => notFound('root cause analysis', params.id));
      return toAnalysis(row);
    },

    getRootCausesOfResult: async ({ params }, { principal: { accountId } }) => {
      const verdict = await findVerdict(db, accountId, params.checkResultId);
      if (verdict?.checkId !== params.checkId) throw notFound('result', params.checkResultId);
      if (!verdict.hasFailures && !verdict.hasErrors && !verdict.isDegraded) return [];
      return findCauses(services, db, accountId, {
        checkIds: [params.checkId],
        at: verdict.startedAt,
      });
    },
  };
}
