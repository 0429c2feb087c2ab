/** Incidents of status pages, and their updates. */
import type { Kysely } from 'kysely';
import type { z } from 'zod';
import type { incidentRoutes } from '@monitor/shared/contract/incident.ts';
import { notFound } from '../errors/api-error.ts';
import { toFlag } from '../db/columns.ts';
import { deleteOwnRows, ownRows, updateOwnRows } from '../db/own-rows.ts';
import { readCursorPage } from '../db/page.ts';
import type { Database } from '../db/tables.ts';
import type { Handlers } from '../http/implement.ts';
import {
  addIncidentUpdate,
  changeIncidentUpdate,
  deleteIncidentUpdate,
  findIncidentUpdate,
} from './incident-updates.ts';
import { checkServices } from './service-references.ts';
import type { Services } from '../core/services.ts';
import {
  latestUpdates,
  presentIncidents,
  publicAtOf,
  replaceServices,
  toNewUpdate,
  toUpdateWire,
  type IncidentRow,
} from './store.ts';

type Changes = z.output<typeof incidentRoutes.patchIncident.body>;

export function incidentHandlers(services: Services): Handlers<typeof incidentRoutes> {
  const { db, clock, commits, newId } = services;

  const incidentsOf = (unit: Kysely<Database>, accountId: string) =>
    ownRows(unit, 'incidents', accountId);
  const get = async (unit: Kysely<Database>, accountId: string, id: string) => {
    return incidentsOf(unit, accountId)
      .where('id', '=', id)
      .executeTakeFirstOrThrow(() => notFound('incident', id));
  };
  const present = async (unit: Kysely<Database>, row: IncidentRow) => {
    const [wire] = await presentIncidents(unit, row.account_id, [row], clock.now());
    if (wire === undefined) throw notFound('incident', row.id);
    return wire;
  };
  const getUpdate = async (
    unit: Kysely<Database>,
    accountId: string,
    ids: { incidentId: string; incidentUpdateId: string },
  ) => {
    const row = await findIncidentUpdate(unit, accountId, ids);
    if (row === undefined) throw notFound('incident update', ids.incidentUpdateId);
    return row;
  };
  const touch = (unit: Kysely<Database>, accountId: string, id: string) =>
    updateOwnRows(unit, 'incidents', accountId)
      .set({ updated_at: clock.now() })
      .where('id', '=', id)
      .execute();

  const change = (accountId: string, id: string, body: Changes) =>
    commits.run(async (unit) => {
      const before = await get(unit, accountId, id);
      const { services: affected, ...fields } = body;
      const changes = { ...fields, updated_at: clock.now() };
      await updateOwnRows(unit, 'incidents', accountId).set(changes).where('id', '=', id).execute();
      if (affected !== undefined) {
        await replaceServices(unit, id, await checkServices(unit, accountId, 'services', affected));
      }
      return present(unit, { ...before, ...changes });
    });

  return {
    listIncidents: async ({ query }, { principal }) => {
      const { accountId } = principal;
      const incidents = incidentsOf(db, accountId).orderBy('seq', 'desc');
      const { rows, nextId } = await readCursorPage(
        (cursor) => (cursor === null ? incidents : incidents.where('seq', '<', cursor)),
        ({ seq }) => seq,
        query,
      );
      const entries = await presentIncidents(db, accountId, rows, clock.now());
      return { length: entries.length, entries, nextId };
    },

    createIncident: ({ body }, { principal }) =>
      commits.run(async (unit) => {
        const { accountId } = principal;
        const now = clock.now();
        const affected = await checkServices(unit, accountId, 'services', body.services);
        const row = await unit
          .insertInto('incidents')
          .values({
            id: newId(),
            account_id: accountId,
            name: body.name,
            severity: body.severity,
            check_id: null,
            created_at: now,
            updated_at: null,
          })
          .returningAll()
          .executeTakeFirstOrThrow();
        await replaceServices(unit, row.id, affected);
        for (const [index, update] of body.incidentUpdates.entries()) {
          const path = `incidentUpdates.${index}.publicIncidentUpdateDate`;
          await addIncidentUpdate(unit, toNewUpdate(row, update, { id: newId(), now, path }));
        }
        return present(unit, row);
      }),

    getIncident: async ({ params }, { principal }) =>
      present(db, await get(db, principal.accountId, params.incidentId)),

    updateIncident: ({ params, body }, { principal }) =>
      change(principal.accountId, params.incidentId, body),

    patchIncident: ({ params, body }, { principal }) =>
      change(principal.accountId, params.incidentId, body),

    deleteIncident: async ({ params }, { principal }) => {
      const { numDeletedRows } = await deleteOwnRows(db, 'incidents', principal.accountId)
        .where('id', '=', params.incidentId)
        .executeTakeFirst();
      if (numDeletedRows === 0n) throw notFound('incident', params.incidentId);
      return undefined;
    },

    listIncidentUpdates: async ({ params }, { principal }) => {
      const { id } = await get(db, principal.accountId, params.incidentId);
      return (await latestUpdates(db, principal.accountId, id)).map(toUpdateWire);
    },

    createIncidentUpdate: ({ params, body }, { principal }) =>
      commits.run(async (unit) => {
        const { accountId } = principal;
        const incident = await get(unit, accountId, params.incidentId);
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
