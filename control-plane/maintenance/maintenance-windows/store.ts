/** Stored maintenance windows: rows ↔ versions of windows. */
import type { Kysely, Selectable } from 'kysely';
import { fromFlag, fromJson } from '../../db/columns.ts';
import { prepareQuery } from '../../db/prepared.ts';
import type { Database } from '../../db/tables.ts';
import type { MaintenanceWindowsTable } from '../tables.ts';
import type { RepeatingWindow } from '../decide/maintenance.ts';
import type { PlannedWindow } from '../decide/planned-maintenance.ts';

export type WindowRow = Selectable<MaintenanceWindowsTable>;

/** A window from its row and its cancellations. */
export function windowFromRow(
  row: WindowRow,
  calledOff: PlannedWindow['calledOff'] = new Map(),
): PlannedWindow {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    tags: fromJson<string[]>(row.tags_json),
    pauseAllChecks: fromFlag(row.pause_all_checks),
    mutedTags: fromJson<string[]>(row.mute_tags_json),
    mutesAll: fromFlag(row.mute_all_alerts),
    schedule: {
      startsAt: row.starts_at,
      endsAt: row.ends_at,
      repeatUnit: row.repeat_unit as RepeatingWindow['repeatUnit'],
      repeatInterval: row.repeat_interval,
      repeatEndsAt: row.repeat_ends_at,
      timezone: row.timezone,
    },
    calledOff,
    plannedAt: row.updated_at ?? row.created_at,
    withdrawnAt: null,
  };
}

const windowsOfAccount = prepareQuery<{ account_id: string }, WindowRow>((db, argument) =>
  db
    .selectFrom('maintenance_windows')
    .selectAll()
    .where('account_id', '=', argument('account_id'))
    .orderBy('id'),
);

const pastOfAccount = prepareQuery<
  { account_id: string; since: number },
  { window_json: string; withdrawn_at: number }
>((db, argument) =>
  db
    .selectFrom('past_maintenance_windows')
    .select(['window_json', 'withdrawn_at'])
    .where('account_id', '=', argument('account_id'))
    .where('withdrawn_at', '>', argument('since')),
);

/** Cancellations of these windows of an account, by window: start of the occurrence → instant. */
export async function calledOffOf(
  db: Kysely<Database>,
  accountId: string,
  windowIds: readonly number[],
): Promise<ReadonlyMap<number, Map<number, number>>> {
  const byWindow = new Map(windowIds.map((id) => [id, new Map<number, number>()]));
  if (windowIds.length === 0) return byWindow;
  const rows = await db
    .selectFrom('called_off_maintenances')
    .select(['window_id', 'starts_at', 'called_off_at'])
    .where('account_id', '=', accountId)
    .execute();
  for (const row of rows) byWindow.get(row.window_id)?.set(row.starts_at, row.called_off_at);
  return byWindow;
}

/** Windows from rows, with their cancellations. */
export async function windowsFromRows(
  db: Kysely<Database>,
  accountId: string,
  rows: readonly WindowRow[],
): Promise<PlannedWindow[]> {
  const calledOff = await calledOffOf(
    db,
    accountId,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => windowFromRow(row, calledOff.get(row.id)));
}

/** The present windows of an account. */
export async function standingWindows(
  db: Kysely<Database>,
  accountId: string,
): Promise<PlannedWindow[]> {
  const rows = await windowsOfAccount.run(db, { account_id: accountId });
  return windowsFromRows(db, accountId, rows);
}

type StoredWindow = Omit<PlannedWindow, 'calledOff' | 'withdrawnAt'> & {
  calledOff: [number, number][];
};

/** Earlier versions of windows that were changed or deleted since an instant. */
export async function pastWindows(
  db: Kysely<Database>,
  accountId: string,
  since: number,
): Promise<PlannedWindow[]> {
  const rows = await pastOfAccount.run(db, { account_id: accountId, since });
  return rows.map((row) => {
    const stored = fromJson<StoredWindow>(row.window_json);
    return {
      // Those of older builds have none.
      ...{ mutedTags: [], mutesAll: false },
      ...{ ...stored, calledOff: new Map(stored.calledOff), withdrawnAt: row.withdrawn_at },
    };
  });
}

/** Stores the present version of a window before it is changed or deleted. */
export async function keepPastWindow(
  db: Kysely<Database>,
  accountId: string,
  window: PlannedWindow,
  now: number,
): Promise<void> {
  const { withdrawnAt: _none, ...rest } = window;
  const stored: StoredWindow = { ...rest, calledOff: [...window.calledOff] };
  await db
    .insertInto('past_maintenance_windows')
    .values({
      account_id: accountId,
      window_json: JSON.stringify(stored),
      withdrawn_at: now,
    })
    .execute();
}
