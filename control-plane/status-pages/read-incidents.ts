/** Reads incidents of the services of a page, with their public updates. */
import type { Db } from '../db/tables.ts';
import type { IncidentFacts, Severity } from './view/facts.ts';
import type { IncidentStatus } from '../incidents/index.ts';

interface PageKey {
  accountId: string;
  pageId: string;
}

export type WhichIncidents =
  /** Open at `now`, or updated since then. */
  | { kind: 'current'; since: number; now: number }
  /** Public since an instant in `[from, to)`. */
  | { kind: 'begun'; from: number; to: number; now: number }
  | { kind: 'one'; id: string; now: number };

/** A flapping check may open many incidents; older ones are not drawn. */
const maxIncidents = 2_000;

/** Links between incidents and services of a page. */
function linksOf(db: Db, { pageId }: PageKey) {
  return db
    .selectFrom('incident_services')
    .innerJoin('card_services', 'card_services.service_id', 'incident_services.service_id')
    .innerJoin('status_page_cards', 'status_page_cards.id', 'card_services.card_id')
    .where('status_page_cards.status_page_id', '=', pageId);
}

function incidentsOf(db: Db, key: PageKey, now: number) {
  return db
    .selectFrom('incidents')
    .where('incidents.account_id', '=', key.accountId)
    .where('incidents.id', 'in', linksOf(db, key).select('incident_services.incident_id'))
    .where((where) =>
      where.exists(
        where
          .selectFrom('incident_updates')
          .select('incident_updates.id')
          .whereRef('incident_updates.incident_id', '=', 'incidents.id')
          .where('public_at', '<=', now),
      ),
    );
}

function narrowed(db: Db, key: PageKey, which: WhichIncidents) {
  const incidents = incidentsOf(db, key, which.now);
  switch (which.kind) {
    case 'one':
      return incidents.where('incidents.id', '=', which.id);
    case 'begun':
      return incidents.where((where) => {
        const first = where
          .selectFrom('incident_updates')
          .select((select) => select.fn.min('public_at').as('first'))
          .whereRef('incident_updates.incident_id', '=', 'incidents.id');
        return where.and([where(first, '>=', which.from), where(first, '<', which.to)]);
      });
    case 'current':
      return incidents.where((where) =>
        where.or([
          where.exists(
            where
              .selectFrom('incident_updates')
              .select('incident_updates.id')
              .whereRef('incident_updates.incident_id', '=', 'incidents.id')
              .where('public_at', '>=', which.since)
              .where('public_at', '<=', which.now),
          ),
          where(
            where
              .selectFrom('incident_updates')
              .select('status')
              .whereRef('incident_updates.incident_id', '=', 'incidents.id')
              .where('public_at', '<=', which.now)
              .orderBy('public_at', 'desc')
              .orderBy('seq', 'desc')
              .limit(1),
            '!=',
            'RESOLVED',
          ),
        ]),
      );
  }
}

/** By creation, newest first. */
export async function readIncidents(
  db: Db,
  key: PageKey,
  which: WhichIncidents,
): Promise<IncidentFacts[]> {
  const rows = await narrowed(db, key, which)
    .selectAll('incidents')
    .orderBy('incidents.seq', 'desc')
    .limit(maxIncidents)
    .execute();
  if (rows.length === 0) return [];
  const ids = rows.map(({ id }) => id);
  const links = await linksOf(db, key)
    .select(['incident_services.incident_id', 'incident_services.service_id'])
    .where('incident_services.incident_id', 'in', ids)
    .orderBy('status_page_cards.position')
    .orderBy('card_services.position')
    .execute();
  const updates = await db
    .selectFrom('incident_updates')
    .select(['id', 'seq', 'incident_id', 'status', 'description', 'public_at', 'created_at'])
    .where('account_id', '=', key.accountId)
    .where('incident_id', 'in', ids)
    .where('public_at', '<=', which.now)
    .execute();
  const servicesOf = Map.groupBy(links, (each) => each.incident_id);
  const updatesOf = Map.groupBy(updates, (each) => each.incident_id);
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    severity: row.severity as Severity,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    serviceIds: [...new Set((servicesOf.get(row.id) ?? []).map((link) => link.service_id))],
    updates: (updatesOf.get(row.id) ?? []).map((update) => ({
      id: update.id,
      seq: update.seq,
      status: update.status as IncidentStatus,
      description: update.description,
      publicAt: update.public_at,
      createdAt: update.created_at,
    })),
  }));
}

/** Instant of the first public update of any incident of the page; null without one. */
export async function firstIncidentAt(db: Db, key: PageKey, now: number): Promise<number | null> {
  const row = await db
    .selectFrom('incident_updates')
    .select((select) => select.fn.min('public_at').as('first'))
    .where('account_id', '=', key.accountId)
    .where('incident_id', 'in', linksOf(db, key).select('incident_services.incident_id'))
    .where('public_at', '<=', now)
    .executeTakeFirst();
  return row?.first ?? null;
}
