/** Scheduled maintenance of the coming days, which agents get with their checks. */
import type { Pause } from '@monitor/shared/contract/agent-protocol.ts';
import { hash32 } from '@monitor/shared/domain/hash.ts';
import type { Db } from '../db/tables.ts';
import { heldBetween, mergeOccurrences } from './decide/planned-maintenance.ts';
import { sha256Hex } from '../core/keys.ts';
import { maintenanceWindowsOf, selectionOf } from './windows.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Agents can work for at least eight days without the control plane. */
const horizonMs = 9 * dayMs;

export interface ScheduledMaintenance {
  pauses: Pause[];
  /** Changes whenever the agent must get the pauses again. */
  key: string;
}

/** The pauses of every check of an account in a time range. */
export interface MaintenancePlan {
  /** Identifies the time range: it moves once a day. */
  day: number;
  of: (checkId: string) => ScheduledMaintenance;
  /** Reads again which windows apply to these checks, after their tags changed. */
  selectAgain: (db: Db, checkIds: readonly string[]) => Promise<void>;
}

const none: ScheduledMaintenance = { pauses: [], key: '' };

/** Of an account without windows, whose day nobody has asked for. */
export const noMaintenance: MaintenancePlan = {
  day: Number.NaN,
  of: () => none,
  selectAgain: () => Promise.resolve(),
};

/** The day of an account at an instant; each account has days of its own. */
export function maintenanceDay(accountId: string, now: number): number {
  return Math.floor((now - phaseOf(accountId)) / dayMs);
}

function phaseOf(accountId: string): number {
  return hash32(accountId) % dayMs;
}

/**
 * The pauses of any check of an account. They cover a time range that moves once a day, at a
 * different time for each account, so that unchanged windows give unchanged pauses. The range
 * begins a little in the past, so that an agent does not make up a slot of a pause that has just
 * ended.
 */
export async function scheduledMaintenance(
  db: Db,
  accountId: string,
  now: number,
): Promise<MaintenancePlan> {
  const day = maintenanceDay(accountId, now);
  const today = day * dayMs + phaseOf(accountId);
  const upcoming = (await maintenanceWindowsOf(db, accountId)).flatMap((window) => {
    const held = heldBetween(window, today - hourMs, today + horizonMs);
    return held.length === 0 ? [] : [{ window, held }];
  });
  if (upcoming.length === 0) return { ...noMaintenance, day };
  const windows = upcoming.map(({ window }) => window);
  const isSelected = await selectionOf(db, accountId, windows);
  /** By check whose tags were read again. */
  const again = new Map<string, typeof isSelected>();
  const known = new Map<string, ScheduledMaintenance>();
  const of = (checkId: string): ScheduledMaintenance => {
    const applies = again.get(checkId) ?? isSelected;
    const selected = upcoming.filter(({ window }) => applies(window, checkId));
    if (selected.length === 0) return none;
    const names = selected.map(({ window }) => window.id).join(' ');
    let found = known.get(names);
    if (found === undefined) {
      const merged = mergeOccurrences(selected.flatMap(({ held }) => held));
      const pauses = merged.map(({ startsAt, endsAt }) => ({ from: startsAt, to: endsAt }));
      found = { pauses, key: sha256Hex(JSON.stringify(pauses)).slice(0, 16) };
      known.set(names, found);
    }
    return found;
  };
  const selectAgain = async (reader: Db, ids: readonly string[]): Promise<void> => {
    const applies = await selectionOf(reader, accountId, windows, ids);
    for (const id of ids) again.set(id, applies);
  };
  return { day, of, selectAgain };
}
