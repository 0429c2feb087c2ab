/** Services of status page cards and incidents, and the checks that they follow. */
import type { ServiceBody, serviceRoutes } from '@monitor/shared/contract/status-page.ts';
import type { RouteOutput } from '@monitor/shared/contract/route.ts';
import { dropServiceReferences } from '../../checks/index.ts';
import { readInstant } from '../../core/instant.ts';
import { refuseUnknownIds } from '../../core/ids-in-fields.ts';
import type { Services } from '../../core/services.ts';
import { fromJson, toTimestamp } from '../../db/columns.ts';
import { deleteOwnRows, ownRows } from '../../db/own-rows.ts';
import type { Db } from '../../db/tables.ts';
import type { Handlers } from '../../http/handlers.ts';
import { toServiceWire } from '../../incidents/index.ts';
import { checksMayLeave } from '../../maintenance/index.ts';
import { entryHandlers, listAfter, resourceOf } from '../../resources/index.ts';
import type { Override } from '../decide/follow-checks.ts';
import type { StoredRule } from '../decide/service-incidents.ts';
import type { ServiceState } from '../view/states.ts';
import { goneNote, leaveIncidents } from './open-incidents.ts';

type Wire = RouteOutput<typeof serviceRoutes.getService>;
type Follows = NonNullable<ServiceBody['follows']>;
type WireState = Follows['failing'];

const followed = { 'follows.checkIds': 'checks', 'follows.groupIds': 'check_groups' } as const;

const stateOf = (state: WireState): ServiceState => state.toLowerCase() as ServiceState;
const wireOf = (state: ServiceState): WireState => state.toUpperCase() as WireState;

const ruleOf = ({ rule: by, failing, degraded, afterMinutes, opens }: Follows): StoredRule => ({
  ...{ by, afterMinutes, failing: stateOf(failing), degraded: stateOf(degraded), opens },
});

async function replaceSources(
  db: Db,
  row: { id: string; account_id: string },
  follows: Follows | null,
): Promise<void> {
  const { id: serviceId, account_id: accountId } = row;
  await deleteOwnRows(db, 'service_sources', accountId)
    .where('service_id', '=', serviceId)
    .execute();
  const { checkIds = [], groupIds = [] } = follows ?? {};
  await refuseUnknownIds(db, accountId, followed, { follows });
  const sources = [
    ...[...new Set(checkIds)].map((id) => ({ check_id: id, group_id: null })),
    ...[...new Set(groupIds)].map((id) => ({ check_id: null, group_id: id })),
  ];
  if (sources.length > 0) {
    await db
      .insertInto('service_sources')
      .values(
        sources.map((source) => ({ account_id: accountId, service_id: serviceId, ...source })),
      )
      .execute();
  }
}

export const pageServicesOf = (services: Services) =>
  resourceOf(services, {
    ...({ table: 'services', noun: 'service', key: 'id', order: ['seq'] } as const),
    fresh: (now) => ({ id: services.newId(), created_at: now, updated_at: null }),
    // What it follows has a table of its own; a body that does not name it leaves it as it is.
    fieldsOf: ({ name }): ServiceBody => ({ name }),
    toColumns({ name, follows, stateOverride: override }: ServiceBody, { before }) {
      const rule = follows && JSON.stringify(ruleOf(follows));
      const shown = override && {
        ...{
          state: stateOf(override.state),
          until: readInstant(override.until, 'stateOverride.until'),
        },
      };
      return {
        name,
        rule_json: rule === undefined ? (before?.rule_json ?? null) : rule,
        override_json:
          shown === undefined
            ? (before?.override_json ?? null)
            : shown && JSON.stringify(shown satisfies Override),
      };
    },
    changing: (unit, { account_id: accountId }) => checksMayLeave(services, unit, accountId),
    async saved(unit, row, { follows }) {
      if (follows !== undefined) await replaceSources(unit, row, follows);
    },
    done: ({ account_id: accountId }) => {
      services.hub.notifyAccount(accountId);
    },
    async present(rows, { accountId }) {
      const ids = rows.map(({ id }) => id);
      const sources =
        ids.length === 0
          ? []
          : await ownRows(services.db, 'service_sources', accountId)
              .where('service_id', 'in', ids)
              .orderBy('id')
              .execute();
      const byService = Map.groupBy(sources, (source) => source.service_id);
      return rows.map((row): Wire => {
        const own = byService.get(row.id) ?? [];
        const rule = row.rule_json === null ? null : fromJson<StoredRule>(row.rule_json);
        const override = row.override_json === null ? null : fromJson<Override>(row.override_json);
        return {
          ...toServiceWire(row),
          follows: rule && {
            checkIds: own.flatMap(({ check_id: id }) => id ?? []),
            groupIds: own.flatMap(({ group_id: id }) => id ?? []),
            ...{ rule: rule.by, afterMinutes: rule.afterMinutes },
            ...{ failing: wireOf(rule.failing), degraded: wireOf(rule.degraded) },
            opens: rule.opens ?? null,
          },
          stateOverride: override && {
            ...{ state: wireOf(override.state), until: toTimestamp(override.until) },
          },
        };
      });
    },
    async removing(unit, { account_id: accountId, id }) {
      await checksMayLeave(services, unit, accountId);
      await leaveIncidents(services, unit, { accountId, serviceIds: [id], note: goneNote });
      await services.dropReferences(unit, accountId, 'services', id);
      await dropServiceReferences(unit, accountId, id);
    },
  });

export function serviceHandlers(services: Services): Handlers<typeof serviceRoutes> {
  const ofPages = pageServicesOf(services);
  return { listServices: listAfter(ofPages), ...entryHandlers('Service', 'serviceId', ofPages) };
}
