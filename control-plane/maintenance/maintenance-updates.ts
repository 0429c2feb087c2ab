/** Updates of occurrences: what people write, and the notices that the system makes. */
import { sql } from 'kysely';
import { maxUpdates } from '@monitor/shared/contract/maintenance-window.ts';
import { fromFlag, toFlag } from '../db/columns.ts';
import { deleteOldest } from '../db/delete-oldest.ts';
import { lockRows } from '../db/lock.ts';
import { deleteOwnRows, ownRows, updateOwnRows } from '../db/own-rows.ts';
import type { Db, RowOf } from '../db/tables.ts';
import type { Services } from '../core/services.ts';
import type { Occurrence } from './decide/maintenance.ts';
import { carryOver, livingStarts, type CarriedOccurrence } from './decide/carry-over.ts';
import {
  dueNotices,
  isNotified,
  type MadeNotice,
  noticeId,
  type NoticeKind,
  standingNotices,
} from './decide/due-notices.ts';
import {
  historyMs,
  noChange,
  statusOf,
  type OccurrenceChange,
  type PlannedWindow,
} from './decide/planned-maintenance.ts';
import { windowsFromRows } from './maintenance-windows/store.ts';

/** The clocks of a zone may make an occurrence longer than the first. */
const dayMs = 86_400_000;

export type UpdateRow = RowOf<'maintenance_updates'>;
/** `UPDATE` is of a person. */
export type UpdateKind = NoticeKind | 'UPDATE';

export interface OfOccurrence {
  window: PlannedWindow;
  occurrence: Occurrence;
  now: number;
}

