/**
 * What becomes of the occurrences of a window when the window is changed: of those that are in progress, that people
 * changed, or that subscribers know. One whose start is corrected goes on as the occurrence that overlaps it.
 */
import { occurrencesBetween, type Occurrence } from './maintenance.ts';
import { openMs } from './due-notices.ts';
import {
  noChange,
  occurrenceAt,
  plannedEnd,
  statusOf,
  type OccurrenceChange,
  type PlannedWindow,
} from './planned-maintenance.ts';

export interface CarriedOccurrence {
  /** Its scheduled start before. */
  from: number;
  /** Its scheduled start after; null where nothing of it is left. */
  to: number | null;
  change: OccurrenceChange;
}

/** Occurrences that are ahead or in progress. */
export function livingStarts(
  window: PlannedWindow,
  noticed: Iterable<number>,
  now: number,
): Occurrence[] {
  const recent = occurrencesBetween(window.schedule, now - openMs, now + 1);
  const starts = new Set([
    ...recent.map(({ startsAt }) => startsAt),
    ...window.changes.keys(),
    ...noticed,
  ]);
  return [...starts].flatMap((start) => {
    const occurrence = occurrenceAt(window, start);
    if (occurrence === undefined) return [];
    const status = statusOf(window, occurrence, now);
    return status === 'COMPLETED' || status === 'CANCELLED' ? [] : [occurrence];
  });
}

export function carryOver(
  before: PlannedWindow,
  after: PlannedWindow,
  noticed: Iterable<number>,
  now: number,
): CarriedOccurrence[] {
  const taken = new Set<number>();
  return livingStarts(before, noticed, now).flatMap((occurrence): CarriedOccurrence[] => {
    const { startsAt: from, endsAt } = occurrence;
    const change = before.changes.get(from) ?? noChange;
    const distance = (one: Occurrence) => Math.abs(one.startsAt - from);
    const [target] = occurrencesBetween(
      after.schedule,
      Math.min(from, change.begunAt ?? from),
      Math.max(from + 1, plannedEnd(before, occurrence)),
    ).sort((one, other) => distance(one) - distance(other));
    if (target === undefined) return [{ from, to: null, change }];
    if (taken.has(target.startsAt)) return [];
    taken.add(target.startsAt);
    const isOn = ['IN_PROGRESS', 'VERIFYING'].includes(statusOf(before, occurrence, now));
    const goesOn = isOn && target.startsAt <= now;
    return [
      {
        from,
        to: target.startsAt,
        change: {
          ...change,
          begunAt: goesOn ? (change.begunAt ?? from) : isOn ? null : change.begunAt,
          verifyingAt: goesOn ? change.verifyingAt : null,
          // An end that the window itself is given now is the newer one.
          endsAt: target.endsAt === endsAt ? change.endsAt : null,
        },
      },
    ];
  });
}
