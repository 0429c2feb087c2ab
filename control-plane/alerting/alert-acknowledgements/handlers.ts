/** Acknowledges and snoozes alerts for keys and people. */
import type { alertAcknowledgementRoutes } from '@monitor/shared/contract/alert-acknowledgement.ts';
import { toTimestampOrNull } from '../../db/columns.ts';
import { ApiError, notFound } from '../../errors/api-error.ts';
import type { ApiPrincipal } from '../../http/authenticate.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Services } from '../../core/services.ts';
import { nameOf } from '../../people/index.ts';
import { acknowledge, outageOfAlert, outagesOfGroup, type Outage } from '../acknowledge.ts';

export function alertAcknowledgementHandlers(
  services: Services,
): Handlers<typeof alertAcknowledgementRoutes> {
  const { db, clock } = services;

  const act = async (
    principal: ApiPrincipal,
    outages: readonly Outage[],
    snoozeMinutes: number | null,
  ) => {
    const kind = snoozeMinutes === null ? ('ACKNOWLEDGED' as const) : ('SNOOZED' as const);
    const untilAt = snoozeMinutes === null ? null : clock.now() + snoozeMinutes * 60_000;
    const by = await nameOf(services, principal);
    const alerts = await acknowledge(services, principal.accountId, outages, {
      ...{ kind, untilAt, madeBy: by, occasion: null },
    });
    if (alerts === 0) throw new ApiError('CONFLICT', 'this is over already');
    return { kind, by, until: toTimestampOrNull(untilAt), alerts };
  };

  return {
    acknowledgeAlert: async ({ params, body }, { principal }) => {
      const outage = await outageOfAlert(db, principal.accountId, params.id);
      if (outage === null) throw notFound('alert', params.id);
      return act(principal, [outage], body.snoozeMinutes);
    },

    acknowledgeAlertGroup: async ({ params, body }, { principal }) => {
      const outages = await outagesOfGroup(db, principal.accountId, params.id);
      if (outages.length === 0) throw notFound('alert group', params.id);
      return act(principal, outages, body.snoozeMinutes);
    },
  };
}
