/** Creates, changes and deletes maintenance windows; agents and heartbeats are updated. */
import type { Kysely } from 'kysely';
import { ApiError, notFound } from '../errors/api-error.ts';
import { toTimestamp } from '../db/columns.ts';
import { deleteOwnRows, updateOwnRows } from '../db/own-rows.ts';
import type { Database } from '../db/tables.ts';
import { occurrenceAt } from './decide/planned-maintenance.ts';
import {
  findWindow,
  keepPastWindow,
  windowsFromRows,
  type WindowRow,
} from './maintenance-windows/store.ts';
import { raiseAllLocations } from '../core/location-versions.ts';
import type { Services } from '../core/services.ts';

/** Status pages leave maintenance out of the uptime of 90 days; results may arrive 30 days late. */
const pastWindowsKeptMs = 92 * 86_400_000;

type WindowColumns = Omit<WindowRow, 'id' | 'account_id' | 'created_at' | 'updated_at'>;

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

async function requireWindow(
  db: Kysely<Database>,
  accountId: string,
  id: number,
): Promise<WindowRow> {
  const row = await findWindow(db, accountId, id);
  if (row === undefined) throw notFound('maintenance window', String(id));
  return row;
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

export async function createWindow(
  services: Services,
  accountId: string,
  columns: WindowColumns,
): Promise<WindowRow> {
  return commit(services, accountId, (db) =>
    db
      .insertInto('maintenance_windows')
      .values({
        account_id: accountId,
        ...columns,
        created_at: services.clock.now(),
        updated_at: null,
      })
      .returningAll()
      .executeTakeFirstOrThrow(),
  );
}

/** Changes a window; `toColumns` gives the new values. Throws 404. */
export async function updateWindow(
  services: Services,
  accountId: string,
  id: number,
  toColumns: (before: WindowRow) => WindowColumns,
): Promise<WindowRow> {
  return commit(services, accountId, async (db) => {
    const now = services.clock.now();
    const before = await requireWindow(db, accountId, id);
    const after: WindowRow = { ...before, ...toColumns(before), updated_at: now };
    await withdraw(services, db, accountId, before, now);
    await updateOwnRows(db, 'maintenance_windows', accountId)
      .set(after)
      .where('id', '=', id)
      .execute();
    return after;
  });
}

/** Deletes a window; its checks run again from their next slot. Throws 404. */
export async function deleteWindow(
  services: Services,
  accountId: string,
  id: number,
): Promise<void> {
  await commit(services, accountId, async (db) => {
    const window = await requireWindow(db, accountId, id);
    await withdraw(services, db, accountId, window, services.clock.now());
    await deleteOwnRows(db, 'maintenance_windows', accountId).where('id', '=', id).execute();
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
    const row = await requireWindow(db, accountId, id);
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
