/** Maintenance of checks in a time range. */
import type { Kysely } from 'kysely';
import type { Database } from '../db/tables.ts';
import type { Occurrence } from './decide/maintenance.ts';
import { inEffectBetween, type PlannedWindow } from './decide/planned-maintenance.ts';
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

/** The maintenance of checks that overlaps a time range, by check. */
export async function maintenanceBetween(
  db: Kysely<Database>,
  accountId: string,
  checkIds: readonly string[],
  { from, to }: Window,
): Promise<ReadonlyMap<string, Occurrence[]>> {
  const held = sinceEver(await windowsSince(db, accountId, from)).flatMap((window) => {
    const occurrences = inEffectBetween(window, from, to);
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
