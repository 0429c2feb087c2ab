/** Finds the checks that are in maintenance. */
import type { Kysely } from 'kysely';
import type { Database } from '../db/tables.ts';
import { appliesTo, heldAt, type PlannedWindow, asMute } from './decide/planned-maintenance.ts';
import { pastWindows, standingWindows } from './maintenance-windows/store.ts';

export interface CheckMaintenance {
  windowId: number;
  name: string;
  startsAt: number;
  endsAt: number;
}

/** Longer lists are not put into a statement; all rows are read instead. */
const maxListLength = 500;
const noTags: ReadonlySet<string> = new Set();

/** The present windows of an account, for announcements. */
export async function maintenanceWindowsOf(
  db: Kysely<Database>,
  accountId: string,
): Promise<PlannedWindow[]> {
  return standingWindows(db, accountId);
}

/** The windows of an account that take place at an instant, each with its end, as text to compare. */
export async function maintenanceHeld(
  db: Kysely<Database>,
  accountId: string,
  at: number,
): Promise<string[]> {
  const windows = await standingWindows(db, accountId);
  return windows.flatMap((window) => {
    const held = heldAt(window, at);
    return held === null ? [] : [`${window.id} ${held.endsAt}`];
  });
}

/** All versions of the windows of an account that were in effect at an instant or later. */
export async function windowsSince(
  db: Kysely<Database>,
  accountId: string,
  since: number,
): Promise<PlannedWindow[]> {
  const standing = await standingWindows(db, accountId);
  return [...standing, ...(await pastWindows(db, accountId, since))];
}

/** Gives a predicate: does a window apply to a check, by the tags of the check and its group? */
export async function selectionOf(
  db: Kysely<Database>,
  accountId: string,
  windows: readonly PlannedWindow[],
  checkIds: readonly string[] | null = null,
): Promise<(window: PlannedWindow, checkId: string) => boolean> {
  const tags = [...new Set(windows.flatMap((window) => window.tags))];
  const byCheck = new Map<string, Set<string>>();
  if (tags.length > 0) {
    let own = db
      .selectFrom('check_tags')
      .select(['check_id', 'tag'])
      .where('account_id', '=', accountId);
    let inherited = db
      .selectFrom('check_group_tags')
      .innerJoin('checks', 'checks.group_id', 'check_group_tags.group_id')
      .select(['checks.id as check_id', 'check_group_tags.tag'])
      .where('check_group_tags.account_id', '=', accountId)
      .where('checks.account_id', '=', accountId);
    if (tags.length <= maxListLength) {
      own = own.where('tag', 'in', tags);
      inherited = inherited.where('tag', 'in', tags);
    }
    if (checkIds !== null && checkIds.length <= maxListLength) {
      own = own.where('check_id', 'in', checkIds);
      inherited = inherited.where('checks.id', 'in', checkIds);
    }
    for (const row of [...(await own.execute()), ...(await inherited.execute())]) {
      const known = byCheck.get(row.check_id);
      if (known === undefined) byCheck.set(row.check_id, new Set([row.tag]));
      else known.add(row.tag);
    }
  }
  return (window, checkId) => appliesTo(window, byCheck.get(checkId) ?? noTags);
}

/**
 * The maintenance of checks at an instant, by check; of several, the one that ends last. A window
 * applies to checks and groups with any of its tags. An account without windows costs two index
 * look-ups.
 */
export async function maintenanceOf(
  db: Kysely<Database>,
  accountId: string,
  checkIds: readonly string[],
  at: number,
): Promise<ReadonlyMap<string, CheckMaintenance>> {
  if (checkIds.length === 0) return new Map();
  const windows = await windowsSince(db, accountId, at);
  return maintenanceBy(windows, db, accountId, checkIds, at);
}

/** Like `maintenanceOf`, with the windows that only silence the alerts of a check. */
export async function muteOf(
  db: Kysely<Database>,
  accountId: string,
  checkIds: readonly string[],
  at: number,
): Promise<ReadonlyMap<string, CheckMaintenance>> {
  const windows = await windowsSince(db, accountId, at);
  return maintenanceBy(windows.map(asMute), db, accountId, checkIds, at);
}

/** The same for the present instant, by the windows that are not withdrawn. */
export async function maintenanceNow(
  db: Kysely<Database>,
  accountId: string,
  checkIds: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, CheckMaintenance>> {
  const windows = await standingWindows(db, accountId);
  return maintenanceBy(windows, db, accountId, checkIds, now);
}

async function maintenanceBy(
  all: readonly PlannedWindow[],
  db: Kysely<Database>,
  accountId: string,
  checkIds: readonly string[],
  at: number,
): Promise<ReadonlyMap<string, CheckMaintenance>> {
  const found = new Map<string, CheckMaintenance>();
  const held = all.flatMap((window) => {
    const occurrence = heldAt(window, at);
    return occurrence === null ? [] : [{ window, occurrence }];
  });
  if (held.length === 0) return found;
  const windows = held.map(({ window }) => window);
  const isSelected = await selectionOf(db, accountId, windows, checkIds);
  held.sort((one, other) => one.occurrence.endsAt - other.occurrence.endsAt);
  for (const checkId of checkIds) {
    for (const { window, occurrence } of held) {
      if (!isSelected(window, checkId)) continue;
      found.set(checkId, { windowId: window.id, name: window.name, ...occurrence });
    }
  }
  return found;
}
