/** Maintenance windows with their changes and cancellations: the maintenance that really takes place. */
import {
  occurrencesBefore,
  occurrencesBetween,
  occurrencesFrom,
  type Occurrence,
  type RepeatingWindow,
} from './maintenance.ts';

/** What a window applies to beside tags. */
export interface WindowScope {
  checkIds: readonly string[];
  groupIds: readonly number[];
  /** All checks that services of pages have, or report to. */
  serviceIds: readonly string[];
  /** All checks of the services of these pages. */
  statusPageIds: readonly string[];
}

export const noScope: WindowScope = {
  ...{ checkIds: [], groupIds: [], serviceIds: [], statusPageIds: [] },
};

/** How pages show the occurrences of a window. */
export interface Visibility {
  enabled: boolean;
  severity: 'CRITICAL' | 'MAJOR' | 'MEDIUM' | 'MINOR';
  affectAllServices: boolean;
  showAffectedServices: boolean;
  statusPageIds: readonly string[];
  serviceIds: readonly string[];
  notifyOnStart: boolean;
  notifyOnEnd: boolean;
  reminderMinutesBefore: readonly number[];
  suppressAutoIncidents: boolean;
  /** Without it an occurrence counts as begun when a person says so; checks follow the schedule. */
  autoStart: boolean;
  /** Without it an occurrence is over when a person says so; checks follow the schedule. */
  autoEnd: boolean;
}

/**
 * How pages show it once a page or a service that it named is deleted. Without any page in its list it would be shown
 * on others: after the last one it is shown nowhere.
 */
export function shownLeft<Shown extends Pick<Visibility, 'enabled' | 'statusPageIds'> | null>(
  before: Shown,
  left: Shown,
): Shown {
  if (before === null || left === null) return left;
  const isLast = before.statusPageIds.length > 0 && left.statusPageIds.length === 0;
  return isLast ? { ...left, enabled: false } : left;
}

/** What people did with an occurrence beside cancelling it. */
export interface OccurrenceChange {
  begunAt: number | null;
  verifyingAt: number | null;
  /** The end in place of the scheduled one. */
  endsAt: number | null;
  completedAt: number | null;
  /** When checks were paused or silenced again after a gap; an earlier version of the window has what was before. */
  resumedAt: number | null;
}

export const noChange: OccurrenceChange = {
  ...{ begunAt: null, verifyingAt: null, endsAt: null, completedAt: null, resumedAt: null },
};

/** A version of a window, in effect from `plannedAt` until it was changed or deleted at `withdrawnAt`. */
export interface PlannedWindow {
  id: number;
  name: string;
  description: string | null;
  /** It applies to checks and groups with any of these tags. */
  tags: readonly string[];
  /** It applies to every check. */
  pauseAllChecks: boolean;
  scopes: readonly WindowScope[];
  /** Checks and groups with any of these tags run, and send no alerts. */
  mutedTags: readonly string[];
  mutesAll: boolean;
  mutedScope: WindowScope;
  schedule: RepeatingWindow;
  /** Null where nothing was said: pages show it with the checks that it pauses. */
  visibility: Visibility | null;
  /** Instants of cancellation, by the scheduled start of the occurrence. */
  calledOff: ReadonlyMap<number, number>;
  /** By the scheduled start of the occurrence. */
  changes: ReadonlyMap<number, OccurrenceChange>;
  plannedAt: number;
  /** Null while the version is in effect. */
  withdrawnAt: number | null;
}

/** The part of an occurrence that takes place. */
export interface HeldOccurrence extends Occurrence {
  /** Its scheduled start, by which it goes. */
  scheduledAt: number;
}

/** What is over for so long is history. Status pages leave maintenance out of 90 days. */
export const historyMs = 92 * 86_400_000;

export type OccurrenceStatus =
  'SCHEDULED' | 'IN_PROGRESS' | 'VERIFYING' | 'COMPLETED' | 'CANCELLED';

