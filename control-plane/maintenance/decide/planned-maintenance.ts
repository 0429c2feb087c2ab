/** Maintenance windows as they were planned, called off and withdrawn: what is really in effect. */
import {
  occurrencesBefore,
  occurrencesBetween,
  occurrencesFrom,
  type Occurrence,
  type RepeatingWindow,
} from './maintenance.ts';

/** A window as it stood from `plannedAt` until it was changed or deleted at `withdrawnAt`. */
export interface PlannedWindow {
  id: number;
  name: string;
  description: string | null;
  /** It applies to checks and groups that carry any of these. */
  tags: readonly string[];
  /** It applies to every check. */
  pauseAllChecks: boolean;
  schedule: RepeatingWindow;
  /** When occurrences were called off, by their start. */
  calledOff: ReadonlyMap<number, number>;
  plannedAt: number;
  /** Null while it stands. */
  withdrawnAt: number | null;
}

type OccurrenceStatus = 'SCHEDULED' | 'IN_PROGRESS' | 'COMPLETED' | 'CANCELLED';

/** Where an occurrence is; one that was called off stays so. */
function statusOf(
  { startsAt, endsAt }: Occurrence,
  isCalledOff: boolean,
  now: number,
): OccurrenceStatus {
  if (isCalledOff) return 'CANCELLED';
  if (now < startsAt) return 'SCHEDULED';
  return now < endsAt ? 'IN_PROGRESS' : 'COMPLETED';
}

/** What is left of an occurrence; null when it was called off before it began. */
function leftOf(window: PlannedWindow, { startsAt, endsAt }: Occurrence): Occurrence | null {
  const until = Math.min(endsAt, window.calledOff.get(startsAt) ?? endsAt);
  return until > startsAt ? { startsAt, endsAt: until } : null;
}

/** Occurrences that overlap `[from, to)` and take place; those called off midway end there. */
export function heldBetween(window: PlannedWindow, from: number, to: number): Occurrence[] {
  return occurrencesBetween(window.schedule, from, to).flatMap((occurrence) => {
    const left = leftOf(window, occurrence);
    return left !== null && left.endsAt > from ? [left] : [];
  });
}

/** As `heldBetween`, of what was in effect then: since it was planned so, until it was withdrawn. */
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

/** An occurrence, taking place or not. */
export interface ListedOccurrence extends Occurrence {
  status: OccurrenceStatus;
}

/** An occurrence as lists show it: one that was called off midway ended then. */
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

/** Occurrences to list: those that are not over, soonest first, then those that are, newest first. */
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

/** The occurrence that begins at an instant, whether or not it takes place. */
export function occurrenceAt(window: PlannedWindow, startsAt: number): Occurrence | undefined {
  const found = occurrencesBetween(window.schedule, startsAt, startsAt + 1);
  return found.find((occurrence) => occurrence.startsAt === startsAt);
}

/** The next occurrences that take place, the one in progress first. */
export function nextHeld(window: PlannedWindow, now: number, count: number): Occurrence[] {
  const found: Occurrence[] = [];
  for (const occurrence of occurrencesFrom(window.schedule, now)) {
    if (found.length === count) break;
    if (!window.calledOff.has(occurrence.startsAt)) found.push(occurrence);
  }
  return found;
}

/** The occurrence that a window was in at an instant; where several overlap, the one that ends last. */
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

/** True when a check with these tags, its own and its group's, is one the window applies to. */
export function appliesTo(window: PlannedWindow, tags: ReadonlySet<string>): boolean {
  return window.pauseAllChecks || window.tags.some((tag) => tags.has(tag));
}

/** The time that any of these occurrences covers, in order and without overlaps. */
export function mergeOccurrences(occurrences: readonly Occurrence[]): Occurrence[] {
  const merged: Occurrence[] = [];
  for (const { startsAt, endsAt } of [...occurrences].sort((a, b) => a.startsAt - b.startsAt)) {
    const last = merged.at(-1);
    if (last !== undefined && startsAt <= last.endsAt) last.endsAt = Math.max(last.endsAt, endsAt);
    else merged.push({ startsAt, endsAt });
  }
  return merged;
}
