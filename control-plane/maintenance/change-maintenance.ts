/** Creates, changes and deletes maintenance windows; agents and heartbeats are updated. */
import { ApiError, notFound } from '../errors/api-error.ts';
import { toTimestamp } from '../db/columns.ts';
import { lockRows } from '../db/lock.ts';
import { ownRows, updateOwnRows } from '../db/own-rows.ts';
import type { Db } from '../db/tables.ts';
import { changeOccurrence, type ChangeRequest } from './decide/change-occurrence.ts';
import {
  occurrenceAt,
  shownLeft,
  statusOf,
  type PlannedWindow,
} from './decide/planned-maintenance.ts';
import {
  keepPastWindow,
  standingWindows,
  windowFromRow,
  type WindowRow,
  windowsFromRows,
} from './maintenance-windows/store.ts';
import {
  completeFields,
  fieldsOf,
  type GivenFields,
  isIdle,
  refuseIdle,
  selectingColumns,
  toColumns,
  windowToWire,
} from './maintenance-windows/wire.ts';
import {
  carryOccurrences,
  noticesMayBeDue,
  type OfOccurrence,
  writeChange,
} from './maintenance-updates.ts';
import { resourceOf } from '../resources/index.ts';
import { raiseAllLocations } from '../core/location-versions.ts';
import {
  type IdLists,
  type NamedTable,
  refuseUnknownIds,
  withoutId,
} from '../core/ids-in-fields.ts';
import type { Services } from '../core/services.ts';

async function commit<T>(
  { commits, hub }: Services,
  accountId: string,
  change: (db: Db) => Promise<T>,
): Promise<T> {
  const result = await commits.run(async (db) => {
    const changed = await change(db);
    await raiseAllLocations(db, accountId);
    return changed;
  });
  commits.after([
    () => {
      hub.notifyAccount(accountId);
    },
  ]);
  return result;
}

/**
 * Withdraws a window before it changes or is deleted: earlier slots and results are judged by the
 * old one.
 */
async function withdraw(
  services: Services,
  db: Db,
  accountId: string,
  window: PlannedWindow,
  now: number,
): Promise<void> {
  await services.onWindowWithdrawn(db, accountId, window, now);
  await keepPastWindow(db, accountId, window, now);
}

/** What the fields of a window name. */
const named: IdLists = {
  ...{ 'pauseScope.checkIds': 'checks', 'silenceScope.checkIds': 'checks' },
  ...{ 'pauseScope.groupIds': 'check_groups', 'silenceScope.groupIds': 'check_groups' },
  ...{ 'pauseScope.serviceIds': 'services', 'silenceScope.serviceIds': 'services' },
  ...{ 'pauseScope.statusPageIds': 'status_pages', 'silenceScope.statusPageIds': 'status_pages' },
  'statusPageVisibility.serviceIds': 'services',
  'statusPageVisibility.statusPageIds': 'status_pages',
  ownerAlertChannelIds: 'alert_channels',
};

/**
 * The windows of an account lose the id of an entry that is deleted, and keep what else they select. One whose last
 * page is gone is shown nowhere: without any page in its list it would be shown on others.
 */
export async function dropFromWindows(
  db: Db,
  accountId: string,
  table: NamedTable,
  id: string | number,
): Promise<void> {
  for (const known of await ownRows(db, 'maintenance_windows', accountId).orderBy('id').execute()) {
    if (withoutId(named, fieldsOf(known), table, id) === null) continue;
    const row = await lockRows(
      ownRows(db, 'maintenance_windows', accountId).where('id', '=', known.id),
    ).executeTakeFirst();
    if (row === undefined) continue;
    const before = fieldsOf(row);
    const left = withoutId(named, before, table, id);
    if (left === null) continue;
    const statusPageVisibility = shownLeft(before.statusPageVisibility, left.statusPageVisibility);
    await updateOwnRows(db, 'maintenance_windows', accountId)
      .set(selectingColumns({ ...left, statusPageVisibility }))
      .where('id', '=', known.id)
      .execute();
  }
}

/**
 * Call it in a transaction before it changes which checks a service or a page has: what windows hold of them is looked
 * at again, and agents are updated. The hub is notified by its caller.
 */
export async function checksMayLeave(services: Services, db: Db, accountId: string): Promise<void> {
  const concerned = (await standingWindows(db, accountId)).filter(({ scopes, mutedScope }) =>
    [...scopes, mutedScope].some(
      ({ serviceIds, statusPageIds }) => serviceIds.length + statusPageIds.length > 0,
    ),
  );
  if (concerned.length === 0) return;
  await lockRows(ownRows(db, 'maintenance_windows', accountId).orderBy('id')).execute();
  for (const window of concerned) {
    await services.onWindowWithdrawn(db, accountId, window, services.clock.now());
  }
  await raiseAllLocations(db, accountId);
}

async function windowOfRow(db: Db, row: WindowRow): Promise<PlannedWindow> {
  const [window] = await windowsFromRows(db, row.account_id, [row]);
  return window ?? windowFromRow(row);
}

