/** Incidents of status pages, and their updates. */
import type { z } from 'zod';
import type { incidentRoutes } from '@monitor/shared/contract/incident.ts';
import { notFound } from '../errors/api-error.ts';
import { toFlag } from '../db/columns.ts';
import { updateOwnRows } from '../db/own-rows.ts';
import type { Db } from '../db/tables.ts';
import type { Handlers } from '../http/handlers.ts';
import {
  addIncidentUpdate,
  changeIncidentUpdate,
  deleteIncidentUpdate,
  findIncidentUpdate,
} from './incident-updates.ts';
import { entryHandlers, listAfter, resourceOf } from '../resources/index.ts';
import { checkServices } from './service-references.ts';
import type { Services } from '../core/services.ts';
import {
  latestUpdates,
  presentIncidents,
  publicAtOf,
  replaceServices,
  toNewUpdate,
  toUpdateWire,
} from './store.ts';

type IncidentFields = z.output<typeof incidentRoutes.createIncident.body>;

const incidentsOf = (services: Services) =>
  resourceOf(services, {
    ...({ table: 'incidents', noun: 'incident', key: 'id', order: ['seq'] } as const),
    isNewestFirst: true,
    fresh: (now) => ({ id: services.newId(), created_at: now, updated_at: null }),
    // Services and updates have tables of their own.
    fieldsOf: ({ name, severity }): IncidentFields => ({
      ...{ name, severity: severity as IncidentFields['severity'] },
      ...{ services: [], incidentUpdates: [] },
    }),
    toColumns: ({ name, severity }: IncidentFields, { before }) => ({
      ...{ name, severity, check_id: before?.check_id ?? null },
    }),
    async saved(unit, row, { services: affected, incidentUpdates = [] }) {
      if (affected !== undefined) {
        const known = await checkServices(unit, row.account_id, 'services', affected);
        await replaceServices(unit, row.id, known);
      }
      for (const [index, update] of incidentUpdates.entries()) {
        const path = `incidentUpdates.${index}.publicIncidentUpdateDate`;
        const made = { id: services.newId(), now: row.created_at, path };
        await addIncidentUpdate(unit, toNewUpdate(row, update, made));
      }
    },
    present: (rows, { accountId }) =>
      presentIncidents(services.db, accountId, rows, services.clock.now()),
  });

export function incidentHandlers(services: Services): Handlers<typeof incidentRoutes> {
  const { db, clock, commits, newId } = services;
  const incidents = incidentsOf(services);
  const entries = entryHandlers('Incident', 'incidentId', incidents);

  const getUpdate = async (
    unit: Db,
    accountId: string,
    ids: { incidentId: string; incidentUpdateId: string },
  ) => {
    const row = await findIncidentUpdate(unit, accountId, ids);
    if (row === undefined) throw notFound('incident update', ids.incidentUpdateId);
    return row;
  };
  const touch = (unit: Db, accountId: string, id: string) =>
    updateOwnRows(unit, 'incidents', accountId)
      .set({ updated_at: clock.now() })
      .where('id', '=', id)
      .execute();

  return {
    listIncidents: listAfter(incidents),
    ...entries,
    patchIncident: entries.updateIncident,

    listIncidentUpdates: async ({ params }, { principal }) => {
      const { id } = await incidents.get(principal.accountId, params.incidentId);
      return (await latestUpdates(db, principal.accountId, id)).map(toUpdateWire);
    },

    createIncidentUpdate: ({ params, body }, { principal }) =>
      commits.run(async (unit) => {
        const { accountId } = principal;
        const incident = await incidents.get(accountId, params.incidentId, { unit });
        const update = toNewUpdate(incident, body, { id: newId(), now: clock.now() });
        const row = await addIncidentUpdate(unit, update);
        await touch(unit, accountId, incident.id);
        return toUpdateWire(row);
      }),

    getIncidentUpdate: async ({ params }, { principal }) =>
      toUpdateWire(await getUpdate(db, principal.accountId, params)),

    updateIncidentUpdate: ({ params, body }, { principal }) =>
      commits.run(async (unit) => {
        const { accountId } = principal;
        const before = await getUpdate(unit, accountId, params);
        const after = {
          ...before,
          description: body.description ?? before.description,
          status: body.status ?? before.status,
          public_at: publicAtOf(body, before.public_at),
          notify_subscribers:
            body.notifySubscribers === undefined
              ? before.notify_subscribers
              : toFlag(body.notifySubscribers),
        };
        await changeIncidentUpdate(unit, before, after, clock.now());
        await touch(unit, accountId, before.incident_id);
        return toUpdateWire(after);
      }),

    deleteIncidentUpdate: ({ params }, { principal }) =>
      commits.run(async (unit) => {
        const { accountId } = principal;
        const row = await getUpdate(unit, accountId, params);
        await deleteIncidentUpdate(unit, row, clock.now());
        return undefined;
      }),
  };
}
