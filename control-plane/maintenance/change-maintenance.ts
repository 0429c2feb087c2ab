/** Creates, changes and deletes maintenance windows; agents and heartbeats are updated. */
import type { Kysely } from 'kysely';
import { ApiError, notFound } from '../errors/api-error.ts';
import { toTimestamp } from '../db/columns.ts';
import { deleteOwnRows } from '../db/own-rows.ts';
import type { Database } from '../db/tables.ts';
import { occurrenceAt } from './decide/planned-maintenance.ts';
import {
  keepPastWindow,
  windowFromRow,
  type WindowRow,
  windowsFromRows,
} from './maintenance-windows/store.ts';
import {
  fieldsOf,
  refuseIdle,
  toColumns,
  type WindowFields,
  windowToWire,
} from './maintenance-windows/wire.ts';
import { resourceOf } from '../resources/index.ts';
import { raiseAllLocations } from '../core/location-versions.ts';
import type { Services } from '../core/services.ts';

/** Status pages leave maintenance out of the uptime of 90 days; results may arrive 30 days late. */
const pastWindowsKeptMs = 92 * 86_400_000;

const selecting = ['tags', 'pauseAllChecks', 'silenceAlertsTags', 'silenceAllAlerts'];

async function commit<T>(
  { commits, hub }: Services,
  accountId: string,
  change: (db: Kysely<Database>) => Promise<T>,
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
  db: Kysely<Database>,
  accountId: string,
  row: WindowRow,
  now: number,
): Promise<void> {
  const [window] = await windowsFromRows(db, accountId, [row]);
  if (window === undefined) return;
  await services.onWindowWithdrawn(db, accountId, window, now);
  await keepPastWindow(db, accountId, window, now);
  await deleteOwnRows(db, 'past_maintenance_windows', accountId)
    .where('withdrawn_at', '<', now - pastWindowsKeptMs)
    .execute();
}

export function maintenanceWindowsOf(services: Services) {
  const { db, clock } = services;
  const withdrawNow = (unit: Kysely<Database>, row: WindowRow) =>
    withdraw(services, unit, row.account_id, row, clock.now());
  return resourceOf(services, {
    ...({ table: 'maintenance_windows', noun: 'maintenance window', key: 'id' } as const),
    isNumbered: true,
    fieldsOf,
    toColumns(fields: WindowFields, { changes, before }) {
      // One from before this was refused can be renamed.
      if (before === null || selecting.some((name) => name in changes)) refuseIdle(fields);
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
    ...{ changing: withdrawNow, removing: withdrawNow },
  });
}

/**
 * Calls off the occurrence of a window that begins at an instant; doing it twice is fine. Throws
 * 404, and 409 for a past occurrence.
 */
export async function callOffMaintenance(
  services: Services,
  accountId: string,
  id: number,
  startsAt: number,
): Promise<void> {
  await commit(services, accountId, async (db) => {
    const now = services.clock.now();
    const row = await maintenanceWindowsOf(services).get(accountId, id, { unit: db });
    const [window] = await windowsFromRows(db, accountId, [row]);
    const occurrence = window === undefined ? undefined : occurrenceAt(window, startsAt);
    if (window === undefined || occurrence === undefined) {
      throw notFound('maintenance', `${id}-${startsAt}`);
    }
    if (window.calledOff.has(startsAt)) return;
    if (occurrence.endsAt <= now) {
      const endedAt = toTimestamp(occurrence.endsAt);
      throw new ApiError('CONFLICT', `the maintenance ended at ${endedAt}; nothing is left of it`);
    }
    await services.onWindowWithdrawn(db, accountId, window, now);
    await db
      .insertInto('called_off_maintenances')
      .values({ window_id: id, account_id: accountId, starts_at: startsAt, called_off_at: now })
      .execute();
  });
}
