/** Incidents of dashboards, and their updates. */
import type { Kysely, Selectable } from 'kysely';
import type { z } from 'zod';
import type {
  dashboardIncident,
  dashboardIncidentRoutes,
} from '@monitor/shared/contract/dashboard.ts';
import { invalidField, notFound } from '../../errors/api-error.ts';
import { stampsOf, toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import { deleteOwnRows, ownRows, updateOwnRows } from '../../db/own-rows.ts';
import type { Database } from '../../db/tables.ts';
import type { DashboardIncidentsTable, DashboardIncidentUpdatesTable } from '../tables.ts';
import type { Handlers } from '../../http/implement.ts';
import { deleteIncidentUpdate, findIncidentUpdate } from '../../incidents/index.ts';
import { readInstant } from '../../core/instant.ts';
import type { Services } from '../../core/services.ts';

type IncidentRow = Selectable<DashboardIncidentsTable>;
type UpdateRow = Selectable<DashboardIncidentUpdatesTable>;
type Wire = z.input<typeof dashboardIncident>;
type UpdateWire = Wire['incidentUpdates'][number];

function toUpdateWire(row: UpdateRow): UpdateWire {
  return {
    id: row.id,
    status: row.status as UpdateWire['status'],
    description: row.description,
    ...stampsOf(row),
  };
}

function toWire(row: IncidentRow, updates: readonly UpdateRow[]): Wire {
  return {
    id: row.id,
    name: row.name,
    impact: row.impact as Wire['impact'],
    startedAt: toTimestamp(row.started_at),
    stoppedAt: toTimestampOrNull(row.stopped_at),
    dashboardId: row.dashboard_id,
    incidentUpdates: updates.map(toUpdateWire),
    ...stampsOf(row),
  };
}

/** The time columns of a body; missing ones come from `before`. */
function timesOf(
  body: { startedAt?: string; stoppedAt?: string | null },
  before: Pick<IncidentRow, 'started_at' | 'stopped_at'>,
): Pick<IncidentRow, 'started_at' | 'stopped_at'> {
  const { startedAt, stoppedAt } = body;
  const started = startedAt === undefined ? before.started_at : readInstant(startedAt, 'startedAt');
  const stopped =
    stoppedAt === undefined
      ? before.stopped_at
      : stoppedAt === null
        ? null
        : readInstant(stoppedAt, 'stoppedAt');
  if (stopped !== null && stopped < started) {
    throw invalidField('stoppedAt', 'must not be before startedAt');
  }
  return { started_at: started, stopped_at: stopped };
}

export function dashboardIncidentHandlers(
  services: Services,
): Handlers<typeof dashboardIncidentRoutes> {
  const { db, clock, commits, newId } = services;

  const get = async (unit: Kysely<Database>, accountId: string, id: string) => {
    return ownRows(unit, 'dashboard_incidents', accountId)
      .where('id', '=', id)
      .executeTakeFirstOrThrow(() => notFound('incident', id));
  };
  const updatesOf = (unit: Kysely<Database>, { id, account_id }: IncidentRow) =>
    ownRows(unit, 'dashboard_incident_updates', account_id)
      .where('incident_id', '=', id)
      .orderBy('seq', 'desc');
  const insertUpdate = (
    unit: Kysely<Database>,
    { id, account_id }: IncidentRow,
    body: Pick<UpdateWire, 'status' | 'description'>,
  ) =>
    unit
      .insertInto('dashboard_incident_updates')
      .values({
        id: newId(),
        account_id,
        incident_id: id,
        ...body,
        created_at: clock.now(),
        updated_at: null,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
  const touch = (unit: Kysely<Database>, { id, account_id }: IncidentRow) =>
    updateOwnRows(unit, 'dashboard_incidents', account_id)
      .set({ updated_at: clock.now() })
      .where('id', '=', id)
      .execute();

  return {
    createDashboardIncident: ({ body }, { principal }) =>
      commits.run(async (unit) => {
        const { accountId } = principal;
        const now = clock.now();
        const dashboard = await unit
          .selectFrom('dashboards')
          .select('id')
          .where('account_id', '=', accountId)
          .where('id', '=', body.dashboardId)
          .executeTakeFirst();
        if (dashboard === undefined) {
          throw invalidField('dashboardId', `has no dashboard ${body.dashboardId}`);
        }
        const row = await unit
          .insertInto('dashboard_incidents')
          .values({
            id: newId(),
            account_id: accountId,
            dashboard_id: dashboard.id,
            name: body.name,
            impact: body.impact,
            ...timesOf(body, { started_at: now, stopped_at: null }),
            created_at: now,
            updated_at: null,
          })
          .returningAll()
          .executeTakeFirstOrThrow();
        for (const update of body.incidentUpdates) await insertUpdate(unit, row, update);
        return toWire(row, await updatesOf(unit, row).execute());
      }),

    getDashboardIncident: async ({ params, query }, { principal }) => {
      const row = await get(db, principal.accountId, params.id);
      const updates = updatesOf(db, row);
      const shown = query.includeAllIncidentUpdates ? updates : updates.limit(1);
      return toWire(row, await shown.execute());
    },

    updateDashboardIncident: ({ params, body }, { principal }) =>
      commits.run(async (unit) => {
        const { accountId } = principal;
        const before = await get(unit, accountId, params.id);
        const { startedAt: _, stoppedAt: __, ...fields } = body;
        const after = {
          ...before,
          ...fields,
          ...timesOf(body, before),
          updated_at: clock.now(),
        };
        await updateOwnRows(unit, 'dashboard_incidents', accountId)
          .set(after)
          .where('id', '=', before.id)
          .execute();
        return toWire(after, await updatesOf(unit, after).execute());
      }),

    deleteDashboardIncident: async ({ params }, { principal }) => {
      const { numDeletedRows } = await deleteOwnRows(db, 'dashboard_incidents', principal.accountId)
        .where('id', '=', params.id)
        .executeTakeFirst();
      if (numDeletedRows === 0n) throw notFound('incident', params.id);
      return undefined;
    },

    createDashboardIncidentUpdate: ({ params, body }, { principal }) =>
      commits.run(async (unit) => {
        const incident = await get(unit, principal.accountId, params.incidentId);
        const row = await insertUpdate(unit, incident, body);
        await touch(unit, incident);
        return toUpdateWire(row);
      }),

    updateDashboardIncidentUpdate: ({ params, body }, { principal }) =>
      commits.run(async (unit) => {
        const incident = await get(unit, principal.accountId, params.incidentId);
        const row = await updateOwnRows(unit, 'dashboard_incident_updates', principal.accountId)
          .set({ description: body.description, updated_at: clock.now() })
          .where('incident_id', '=', incident.id)
          .where('id', '=', params.id)
          .returningAll()
          .executeTakeFirstOrThrow(() => notFound('incident update', params.id));
        await touch(unit, incident);
        return toUpdateWire(row);
      }),

    deleteDashboardIncidentUpdate: ({ params }, { principal }) =>
      commits.run(async (unit) => {
        // The specification also lists this path with the incidents of status pages.
        const { incidentId, id } = params;
        const ofPage = await findIncidentUpdate(unit, principal.accountId, {
          incidentId,
          incidentUpdateId: id,
        });
        if (ofPage !== undefined) {
          await deleteIncidentUpdate(unit, ofPage, clock.now());
          return undefined;
        }
        const incident = await get(unit, principal.accountId, params.incidentId);
        const { numDeletedRows } = await deleteOwnRows(
          unit,
          'dashboard_incident_updates',
          principal.accountId,
        )
          .where('incident_id', '=', incident.id)
          .where('id', '=', params.id)
          .executeTakeFirst();
        if (numDeletedRows === 0n) throw notFound('incident update', params.id);
        await touch(unit, incident);
        return undefined;
      }),
  };
}
