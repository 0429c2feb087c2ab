import type { Window } from '../core/decide/results-window.ts';
import type { Db } from '../db/tables.ts';
import { asOf, openRanges, type IncidentStatus } from './decide/incident.ts';

interface Of {
  checkId: string;
  /** The service that the check opens incidents for. */
  serviceId: string | null;
}

/** When incidents that a check opened, or that affect its service, were open within a window. */
export async function incidentsBetween(
  db: Db,
  accountId: string,
  { checkId, serviceId }: Of,
  { from, to }: Window,
) {
  const rows = await db
    .selectFrom('incidents')
    .innerJoin('incident_updates', 'incident_updates.incident_id', 'incidents.id')
    .select(['incidents.id', 'incidents.name', 'incident_updates.seq'])
    .select(['incident_updates.status', 'incident_updates.public_at'])
    .where('incidents.account_id', '=', accountId)
    .where(({ or, eb }) =>
      or([
        eb('incidents.check_id', '=', checkId),
        eb('incidents.id', 'in', (affecting) =>
          affecting
            .selectFrom('incident_services')
            .select('incident_id')
            .where('service_id', '=', serviceId ?? ''),
        ),
      ]),
    )
    // It changes within the window, or it is open when that begins.
    .where(({ or, exists, selectFrom, eb }) => {
      const own = selectFrom('incident_updates as own')
        .select('own.status')
        .whereRef('own.incident_id', '=', 'incidents.id')
        .where('own.public_at', '<', to);
      const before = own
        .where('own.public_at', '<', from)
        .orderBy('own.public_at', 'desc')
        .orderBy('own.seq', 'desc')
        .limit(1);
      return or([exists(own.where('own.public_at', '>=', from)), eb(before, '!=', 'RESOLVED')]);
    })
    .orderBy('incidents.seq')
    .execute();
  return [...Map.groupBy(rows, ({ id }) => id)].flatMap(([id, updates]) => {
    const timeline = updates.map(({ seq, status, public_at: publicAt }) => ({
      ...{ seq, publicAt, status: status as IncidentStatus },
    }));
    const name = updates[0]?.name ?? '';
    return openRanges(asOf(timeline, to))
      .filter((range) => range.from < to && (range.to ?? Infinity) > from)
      .map((range) => ({ id, name, startsAt: range.from, endsAt: range.to }));
  });
}