/** When an occurrence ends by what is known: an extension, or the schedule. */
export function plannedEnd(window: PlannedWindow, { startsAt, endsAt }: Occurrence): number {
  return window.changes.get(startsAt)?.endsAt ?? endsAt;
}

/** Status of an occurrence as it is scheduled; a cancelled one stays cancelled. */
export function statusOf(
  window: PlannedWindow,
  occurrence: Occurrence,
  now: number,
): OccurrenceStatus {
  const { startsAt } = occurrence;
  if (window.calledOff.has(startsAt)) return 'CANCELLED';
  const { begunAt, verifyingAt, completedAt } = window.changes.get(startsAt) ?? noChange;
  if (completedAt !== null) return 'COMPLETED';
  const { autoStart, autoEnd } = window.visibility ?? { autoStart: true, autoEnd: true };
  const end = plannedEnd(window, occurrence);
  const isPast = now >= end;
  // What people did with it is forgotten.
  if (now - end >= historyMs) return 'COMPLETED';
  // What was over when this version was planned is history: nobody is to end it.
  if (isPast && begunAt === null && end <= window.plannedAt) return 'COMPLETED';
  const hasBegun = begunAt !== null || (autoStart && now >= startsAt);
  // Where a person begins and ends it, nobody has done the work yet.
  if (!hasBegun) return isPast && autoEnd ? 'COMPLETED' : 'SCHEDULED';
  if (autoEnd && isPast) return 'COMPLETED';
  return verifyingAt === null ? 'IN_PROGRESS' : 'VERIFYING';
}

/** The part of an occurrence that takes place; null when it was cancelled before it began. */
export function leftOf(window: PlannedWindow, occurrence: Occurrence): HeldOccurrence | null {
  const { startsAt: scheduledAt } = occurrence;
  const { begunAt, completedAt, resumedAt } = window.changes.get(scheduledAt) ?? noChange;
  const startsAt = resumedAt ?? Math.min(scheduledAt, begunAt ?? scheduledAt);
  const ended = window.calledOff.get(scheduledAt) ?? completedAt ?? Infinity;
  const endsAt = Math.min(plannedEnd(window, occurrence), ended);
  return endsAt > startsAt ? { startsAt, endsAt, scheduledAt } : null;
}

/** Occurrences that people changed and that the schedule alone does not place in `[from, to)`. */
function movedInto(window: PlannedWindow, from: number, to: number): Occurrence[] {
  return [...window.changes.keys()].flatMap((startsAt) => {
    const occurrence = occurrenceAt(window, startsAt);
    if (occurrence === undefined) return [];
    return occurrence.startsAt < to && occurrence.endsAt > from ? [] : [occurrence];
  });
}

/** Occurrences that overlap `[from, to)` and take place; one that is cancelled midway ends there. */
export function heldBetween(window: PlannedWindow, from: number, to: number): HeldOccurrence[] {
  const scheduled = occurrencesBetween(window.schedule, from, to);
  return [...movedInto(window, from, to), ...scheduled]
    .flatMap((occurrence) => {
      const left = leftOf(window, occurrence);
      return left !== null && left.endsAt > from && left.startsAt < to ? [left] : [];
    })
    .sort((one, other) => one.startsAt - other.startsAt);
}

/** Like `heldBetween`, limited to the time in which this version was in effect. */
export function inEffectBetween(window: PlannedWindow, from: number, to: number): Occurrence[] {
  const { plannedAt, withdrawnAt } = window;
  return heldBetween(window, from, to).flatMap(({ startsAt, endsAt }) => {
    const left = {
      startsAt: Math.max(startsAt, plannedAt),
      endsAt: Math.min(endsAt, withdrawnAt ?? endsAt),
    };
    return left.endsAt > left.startsAt && left.endsAt > from && left.startsAt < to ? [left] : [];
  });
}

/** An occurrence, cancelled or not. */
export interface ListedOccurrence extends HeldOccurrence {
  status: OccurrenceStatus;
}

