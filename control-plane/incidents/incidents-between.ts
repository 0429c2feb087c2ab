import type { Kysely } from 'kysely';
import type { Window } from '../core/decide/results-window.ts';
import type { Database } from '../db/tables.ts';
import { asOf, openRanges, type IncidentStatus } from './decide/incident.ts';

interface Of {
  checkId: string;
  /** The service that the check opens incidents for. */
  serviceId: string | null;
}

/**
 * When incidents of a check were open within a window: of the newest `limit` that it opened or that
 * affect its service.
 */
export async function incidentsBetween(
  db: Kysely<Database>,
  accountId: string,
  { checkId, serviceId }: Of,
  { from, to, limit }: Window & { limit: number },
) {
  const rows = await db
    .selectFrom('incidents')
    .innerJoin('incident_updates', 'incident_updates.incident_id', 'incidents.id')
    .select(['incidents.id', 'incidents.name', 'incident_updates.seq'])
    .select(['incident_updates.status', 'incident_updates.public_at'])
    .where('incidents.id', 'in', (newest) =>
      newest
        .selectFrom('incidents')
        .select('id')
        .where('account_id', '=', accountId)
        .where(({ or, eb }) =>
          or([
            eb('check_id', '=', checkId),
            eb('id', 'in', (affecting) =>
              affecting
                .selectFrom('incident_services')
                .select('incident_id')
                .where('service_id', '=', serviceId ?? ''),
            ),
          ]),
        )
        .orderBy('seq', 'desc')
        .limit(limit),
    )
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
