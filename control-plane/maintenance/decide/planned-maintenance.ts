/** Maintenance windows with their changes and cancellations: the maintenance that really takes place. */
import {
  occurrencesBefore,
  occurrencesBetween,
  occurrencesFrom,
  type Occurrence,
  type RepeatingWindow,
} from './maintenance.ts';

/** A version of a window, in effect from `plannedAt` until it was changed or deleted at `withdrawnAt`. */
export interface PlannedWindow {
  id: number;
  name: string;
  description: string | null;
  /** It applies to checks and groups with any of these tags. */
  tags: readonly string[];
  /** It applies to every check. */
  pauseAllChecks: boolean;
  /** Checks and groups with any of these tags run, and send no alerts. */
  mutedTags: readonly string[];
  mutesAll: boolean;
  schedule: RepeatingWindow;
  /** Instants of cancellation, by the start of the occurrence. */
  calledOff: ReadonlyMap<number, number>;
  plannedAt: number;
  /** Null while the version is in effect. */
  withdrawnAt: number | null;
}

type OccurrenceStatus = 'SCHEDULED' | 'IN_PROGRESS' | 'COMPLETED' | 'CANCELLED';

/** Status of an occurrence; a cancelled one stays cancelled. */
function statusOf(
  { startsAt, endsAt }: Occurrence,
  isCalledOff: boolean,
  now: number,
): OccurrenceStatus {
  if (isCalledOff) return 'CANCELLED';
  if (now < startsAt) return 'SCHEDULED';
  return now < endsAt ? 'IN_PROGRESS' : 'COMPLETED';
}

/** The part of an occurrence that takes place; null when it was cancelled before it began. */
function leftOf(window: PlannedWindow, { startsAt, endsAt }: Occurrence): Occurrence | null {
  const until = Math.min(endsAt, window.calledOff.get(startsAt) ?? endsAt);
  return until > startsAt ? { startsAt, endsAt: until } : null;
}

/** Occurrences that overlap `[from, to)` and take place; one that is cancelled midway ends there. */
export function heldBetween(window: PlannedWindow, from: number, to: number): Occurrence[] {
  return occurrencesBetween(window.schedule, from, to).flatMap((occurrence) => {
    const left = leftOf(window, occurrence);
    return left !== null && left.endsAt > from ? [left] : [];
  });
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
export interface ListedOccurrence extends Occurrence {
  status: OccurrenceStatus;
}

/** An occurrence for lists: one that was cancelled midway ended then. */
export function listedOccurrence(
  window: PlannedWindow,
  occurrence: Occurrence,
  now: number,
): ListedOccurrence {
  const isCalledOff = window.calledOff.has(occurrence.startsAt);
  return {
    ...(leftOf(window, occurrence) ?? occurrence),
    status: statusOf(occurrence, isCalledOff, now),
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
  return [...coming, ...over].map((occurrence) => listedOccurrence(window, occurrence, now));
}

/** The occurrence that begins at an instant, cancelled or not. */
export function occurrenceAt(window: PlannedWindow, startsAt: number): Occurrence | undefined {
  const found = occurrencesBetween(window.schedule, startsAt, startsAt + 1);
  return found.find((occurrence) => occurrence.startsAt === startsAt);
}

/** The next occurrences that take place, beginning with one in progress. */
export function nextHeld(window: PlannedWindow, now: number, count: number): Occurrence[] {
  const found: Occurrence[] = [];
  for (const occurrence of occurrencesFrom(window.schedule, now)) {
    if (found.length === count) break;
    if (!window.calledOff.has(occurrence.startsAt)) found.push(occurrence);
  }
  return found;
}

/** The occurrence in progress at an instant; of several, the one that ends last. */
export function heldAt(window: PlannedWindow, at: number): Occurrence | null {
  const { plannedAt, withdrawnAt } = window;
  if (at < plannedAt || (withdrawnAt !== null && at >= withdrawnAt)) return null;
  const held = heldBetween(window, at, at + 1);
  const longest = held.reduce<Occurrence | null>(
    (best, one) => (best === null || one.endsAt > best.endsAt ? one : best),
    null,
  );
  return longest === null
    ? null
    : { ...longest, endsAt: Math.min(longest.endsAt, withdrawnAt ?? longest.endsAt) };
}

/** A window as alerting sees it: it applies to what it pauses and to what it silences. */
export function asMute(window: PlannedWindow): PlannedWindow {
  const { tags, pauseAllChecks, mutedTags, mutesAll } = window;
  return {
    ...window,
    tags: [...tags, ...mutedTags],
    pauseAllChecks: pauseAllChecks || mutesAll,
  };
}

/** True when the window applies to a check with these tags (its own and its group's). */
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
