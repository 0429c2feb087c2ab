/**
 * Occurrences of maintenance windows. Instants in milliseconds. Spec: Maintenance window.
 *
 *   zone      start and end keep their local times in the window's zone, whatever its clocks do: what
 *             lasts from 01:00 to 04:00 ends at 04:00 also on a night on which that is two hours later
 *   missing   a start or an end that the clocks skip is as much later; one they show twice is the first;
 *             where nothing would be left between the two, the end is as far off as at the first time
 *   month     one that lacks the day has its last one instead: 31 January, 28 February, 31 March
 *   first     is exactly as it was given
 */
import { wallClockOf } from '../../core/decide/wall-clock.ts';

export interface RepeatingWindow {
  startsAt: number;
  endsAt: number;
  repeatUnit: 'DAY' | 'WEEK' | 'MONTH' | null;
  /** Number of units between occurrences; null means 1. */
  repeatInterval: number | null;
  /** No occurrence begins after it. */
  repeatEndsAt: number | null;
  /** IANA name; null for UTC. */
  timezone: string | null;
}

export interface Occurrence {
  startsAt: number;
  endsAt: number;
}

const dayMs = 86_400_000;
const unitMs = { DAY: dayMs, WEEK: 7 * dayMs, MONTH: 28 * dayMs };
/** Clocks differ from UTC by less than a day, and change by less than a day. */
const clockReachMs = 2 * dayMs;
/** The last instant with a year of four digits. */
const lastInstant = Date.parse('9999-12-31T23:59:59.999Z');

function monthOf(shown: number): number {
  const date = new Date(shown);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** The same day and time a number of months later; the last day of a shorter month. */
function addMonths(shown: number, months: number): number {
  const date = new Date(shown);
  const day = date.getUTCDate();
  date.setUTCMonth(date.getUTCMonth() + months + 1, 0);
  if (day < date.getUTCDate()) date.setUTCDate(day);
  return date.getTime();
}

/** A lower bound of the number of past occurrences, close to the exact number. */
function countOver(window: RepeatingWindow, instant: number): number {
  const { startsAt, endsAt, repeatUnit } = window;
  if (repeatUnit === null) return 0;
  const interval = window.repeatInterval ?? 1;
  const startedBy = instant - (endsAt - startsAt) - clockReachMs;
  if (startedBy <= startsAt) return 0;
  return repeatUnit === 'MONTH'
    ? Math.max(0, Math.floor((monthOf(startedBy) - monthOf(startsAt)) / interval) - 1)
    : Math.floor((startedBy - startsAt) / (unitMs[repeatUnit] * interval));
}

/**
 * Occurrences that end after an instant, in order of their start; endless if the window is. The
 * first one costs the same at any distance.
 */
export function* occurrencesFrom(window: RepeatingWindow, instant: number): Generator<Occurrence> {
  const { startsAt, endsAt, repeatUnit, repeatEndsAt, timezone } = window;
  const first: Occurrence = { startsAt, endsAt };
  const interval = window.repeatInterval ?? 1;
  const clock = wallClockOf(timezone);
  const firstStart = clock.shownAt(startsAt);
  const lengthMs = clock.shownAt(endsAt) - firstStart;

  const nth = (count: number): Occurrence => {
    if (count === 0 || repeatUnit === null) return first;
    const shown =
      repeatUnit === 'MONTH'
        ? addMonths(firstStart, count * interval)
        : firstStart + count * interval * unitMs[repeatUnit];
    const start = clock.instantOf(shown);
    const end = clock.instantOf(shown + lengthMs);
    return { startsAt: start, endsAt: end > start ? end : start + endsAt - startsAt };
  };

  const latestStart = Math.min(repeatEndsAt ?? lastInstant, lastInstant);
  for (let count = countOver(window, instant); ; count += 1) {
    const occurrence = nth(count);
    const isBeyond = occurrence.startsAt > latestStart || occurrence.endsAt > lastInstant;
    if (count > 0 && isBeyond) return;
    if (occurrence.endsAt > instant) yield occurrence;
    if (repeatUnit === null) return;
  }
}

/** Occurrences that overlap `[from, to)`, in order of their start. */
export function occurrencesBetween(
  window: RepeatingWindow,
  from: number,
  to: number,
): Occurrence[] {
  const found: Occurrence[] = [];
  for (const occurrence of occurrencesFrom(window, from)) {
    if (occurrence.startsAt >= to) break;
    found.push(occurrence);
  }
  return found;
}

/** The newest past occurrences, newest first. */
export function occurrencesBefore(
  window: RepeatingWindow,
  instant: number,
  count: number,
): Occurrence[] {
  const { startsAt, endsAt, repeatUnit, repeatInterval } = window;
  const reachMs =
    repeatUnit === null
      ? instant - startsAt
      : count * (repeatInterval ?? 1) * (repeatUnit === 'MONTH' ? 31 * dayMs : unitMs[repeatUnit]);
  const from = instant - reachMs - (endsAt - startsAt) - clockReachMs;
  const over = occurrencesBetween(window, from, instant).filter((one) => one.endsAt <= instant);
  return over.reverse().slice(0, count);
}

/**
 * True for a window whose next occurrence would begin before the present one ends; a month counts
 * as its shortest.
 */
export function overlapsItself(window: RepeatingWindow): boolean {
  const { startsAt, endsAt, repeatUnit, repeatInterval, timezone } = window;
  if (repeatUnit === null) return false;
  const clock = wallClockOf(timezone);
  const lengthMs = clock.shownAt(endsAt) - clock.shownAt(startsAt);
  return lengthMs > unitMs[repeatUnit] * (repeatInterval ?? 1);
}