/** When the notices of a window are to be looked at. */
export async function noticesMayBeDue(
  db: Db,
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
  db: Db,
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

/** The updates that people wrote, the newest of each occurrence that is scheduled to begin in `[from, to)`; newest first. */
export function updatesOf(
  db: Db,
  accountId: string,
  windowIds: readonly number[],
  { from, to }: { from: number; to: number },
): Promise<UpdateRow[]> {
  const numbered = ownRows(db, 'maintenance_updates', accountId)
    .select((select) =>
      select.fn
        .agg<number>('row_number')
        .over((over) => over.partitionBy(['window_id', 'starts_at']).orderBy('seq', 'desc'))
        .as('number'),
    )
    .where('window_id', 'in', windowIds)
    .where('kind', '=', 'UPDATE')
    .where('starts_at', '>=', from)
    .where('starts_at', '<', to);
  return db
    .selectFrom(numbered.as('updates'))
    .selectAll()
    .where('number', '<=', maxUpdates)
    .orderBy('seq', 'desc')
    .execute();
}

const atOnce = 1_000;

/**
 * Deletes what is said and done about occurrences that are history, and versions of windows from before it. True when
 * there may be more. Oldest first: a notice is made again where only later ones are gone.
 */
export async function pruneMaintenance({
  commits,
  clock,
}: Pick<Services, 'commits' | 'clock'>): Promise<boolean> {
  const before = clock.now() - historyMs;
  return commits.run(async (unit) => {
    const { numDeletedRows } = await unit
      .deleteFrom('maintenance_updates')
      .where('seq', 'in', (old) =>
        old
          .selectFrom('maintenance_updates')
          .select('seq')
          .where('created_at', '<', before)
          .where('starts_at', '<', before)
          .orderBy('seq')
          .limit(atOnce),
      )
      .executeTakeFirst();
    const isBehind = await deleteOldest(
      unit,
      'past_maintenance_windows',
      { column: 'withdrawn_at' },
      before,
      atOnce,
    );
    const lastKnown = ['ends_at', 'completed_at', 'begun_at'] as const;
    await unit
      .deleteFrom('changed_maintenances')
      .where(
        sql<number>`starts_at + (select own.ends_at - own.starts_at from maintenance_windows as own
          where own.id = changed_maintenances.window_id)`,
        '<',
        before - dayMs,
      )
      .where(({ and, or, eb }) =>
        and(lastKnown.map((column) => or([eb(column, 'is', null), eb(column, '<', before)]))),
      )
      .execute();
    return isBehind || Number(numDeletedRows) >= atOnce;
  });
}

/** Writes an update of a person about an occurrence as it is then. */
export async function writeUpdate(
  { newId }: Services,
  db: Db,
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
  db: Db,
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
  db: Db,
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
  db: Db,
  accountId: string,
  id: string,
  progress: Partial<UpdateRow>,
): Promise<void> {
  await updateOwnRows(db, 'maintenance_updates', accountId)
    .set(progress)
    .where('id', '=', id)
    .execute();
}

/** What was made of a window, oldest first. */
async function madeOf(db: Db, accountId: string, windowId: number): Promise<MadeNotice[]> {
  const rows = await ownRows(db, 'maintenance_updates', accountId)
    .where('window_id', '=', windowId)
    .orderBy('seq')
    .execute();
  return rows.map((row) => ({
    ...{ id: row.id, kind: row.kind as UpdateKind, scheduledAt: row.starts_at },
    ...{ createdAt: row.created_at, isAnnounced: fromFlag(row.notify_subscribers) },
  }));
}

/** Writes what people did with an occurrence. */
export async function writeChange(
  db: Db,
  accountId: string,
  { windowId, startsAt }: { windowId: number; startsAt: number },
  { begunAt, verifyingAt, endsAt, completedAt, resumedAt }: OccurrenceChange,
): Promise<void> {
  const values = {
    ...{ begun_at: begunAt, verifying_at: verifyingAt, ends_at: endsAt },
    ...{ completed_at: completedAt, resumed_at: resumedAt },
  };
  await db
    .insertInto('changed_maintenances')
    .values({ window_id: windowId, account_id: accountId, starts_at: startsAt, ...values })
    .onConflict((conflict) => conflict.columns(['window_id', 'starts_at']).doUpdateSet(values))
    .execute();
}

/** Notifies those who know of an occurrence that it is cancelled: its window is gone, or not published any more. */
async function cancelNotified(
  db: Db,
  accountId: string,
  windowId: number,
  { scheduledAt, made, now }: { scheduledAt: number; made: readonly MadeNotice[]; now: number },
): Promise<void> {
  if (!isNotified(standingNotices(made, scheduledAt))) return;
  const id = noticeId(windowId, scheduledAt, 'CANCELLED', made);
  const cancelled = { kind: 'CANCELLED', status: 'CANCELLED', description: '' } as const;
  const update = { id, windowId, scheduledAt, isAnnounced: true, ...cancelled };
  await insertUpdate(db, accountId, update, now);
}

const isPublished = ({ visibility }: PlannedWindow): boolean => visibility?.enabled === true;

/** Carries what is known of the occurrences of a window over to what they are after a change; null for a deletion. */
export async function carryOccurrences(
  db: Db,
  accountId: string,
  before: PlannedWindow,
  after: PlannedWindow | null,
  now: number,
): Promise<void> {
  const windowId = before.id;
  const made = await madeOf(db, accountId, windowId);
  const noticed = made.map(({ scheduledAt }) => scheduledAt);
  const carried: readonly Pick<CarriedOccurrence, 'from' | 'to' | 'change'>[] =
    after === null
      ? livingStarts(before, noticed, now).map(({ startsAt: from }) => ({
          ...{ from, to: null, change: noChange },
        }))
      : carryOver(before, after, noticed, now);
  const isWithdrawn = isPublished(before) && (after === null || !isPublished(after));
  for (const { from, to, change } of carried) {
    if (to !== null && from !== to) await moveUpdates(db, accountId, { windowId, from, to }, made);
    if (to === null || from !== to) {
      await deleteOwnRows(db, 'changed_maintenances', accountId)
        .where('window_id', '=', windowId)
        .where('starts_at', '=', from)
        .execute();
    }
    const isKnown = JSON.stringify(before.changes.get(from) ?? noChange) === JSON.stringify(change);
    if (to !== null && !(from === to && isKnown)) {
      await writeChange(db, accountId, { windowId, startsAt: to }, change);
    }
    const isOff = isPublished(before) && (isWithdrawn || to === null);
    if (isOff) await cancelNotified(db, accountId, windowId, { scheduledAt: from, made, now });
  }
}

/** Ids of notices follow from the scheduled start of their occurrence. */
async function moveUpdates(
  db: Db,
  accountId: string,
  { windowId, from, to }: { windowId: number; from: number; to: number },
  made: readonly MadeNotice[],
): Promise<void> {
  for (const { id, scheduledAt } of made) {
    if (scheduledAt !== from) continue;
    await updateOwnRows(db, 'maintenance_updates', accountId)
      .set({ starts_at: to, id: id.replace(`${windowId}-${from}-`, `${windowId}-${to}-`) })
      .where('id', '=', id)
      .execute();
  }
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
    const notices = dueNotices(window, await madeOf(unit, accountId, id), now);
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
