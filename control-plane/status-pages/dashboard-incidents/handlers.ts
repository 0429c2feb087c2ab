/** Incidents of dashboards, and their updates. */
import type { z } from 'zod';
import type {
  dashboardIncident,
  dashboardIncidentRoutes,
} from '@monitor/shared/contract/dashboard.ts';
import { invalidField, notFound } from '../../errors/api-error.ts';
import { stampsOf, toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import { deleteOwnRows, ownRows, updateOwnRows } from '../../db/own-rows.ts';
import type { Db, RowOf } from '../../db/tables.ts';
import type { Handlers } from '../../http/handlers.ts';
import { deleteIncidentUpdate, findIncidentUpdate } from '../../incidents/index.ts';
import { entryHandlers, resourceOf } from '../../resources/index.ts';
import { readInstant } from '../../core/instant.ts';
import type { Services } from '../../core/services.ts';

type IncidentRow = RowOf<'dashboard_incidents'>;
type UpdateRow = RowOf<'dashboard_incident_updates'>;
type Wire = z.input<typeof dashboardIncident>;
type UpdateWire = Wire['incidentUpdates'][number];

function toUpdateWire(row: UpdateRow): UpdateWire {
  return {
    id: row.id,
    incidentId: row.incident_id,
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

/** The time columns of a body; it begins now unless it says otherwise. */
function timesOf(
  { startedAt, stoppedAt }: { startedAt?: string; stoppedAt: string | null },
  now: number,
): Pick<IncidentRow, 'started_at' | 'stopped_at'> {
  const started = startedAt === undefined ? now : readInstant(startedAt, 'startedAt');
  const stopped = stoppedAt === null ? null : readInstant(stoppedAt, 'stoppedAt');
  if (stopped !== null && stopped < started) {
    throw invalidField('stoppedAt', 'must not be before startedAt');
  }
  return { started_at: started, stopped_at: stopped };
}

type Fields = Omit<
  z.output<typeof dashboardIncidentRoutes.createDashboardIncident.body>,
  'startedAt'
> & {
  startedAt?: string;
};

const updatesOf = (unit: Db, { id, account_id }: IncidentRow) =>
  ownRows(unit, 'dashboard_incident_updates', account_id)
    .where('incident_id', '=', id)
    .orderBy('seq', 'desc');

const insertUpdate = (
  { clock, newId }: Services,
  unit: Db,
  { id, account_id }: IncidentRow,
  body: Pick<UpdateWire, 'status' | 'description'>,
) =>
  unit
    .insertInto('dashboard_incident_updates')
    .values({
      ...{ id: newId(), account_id, incident_id: id, ...body },
      ...{ created_at: clock.now(), updated_at: null },
    })
    .returningAll()
    .executeTakeFirstOrThrow();

const dashboardIncidentsOf = (services: Services) =>
  resourceOf(services, {
    ...({ table: 'dashboard_incidents', noun: 'incident', key: 'id' } as const),
    fresh: (now) => ({ id: services.newId(), created_at: now, updated_at: null }),
    fieldsOf: (row): Fields => ({
      ...{ name: row.name, impact: row.impact as Fields['impact'], dashboardId: row.dashboard_id },
      ...{ startedAt: toTimestamp(row.started_at), stoppedAt: toTimestampOrNull(row.stopped_at) },
      incidentUpdates: [],
    }),
    async toColumns({ name, impact, dashboardId, ...times }: Fields, { unit, accountId, before }) {
      if (before === null) {
        await ownRows(unit, 'dashboards', accountId)
          .where('id', '=', dashboardId)
          .executeTakeFirstOrThrow(() =>
            invalidField('dashboardId', `has no dashboard ${dashboardId}`),
          );
      }
      return { name, impact, dashboard_id: dashboardId, ...timesOf(times, services.clock.now()) };
    },
    async saved(unit, row, { incidentUpdates = [] }) {
      for (const update of incidentUpdates) await insertUpdate(services, unit, row, update);
    },
    present: (rows) =>
      Promise.all(
        rows.map(async (row) => toWire(row, await updatesOf(services.db, row).execute())),
      ),
  });

export function dashboardIncidentHandlers(
  services: Services,
): Handlers<typeof dashboardIncidentRoutes> {
  const { db, clock, commits } = services;
  const incidents = dashboardIncidentsOf(services);
  const touch = (unit: Db, { id, account_id }: IncidentRow) =>
    updateOwnRows(unit, 'dashboard_incidents', account_id)
      .set({ updated_at: clock.now() })
      .where('id', '=', id)
      .execute();

  return {
    ...entryHandlers('DashboardIncident', 'id', incidents),

    getDashboardIncident: async ({ params, query }, { principal }) => {
      const row = await incidents.get(principal.accountId, params.id);
      const updates = updatesOf(db, row);
      const shown = query.includeAllIncidentUpdates ? updates : updates.limit(1);
      return toWire(row, await shown.execute());
    },

    createDashboardIncidentUpdate: ({ params, body }, { principal }) =>
      commits.run(async (unit) => {
        const incident = await incidents.get(principal.accountId, params.incidentId, { unit });
        const row = await insertUpdate(services, unit, incident, body);
        await touch(unit, incident);
        return toUpdateWire(row);
      }),

    updateDashboardIncidentUpdate: ({ params, body }, { principal }) =>
      commits.run(async (unit) => {
        const incident = await incidents.get(principal.accountId, params.incidentId, { unit });
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
        const incident = await incidents.get(principal.accountId, params.incidentId, { unit });
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
