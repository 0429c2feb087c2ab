/** Writes incident updates of users and checks, and plans their announcements. */
import type { Updateable } from 'kysely';
import { ApiError } from '../errors/api-error.ts';
import { fromFlag, toFlag } from '../db/columns.ts';
import { deleteOwnRows, ownRows, updateOwnRows } from '../db/own-rows.ts';
import type { Database, Db, RowOf } from '../db/tables.ts';
import {
  announcementOfChanged,
  announcementOfNew,
  type AnnouncementEffect,
  type AnnouncementState,
} from './decide/announcement.ts';
import type { IncidentStatus } from './decide/incident.ts';

export type UpdateRow = RowOf<'incident_updates'>;

export interface NewUpdate {
  id: string;
  accountId: string;
  incidentId: string;
  description: string;
  status: IncidentStatus;
  publicAt: number;
  notifySubscribers: boolean;
  createdAt: number;
}

const announced = (row: UpdateRow) => ({
  publicAt: row.public_at,
  notifySubscribers: fromFlag(row.notify_subscribers),
});

async function carryOut(db: Db, row: UpdateRow, effect: AnnouncementEffect): Promise<void> {
  if (effect.kind === 'drop') {
    await deleteOwnRows(db, 'incident_announcements', row.account_id)
      .where('incident_update_id', '=', row.id)
      .execute();
  }
  if (effect.kind !== 'plan') return;
  await db
    .insertInto('incident_announcements')
    .values({
      incident_update_id: row.id,
      account_id: row.account_id,
      due_at: effect.at,
      reached_page_id: null,
      reached_subscription_id: null,
      finished_at: null,
    })
    .onConflict((conflict) =>
      conflict.column('incident_update_id').doUpdateSet({ due_at: effect.at }),
    )
    .execute();
}

/** Adds an update. `announceDueUpdates` notifies subscribers in transactions of its own. */
export async function addIncidentUpdate(db: Db, update: NewUpdate): Promise<UpdateRow> {
  const row = await db
    .insertInto('incident_updates')
    .values({
      id: update.id,
      account_id: update.accountId,
      incident_id: update.incidentId,
      description: update.description,
      status: update.status,
      public_at: update.publicAt,
      notify_subscribers: toFlag(update.notifySubscribers),
      created_at: update.createdAt,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  await carryOut(db, row, announcementOfNew(announced(row)));
  return row;
}

/** Stores a changed update. */
export async function changeIncidentUpdate(
  db: Db,
  before: UpdateRow,
  after: UpdateRow,
  now: number,
): Promise<void> {
  await updateOwnRows(db, 'incident_updates', before.account_id)
    .set(after)
    .where('id', '=', before.id)
    .execute();
  const announcement = await db
    .selectFrom('incident_announcements')
    .select(['reached_page_id', 'finished_at'])
    .where('account_id', '=', before.account_id)
    .where('incident_update_id', '=', before.id)
    .executeTakeFirst();
  const state = stateOf(announcement);
  await carryOut(db, after, announcementOfChanged(state, announced(before), announced(after), now));
}

function stateOf(
  row: { reached_page_id: string | null; finished_at: number | null } | undefined,
): AnnouncementState {
  if (row === undefined) return 'NONE';
  return row.reached_page_id === null && row.finished_at === null ? 'PLANNED' : 'BEGUN';
}

/** An update of an incident; undefined for unknown and foreign ones. */
export function findIncidentUpdate(
  db: Db,
  accountId: string,
  { incidentId, incidentUpdateId }: { incidentId: string; incidentUpdateId: string },
): Promise<UpdateRow | undefined> {
  return ownRows(db, 'incident_updates', accountId)
    .where('incident_id', '=', incidentId)
    .where('id', '=', incidentUpdateId)
    .executeTakeFirst();
}

/** Deletes an update. Throws 409 for the last one of its incident. */
export async function deleteIncidentUpdate(db: Db, row: UpdateRow, now: number): Promise<void> {
  const other = await db
    .selectFrom('incident_updates')
    .select('id')
    .where('account_id', '=', row.account_id)
    .where('incident_id', '=', row.incident_id)
    .where('id', '!=', row.id)
    .limit(1)
    .executeTakeFirst();
  if (other === undefined) {
    throw new ApiError(
      'CONFLICT',
      'the last update of an incident stays; delete the incident instead',
    );
  }
  await deleteOwnRows(db, 'incident_updates', row.account_id).where('id', '=', row.id).execute();
  await updateOwnRows(db, 'incidents', row.account_id)
    .set({ updated_at: now })
    .where('id', '=', row.incident_id)
    .execute();
}

/** Progress of the announcement of an update. */
export async function updateAnnouncement(
  db: Db,
  accountId: string,
  updateId: string,
  progress: Updateable<Database['incident_announcements']>,
): Promise<void> {
  await updateOwnRows(db, 'incident_announcements', accountId)
    .set(progress)
    .where('incident_update_id', '=', updateId)
    .execute();
}
