/** Handlers of the agent protocol. The work is done by the operations they call. */
import type { agentRoutes } from '@monitor/shared/contract/agent-protocol.ts';
import type { Handlers } from '../http/handlers.ts';
import { requireProtocol } from '../http/require-protocol.ts';
import { boundedLabel } from '../observability/metrics.ts';
import {
  checkIn,
  finishShard,
  recordOpenRuns,
  releaseJobs,
  renewLeases,
  shareRun,
  storeReports,
} from '../scheduling/index.ts';
import type { ResultIntake } from '../results/index.ts';
import { storeTestLogs } from '../sessions/index.ts';
import { routeDoors } from '../core/doors.ts';
import type { Services } from '../core/services.ts';

export function agentHandlers(
  services: Services,
  intake: ResultIntake,
): Handlers<typeof agentRoutes> {
  const { db, clock, commits, hub, metrics, logger, quotas, losses } = services;
  const codeLabel = boundedLabel();
  return {
    checkIn: async ({ body }, { principal, receivedAt, signal, limit }) => {
      requireProtocol(body.protocol);
      const { accountId, location, keyId } = principal;
      const isKnown = hub.isServing(accountId, location, body.agentId);
      if (!isKnown) limit(`arrivals ${keyId}`, routeDoors.locationKey.account.arrivals);
      await losses.compare(body.acknowledged);
      const answer = await checkIn(services, principal, body, receivedAt, signal);
      const lostUntil = losses.present?.until;
      return { ...answer, ...(lostUntil !== undefined && { lostUntil }) };
    },

    submitResults: async ({ body }, { principal, bodyBytes }) => {
      const { accountId, location } = principal;
      const { length: results } = body.items;
      if (results === 0) return { items: [] };
      quotas.take(accountId, location, { results, resultBytes: bodyBytes });
      await losses.compare(body.acknowledged);
      const items = await intake.ingest({ accountId, location, ...body });
      return { items, acknowledged: await losses.mark() };
    },

    renewLeases: async ({ body }, { principal }) => {
      const { accountId, location } = principal;
      if (body.jobIds.length === 0) return { renewed: [], lost: [] };
      const renewed = await renewLeases(db, { accountId, location, ...body }, clock.now());
      return { renewed, lost: body.jobIds.filter((id) => !renewed.includes(id)) };
    },

    releaseJobs: async ({ body }, { principal }) => {
      const { accountId, location } = principal;
      if (body.jobIds.length === 0) return undefined;
      await commits.run((unit) => releaseJobs(unit, { accountId, location, ...body }));
      hub.notify(accountId, location);
      return undefined;
    },

    reportOpenRuns: async ({ body }, { principal }) => {
      const { accountId, location } = principal;
      await recordOpenRuns(services, { accountId, location, agentId: body.agentId }, body.runs);
      return undefined;
    },

    shareRun: async ({ body }, { principal, signal }) =>
      shareRun(services, principal, body, signal),

    finishShard: async ({ body }, { principal, bodyBytes }) => {
      quotas.take(principal.accountId, principal.location, { resultBytes: bodyBytes });
      return { outcome: await finishShard(services, principal, body) };
    },

    sendLogs: async ({ body }, { principal, bodyBytes }) => {
      quotas.take(principal.accountId, principal.location, { resultBytes: bodyBytes });
      await storeTestLogs(services, principal, body);
      return undefined;
    },

    goodbye: async ({ body }, { principal }) => {
      await hub.remove(principal, body.agentId);
      return undefined;
    },

    reportErrors: async ({ body }, { principal }) => {
      const { accountId, location } = principal;
      if (body.events.length === 0) return undefined;
      quotas.take(accountId, location, { results: body.events.length });
      for (const { code, count } of body.events) {
        metrics.agentErrors.inc({ code: codeLabel(code) }, count);
      }
      logger.info(
        { accountId, location, agentId: body.agentId, events: body.events },
        'agent reported internal errors',
      );
      await storeReports(db, { accountId, location, ...body }, clock.now());
      return undefined;
    },
  };
}