/** An occurrence for lists: one that was cancelled midway ended then. */
export function listedOccurrence(
  window: PlannedWindow,
  occurrence: Occurrence,
  now: number,
): ListedOccurrence {
  return {
    ...(leftOf(window, occurrence) ?? { ...occurrence, scheduledAt: occurrence.startsAt }),
    status: statusOf(window, occurrence, now),
  };
}

/** Occurrences for lists: current and future ones soonest first, then past ones newest first. */
export function occurrencesToList(
  window: PlannedWindow,
  now: number,
  most: number,
): ListedOccurrence[] {
  const coming: Occurrence[] = [];
  for (const occurrence of occurrencesFrom(window.schedule, now)) {
    if (coming.length === most) break;
    coming.push(occurrence);
  }
  const over = occurrencesBefore(window.schedule, now, most);
  const all = [...coming, ...over].map((occurrence) => listedOccurrence(window, occurrence, now));
  // One that was extended or overruns is past by its schedule alone.
  const isOn = ({ status }: ListedOccurrence) => ['IN_PROGRESS', 'VERIFYING'].includes(status);
  return [...all.filter(isOn), ...all.filter((one) => !isOn(one))];
}

/** The occurrence that is scheduled to begin at an instant, cancelled or not. */
export function occurrenceAt(window: PlannedWindow, startsAt: number): Occurrence | undefined {
  const found = occurrencesBetween(window.schedule, startsAt, startsAt + 1);
  return found.find((occurrence) => occurrence.startsAt === startsAt);
}

/** The next occurrences that take place, beginning with one in progress. */
export function nextHeld(window: PlannedWindow, now: number, count: number): HeldOccurrence[] {
  const extended = movedInto(window, now, Infinity).flatMap(
    (occurrence) => leftOf(window, occurrence) ?? [],
  );
  const found = extended.filter(({ endsAt }) => endsAt > now).slice(0, count);
  for (const occurrence of occurrencesFrom(window.schedule, now)) {
    if (found.length === count) break;
    const left = window.calledOff.has(occurrence.startsAt) ? null : leftOf(window, occurrence);
    if (left !== null && left.endsAt > now) found.push(left);
  }
  return found;
}

/** The occurrence in progress at an instant; of several, the one that ends last. */
export function heldAt(window: PlannedWindow, at: number): HeldOccurrence | null {
  const { plannedAt, withdrawnAt } = window;
  if (at < plannedAt || (withdrawnAt !== null && at >= withdrawnAt)) return null;
  const held = heldBetween(window, at, at + 1);
  const longest = held.reduce<HeldOccurrence | null>(
    (best, one) => (best === null || one.endsAt > best.endsAt ? one : best),
    null,
  );
  return longest === null
    ? null
    : { ...longest, endsAt: Math.min(longest.endsAt, withdrawnAt ?? longest.endsAt) };
}

/** A window as alerting sees it: it applies to what it pauses and to what it silences. */
export function asMute(window: PlannedWindow): PlannedWindow {
  const { tags, pauseAllChecks, scopes, mutedTags, mutesAll, mutedScope } = window;
  return {
    ...window,
    tags: [...tags, ...mutedTags],
    pauseAllChecks: pauseAllChecks || mutesAll,
    scopes: [...scopes, mutedScope],
  };
}

/** True when the tags of a window apply to a check with these (its own and its group's). */
export function appliesTo(window: PlannedWindow, tags: ReadonlySet<string>): boolean {
  return window.pauseAllChecks || window.tags.some((tag) => tags.has(tag));
}

/** The covered time of the occurrences, in order and without overlaps. */
export function mergeOccurrences(occurrences: readonly Occurrence[]): Occurrence[] {
  const merged: Occurrence[] = [];
  for (const { startsAt, endsAt } of [...occurrences].sort((a, b) => a.startsAt - b.startsAt)) {
    const last = merged.at(-1);
    if (last !== undefined && startsAt <= last.endsAt) last.endsAt = Math.max(last.endsAt, endsAt);
    else merged.push({ startsAt, endsAt });
  }
  return merged;
}
