/** Updates of occurrences: what people write, and the notices that the system makes. */
import type { Kysely, Selectable } from 'kysely';
import { toFlag } from '../db/columns.ts';
import { lockRows } from '../db/lock.ts';
import { deleteOwnRows, ownRows, updateOwnRows } from '../db/own-rows.ts';
import type { Database } from '../db/tables.ts';
import type { Services } from '../core/services.ts';
import type { Occurrence } from './decide/maintenance.ts';
import { dueNotices, type NoticeKind } from './decide/due-notices.ts';
import { statusOf, type PlannedWindow } from './decide/planned-maintenance.ts';
import { windowsFromRows } from './maintenance-windows/store.ts';
import type { MaintenanceUpdatesTable } from './tables.ts';

export type UpdateRow = Selectable<MaintenanceUpdatesTable>;
/** `UPDATE` is of a person. */
export type UpdateKind = NoticeKind | 'UPDATE';

export interface OfOccurrence {
  window: PlannedWindow;
  occurrence: Occurrence;
  now: number;
}

/** When the notices of a window are to be looked at. */
export async function noticesMayBeDue(
  db: Kysely<Database>,
  accountId: string,
  id: number,
  at: number | null,
): Promise<void> {
  await updateOwnRows(db, 'maintenance_windows', accountId)
    .set({ due_at: at })
    .where('id', '=', id)
    .execute();
}

interface NewUpdate {
  id: string;
  kind: UpdateKind;
  windowId: number;
  scheduledAt: number;
  status: string;
  description: string;
  /** Whether people are notified of it. */
  isAnnounced: boolean;
}

async function insertUpdate(
  db: Kysely<Database>,
  accountId: string,
  update: NewUpdate,
  now: number,
): Promise<UpdateRow | undefined> {
  return db
    .insertInto('maintenance_updates')
    .values({
      ...{ id: update.id, account_id: accountId, window_id: update.windowId },
      ...{ starts_at: update.scheduledAt, kind: update.kind, status: update.status },
      ...{ description: update.description, notify_subscribers: toFlag(update.isAnnounced) },
      ...{ created_at: now, updated_at: null, reached_page_id: null },
      ...{ reached_subscription_id: null, due_at: update.isAnnounced ? now : null },
      finished_at: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
}

/** The updates that people wrote, newest first. */
export function updatesOf(
  db: Kysely<Database>,
  accountId: string,
  windowIds: readonly number[],
): Promise<UpdateRow[]> {
  return ownRows(db, 'maintenance_updates', accountId)
    .where('window_id', 'in', windowIds)
    .where('kind', '=', 'UPDATE')
    .orderBy('seq', 'desc')
    .execute();
}

/** Writes an update of a person about an occurrence as it is then. */
export async function writeUpdate(
  { newId }: Services,
  db: Kysely<Database>,
  accountId: string,
  { window, occurrence, now }: OfOccurrence,
  { description, notifySubscribers }: { description: string; notifySubscribers: boolean },
): Promise<UpdateRow> {
  const row = await insertUpdate(
    db,
    accountId,
    {
      ...{ id: newId(), kind: 'UPDATE', windowId: window.id, description },
      scheduledAt: occurrence.startsAt,
      status: statusOf(window, occurrence, now),
      isAnnounced: notifySubscribers && window.visibility?.enabled === true,
    },
    now,
  );
  if (row === undefined) throw new Error('a new id is taken');
  return row;
}

const ofPerson = (of: { id: number; startsAt: number; updateId: string }) =>
  ({ window_id: of.id, starts_at: of.startsAt, kind: 'UPDATE', id: of.updateId }) as const;

export function changeUpdate(
  db: Kysely<Database>,
  accountId: string,
  of: { id: number; startsAt: number; updateId: string },
  description: string,
  now: number,
): Promise<UpdateRow | undefined> {
  return updateOwnRows(db, 'maintenance_updates', accountId)
    .set({ description, updated_at: now })
    .where((where) => where.and(ofPerson(of)))
    .returningAll()
    .executeTakeFirst();
}

export async function deleteUpdate(
  db: Kysely<Database>,
  accountId: string,
  of: { id: number; startsAt: number; updateId: string },
): Promise<boolean> {
  const deleted = await deleteOwnRows(db, 'maintenance_updates', accountId)
    .where((where) => where.and(ofPerson(of)))
    .executeTakeFirst();
  return deleted.numDeletedRows > 0n;
}

/** Progress of the announcement of an update. */
export async function setReached(
  db: Kysely<Database>,
  accountId: string,
  id: string,
  progress: Partial<UpdateRow>,
): Promise<void> {
  await updateOwnRows(db, 'maintenance_updates', accountId)
    .set(progress)
    .where('id', '=', id)
    .execute();
}

/** Writes the due notices of one window. True when there may be more. */
export async function writeNotices({ commits, clock }: Services): Promise<boolean> {
  return commits.run(async (unit) => {
    const now = clock.now();
    const due = unit
      .selectFrom('maintenance_windows')
      .selectAll()
      .where('due_at', '<=', now)
      .orderBy('due_at')
      .orderBy('id')
      .limit(1);
    // Another replica may be at it.
    const row = await lockRows(due, { skipLocked: true }).executeTakeFirst();
    if (row === undefined) return false;
    const { id, account_id: accountId } = row;
    const [window] = await windowsFromRows(unit, accountId, [row]);
    if (window === undefined) return false;
    const made = await ownRows(unit, 'maintenance_updates', accountId)
      .where('window_id', '=', id)
      .where('kind', '!=', 'UPDATE')
      .execute();
    const notices = dueNotices(window, new Set(made.map((each) => each.id)), now);
    for (const { id: noticeId, kind, scheduledAt, status } of notices.due) {
      await insertUpdate(
        unit,
        accountId,
        {
          ...{ id: noticeId, kind, windowId: id, scheduledAt, status },
          ...{ description: '', isAnnounced: true },
        },
        now,
      );
    }
    await noticesMayBeDue(unit, accountId, id, notices.nextAt);
    return true;
  });
}