export function maintenanceWindowsOf(services: Services) {
  const { db, clock } = services;
  const withdrawNow = async (unit: Db, row: WindowRow) => {
    const window = await windowOfRow(unit, row);
    await withdraw(services, unit, row.account_id, window, clock.now());
  };
  return resourceOf(services, {
    ...({ table: 'maintenance_windows', noun: 'maintenance window', key: 'id' } as const),
    isNumbered: true,
    fieldsOf,
    async toColumns(given: GivenFields, { unit, accountId, changes, before }) {
      const fields = completeFields(given, before);
      // What it applied to may have been deleted.
      if (before === null || !isIdle(fieldsOf(before))) refuseIdle(fields);
      await refuseUnknownIds(unit, accountId, named, changes);
      return toColumns(fields);
    },
    async present(rows, { accountId }) {
      const windows = await windowsFromRows(db, accountId, rows);
      return rows.map((row, at) =>
        windowToWire(row, windows[at] ?? windowFromRow(row), clock.now()),
      );
    },
    commit: (accountId, work) => commit(services, accountId, work),
    // Its checks run again from their next slot.
    changing: withdrawNow,
    async saved(unit, row, _fields, before) {
      if (before === null) return;
      const after = windowFromRow(row);
      await carryOccurrences(
        unit,
        row.account_id,
        await windowOfRow(unit, before),
        after,
        row.updated_at ?? row.created_at,
      );
    },
    async removing(unit, row) {
      await withdrawNow(unit, row);
      await carryOccurrences(unit, row.account_id, await windowOfRow(unit, row), null, clock.now());
    },
  });
}

/** Works on an occurrence in the transaction of its change. Throws 404 for one that the window does not have. */
async function onOccurrence<T>(
  services: Services,
  accountId: string,
  { id, startsAt }: { id: number; startsAt: number },
  work: (db: Db, of: OfOccurrence) => Promise<T>,
): Promise<T> {
  return commit(services, accountId, async (db) => {
    const row = await maintenanceWindowsOf(services).lock(db, accountId, id);
    const [window] = await windowsFromRows(db, accountId, [row]);
    const occurrence = window === undefined ? undefined : occurrenceAt(window, startsAt);
    if (window === undefined || occurrence === undefined) {
      throw notFound('maintenance', `${id}-${startsAt}`);
    }
    const done = await work(db, { window, occurrence, now: services.clock.now() });
    if (window.visibility !== null) await noticesMayBeDue(db, accountId, id, 0);
    return done;
  });
}

/**
 * Calls off the occurrence of a window that begins at an instant; doing it twice is fine. Throws
 * 404, and 409 for a past occurrence.
 */
export async function callOffMaintenance(
  services: Services,
  accountId: string,
  at: { id: number; startsAt: number },
): Promise<void> {
  await onOccurrence(services, accountId, at, async (db, { window, occurrence, now }) => {
    const { startsAt } = occurrence;
    if (window.calledOff.has(startsAt)) return;
    if (statusOf(window, occurrence, now) === 'COMPLETED') {
      const endedAt = toTimestamp(occurrence.endsAt);
      throw new ApiError('CONFLICT', `the maintenance ended at ${endedAt}; nothing is left of it`);
    }
    await services.onWindowWithdrawn(db, accountId, window, now);
    await db
      .insertInto('called_off_maintenances')
      .values({ window_id: at.id, account_id: accountId, starts_at: startsAt, called_off_at: now })
      .execute();
  });
}

/** Changes an occurrence as a person asks for, then does `also` in the same transaction. Throws 404 and 409. */
export async function changeMaintenance<T>(
  services: Services,
  accountId: string,
  at: { id: number; startsAt: number },
  request: ChangeRequest,
  also: (db: Db, of: OfOccurrence) => Promise<T>,
): Promise<T> {
  return onOccurrence(services, accountId, at, async (db, of) => {
    const { window, occurrence, now } = of;
    const { startsAt } = occurrence;
    if (request.status === undefined && request.endsAt === undefined) return also(db, of);
    const changed = changeOccurrence(window, occurrence, request, now);
    if ('refusal' in changed) throw new ApiError('CONFLICT', changed.refusal);
    const isResumed = changed.change.resumedAt === now;
    if (isResumed) {
      // What was planned before the gap stays with the version until now.
      await withdraw(services, db, accountId, window, now);
      await updateOwnRows(db, 'maintenance_windows', accountId)
        .set({ updated_at: now })
        .where('id', '=', at.id)
        .execute();
      await carryOccurrences(db, accountId, window, { ...window, plannedAt: now }, now);
    } else {
      // What waits for the end of the window waits for the new one.
      await services.onWindowWithdrawn(db, accountId, window, now);
    }
    await writeChange(db, accountId, { windowId: at.id, startsAt }, changed.change);
    const changes = new Map([...window.changes, [startsAt, changed.change]]);
    const plannedAt = isResumed ? now : window.plannedAt;
    return also(db, { ...of, window: { ...window, changes, plannedAt } });
  });
}
