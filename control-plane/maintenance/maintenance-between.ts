/** Maintenance of checks in a time range. */
import type { Db } from '../db/tables.ts';
import type { Occurrence } from './decide/maintenance.ts';
import { asMute, inEffectBetween, type PlannedWindow } from './decide/planned-maintenance.ts';
import type { Window } from '../core/decide/results-window.ts';
import { selectionOf, windowsSince } from './windows.ts';

/**
 * The first version of each window also applies to the past, because maintenance may be entered
 * afterwards. Later versions apply from their creation.
 */
function sinceEver(windows: readonly PlannedWindow[]): PlannedWindow[] {
  const first = new Map<number, number>();
  for (const { id, plannedAt } of windows) {
    first.set(id, Math.min(first.get(id) ?? plannedAt, plannedAt));
  }
  return windows.map((window) =>
    window.plannedAt === first.get(window.id) ? { ...window, plannedAt: -Infinity } : window,
  );
}

interface NamedOccurrence extends Occurrence {
  windowId: number;
  name: string;
}

/** The maintenance that pauses checks and overlaps a time range, by check. */
export async function maintenanceBetween(
  db: Db,
  accountId: string,
  checkIds: readonly string[],
  { from, to }: Window,
): Promise<ReadonlyMap<string, NamedOccurrence[]>> {
  return between(db, accountId, checkIds, { from, to }, await windowsSince(db, accountId, from));
}

/** The same with windows that only silence: what checks report meanwhile is planned. */
export async function plannedBetween(
  db: Db,
  accountId: string,
  checkIds: readonly string[],
  { from, to }: Window,
): Promise<ReadonlyMap<string, NamedOccurrence[]>> {
  const windows = (await windowsSince(db, accountId, from)).map(asMute);
  return between(db, accountId, checkIds, { from, to }, windows);
}

async function between(
  db: Db,
  accountId: string,
  checkIds: readonly string[],
  { from, to }: Window,
  all: readonly PlannedWindow[],
): Promise<ReadonlyMap<string, NamedOccurrence[]>> {
  const held = sinceEver(all).flatMap((window) => {
    const occurrences = inEffectBetween(window, from, to).map((occurrence) => ({
      ...{ windowId: window.id, name: window.name, ...occurrence },
    }));
    return occurrences.length === 0 ? [] : [{ window, occurrences }];
  });
  if (held.length === 0) return new Map();
  const windows = held.map(({ window }) => window);
  const isSelected = await selectionOf(db, accountId, windows, checkIds);
  return new Map(
    checkIds.map((id) => [
      id,
      held.flatMap(({ window, occurrences }) => (isSelected(window, id) ? occurrences : [])),
    ]),
  );
}
