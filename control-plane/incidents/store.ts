/** Incidents and their updates: rows ↔ wire. */
import type { z } from 'zod';
import type { incident, incidentUpdate } from '@monitor/shared/contract/incident.ts';
import { fromFlag, stampsOf, toTimestamp } from '../db/columns.ts';
import { ownRows } from '../db/own-rows.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { asOf, duration, lastUpdateStatus, type IncidentStatus } from './decide/incident.ts';
import { readInstant } from '../core/instant.ts';
import type { NewUpdate } from './incident-updates.ts';
import { toServiceWire } from './service-references.ts';

export type IncidentRow = RowOf<'incidents'>;
type UpdateRow = Omit<RowOf<'incident_updates'>, 'seq'>;
type Wire = z.input<typeof incident>;

/** Facts: the list of updates returns the latest hundred. */
const shownUpdates = 100;

export interface UpdateBody {
  description: string;
  status: IncidentStatus;
  publicIncidentUpdateDate?: string | null;
  notifySubscribers: boolean;
}

/** When an update becomes public: the given instant, or else `otherwise`. */
export function publicAtOf(
  body: Pick<Partial<UpdateBody>, 'publicIncidentUpdateDate'>,
  otherwise: number,
  path = 'publicIncidentUpdateDate',
): number {
  const given = body.publicIncidentUpdateDate ?? null;
  return given === null ? otherwise : readInstant(given, path);
}

export function toUpdateWire(row: UpdateRow): z.input<typeof incidentUpdate> {
  return {
    description: row.description,
    id: row.id,
    created_at: toTimestamp(row.created_at),
    status: row.status as IncidentStatus,
    publicIncidentUpdateDate: toTimestamp(row.public_at),
    notifySubscribers: fromFlag(row.notify_subscribers),
  };
}

/** Incidents with services and updates, in the given order. Open ones last until `now`. */
export async function presentIncidents(
  db: Db,
  accountId: string,
  rows: readonly IncidentRow[],
  now: number,
): Promise<Wire[]> {
  if (rows.length === 0) return [];
  const ids = rows.map(({ id }) => id);
  const services = await db
    .selectFrom('services')
    .innerJoin('incident_services', 'incident_services.service_id', 'services.id')
    .selectAll('services')
    .select('incident_services.incident_id')
    .where('services.account_id', '=', accountId)
    .where('incident_services.incident_id', 'in', ids)
    .orderBy('services.seq')
    .execute();
  // The duration needs all updates; only the newest are returned, because descriptions are long.
  const statuses = await db
    .selectFrom('incident_updates')
    .select(['incident_id', 'seq', 'status', 'public_at'])
    .where('account_id', '=', accountId)
    .where('incident_id', 'in', ids)
    .execute();
  const shown = await db
    .selectFrom((from) =>
      from
        .selectFrom('incident_updates')
        .selectAll()
        .select((select) =>
          select.fn
            .agg<number>('row_number')
            .over((over) =>
              over.partitionBy('incident_id').orderBy('public_at', 'desc').orderBy('seq', 'desc'),
            )
            .as('age'),
        )
        .where('account_id', '=', accountId)
        .where('incident_id', 'in', ids)
        .as('ranked'),
    )
    .selectAll()
    .where('age', '<=', shownUpdates)
    .orderBy('age')
    .execute();
  const servicesOf = Map.groupBy(services, (each) => each.incident_id);
  const timelineOf = Map.groupBy(statuses, (each) => each.incident_id);
  const shownOf = Map.groupBy(shown, (each) => each.incident_id);
  return rows.flatMap((row) => {
    const timeline = (timelineOf.get(row.id) ?? []).map(({ seq, status, public_at }) => ({
      seq,
      status: status as IncidentStatus,
      publicAt: public_at,
    }));
    const updates = asOf(timeline, now);
    const last = lastUpdateStatus(updates);
    // The incident was deleted after its row was read: every stored incident has an update.
    if (last === undefined) return [];
    return {
      name: row.name,
      severity: row.severity as Wire['severity'],
      services: (servicesOf.get(row.id) ?? []).map(toServiceWire),
      id: row.id,
      incidentUpdates: (shownOf.get(row.id) ?? []).map(toUpdateWire),
      lastUpdateStatus: last,
      ...stampsOf(row),
      duration: duration(updates, now),
    };
  });
}

/** The newest updates of an incident, newest first. */
export async function latestUpdates(db: Db, accountId: string, incidentId: string) {
  return ownRows(db, 'incident_updates', accountId)
    .where('incident_id', '=', incidentId)
    .orderBy('public_at', 'desc')
    .orderBy('seq', 'desc')
    .limit(shownUpdates)
    .execute();
}

/** An update from its row. */
export function toNewUpdate(
  { id: incidentId, account_id: accountId }: Pick<IncidentRow, 'id' | 'account_id'>,
  { description, status, notifySubscribers, ...body }: UpdateBody,
  { id, now, path }: { id: string; now: number; path?: string },
): NewUpdate {
  const publicAt = publicAtOf(body, now, path);
  return {
    id,
    accountId,
    incidentId,
    description,
    status,
    publicAt,
    notifySubscribers,
    createdAt: now,
  };
}

/** Ids and names of the services of an incident. */
export async function servicesOfIncident(
  db: Db,
  accountId: string,
  incidentId: string,
): Promise<{ id: string; name: string }[]> {
  return db
    .selectFrom('incident_services')
    .innerJoin('services', 'services.id', 'incident_services.service_id')
    .select(['services.id', 'services.name'])
    .where('services.account_id', '=', accountId)
    .where('incident_services.incident_id', '=', incidentId)
    .orderBy('services.seq')
    .execute();
}

/** Sets the services of an incident, which are known to belong to the account. */
export async function replaceServices(
  db: Db,
  incidentId: string,
  serviceIds: readonly string[],
): Promise<void> {
  await db.deleteFrom('incident_services').where('incident_id', '=', incidentId).execute();
  await db
    .insertInto('incident_services')
    .values(serviceIds.map((id) => ({ incident_id: incidentId, service_id: id })))
    .execute();
}
