/** Stored maintenance windows: rows ↔ versions of windows. */
import { fromFlag, fromJson } from '../../db/columns.ts';
import { prepareQuery } from '../../db/prepared.ts';
import type { Db, RowOf } from '../../db/tables.ts';
import type { RepeatingWindow } from '../decide/maintenance.ts';
import {
  noScope,
  type OccurrenceChange,
  type PlannedWindow,
  type Visibility,
  type WindowScope,
} from '../decide/planned-maintenance.ts';

export type WindowRow = RowOf<'maintenance_windows'>;

const scopeOf = (text: string): WindowScope => ({
  ...noScope,
  ...fromJson<Partial<WindowScope>>(text),
});

/** What people did with the occurrences of a window. */
type Deeds = Pick<PlannedWindow, 'calledOff' | 'changes'>;
const noDeeds: Deeds = { calledOff: new Map(), changes: new Map() };

/** A window from its row, and what people did with its occurrences. */
export function windowFromRow(row: WindowRow, deeds: Deeds = noDeeds): PlannedWindow {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    tags: fromJson<string[]>(row.tags_json),
    pauseAllChecks: fromFlag(row.pause_all_checks),
    scopes: [scopeOf(row.pause_scope_json)],
    mutedTags: fromJson<string[]>(row.mute_tags_json),
    mutesAll: fromFlag(row.mute_all_alerts),
    mutedScope: scopeOf(row.mute_scope_json),
    visibility: row.visibility_json === null ? null : fromJson<Visibility>(row.visibility_json),
    schedule: {
      startsAt: row.starts_at,
      endsAt: row.ends_at,
      repeatUnit: row.repeat_unit as RepeatingWindow['repeatUnit'],
      repeatInterval: row.repeat_interval,
      repeatEndsAt: row.repeat_ends_at,
      timezone: row.timezone,
    },
    ...deeds,
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

/** What people did with the occurrences of these windows of an account, by window. */
export async function deedsOf(
  db: Db,
  accountId: string,
  windowIds: readonly number[],
): Promise<ReadonlyMap<number, Deeds>> {
  const byWindow = new Map(
    windowIds.map((id) => [
      id,
      { calledOff: new Map<number, number>(), changes: new Map<number, OccurrenceChange>() },
    ]),
  );
  if (windowIds.length === 0) return byWindow;
  const cancelled = await db
    .selectFrom('called_off_maintenances')
    .select(['window_id', 'starts_at', 'called_off_at'])
    .where('account_id', '=', accountId)
    .execute();
  for (const row of cancelled) {
    byWindow.get(row.window_id)?.calledOff.set(row.starts_at, row.called_off_at);
  }
  const changed = await db
    .selectFrom('changed_maintenances')
    .selectAll()
    .where('account_id', '=', accountId)
    .execute();
  for (const row of changed) {
    byWindow.get(row.window_id)?.changes.set(row.starts_at, {
      ...{ begunAt: row.begun_at, verifyingAt: row.verifying_at },
      ...{ endsAt: row.ends_at, completedAt: row.completed_at, resumedAt: row.resumed_at },
    });
  }
  return byWindow;
}

/** Windows from rows, with what people did with their occurrences. */
export async function windowsFromRows(
  db: Db,
  accountId: string,
  rows: readonly WindowRow[],
): Promise<PlannedWindow[]> {
  const ids = rows.map(({ id }) => id);
  const deeds = await deedsOf(db, accountId, ids);
  return rows.map((row) => windowFromRow(row, deeds.get(row.id)));
}

/** The present windows of an account. */
export async function standingWindows(db: Db, accountId: string): Promise<PlannedWindow[]> {
  const rows = await windowsOfAccount.run(db, { account_id: accountId });
  return windowsFromRows(db, accountId, rows);
}

type StoredWindow = Omit<PlannedWindow, 'calledOff' | 'changes' | 'withdrawnAt'> & {
  calledOff: [number, number][];
  changes?: [number, OccurrenceChange][];
};

/** Earlier versions of windows that were changed or deleted since an instant. */
export async function pastWindows(
  db: Db,
  accountId: string,
  since: number,
): Promise<PlannedWindow[]> {
  const rows = await pastOfAccount.run(db, { account_id: accountId, since });
  return rows.map((row) => {
    const stored = fromJson<StoredWindow>(row.window_json);
    return {
      // Those of older builds have none.
      ...{ mutedTags: [], mutesAll: false, scopes: [], mutedScope: noScope, visibility: null },
      ...{ ...stored, calledOff: new Map(stored.calledOff), withdrawnAt: row.withdrawn_at },
      changes: new Map(stored.changes),
    };
  });
}

/** Stores the present version of a window before it is changed or deleted. */
export async function keepPastWindow(
  db: Db,
  accountId: string,
  window: PlannedWindow,
  now: number,
): Promise<void> {
  const { withdrawnAt: _none, ...rest } = window;
  const stored: StoredWindow = {
    ...{ ...rest, calledOff: [...window.calledOff], changes: [...window.changes] },
  };
  await db
    .insertInto('past_maintenance_windows')
    .values({
      account_id: accountId,
      window_json: JSON.stringify(stored),
      withdrawn_at: now,
    })
    .execute();
}
