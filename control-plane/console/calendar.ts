/** The days and hours of the on-call calendar, in the time zone of the visitor. */

import type { RotationFields } from '@monitor/shared/contract/escalation-policy.ts';
import { clockAt, instantAt, instantOf } from './own-zone.ts';

export type Override = RotationFields['overrides'][number];
/** Puts an override in place of another one; null for none. */
export interface Change {
  old: Override | null;
  next: Override | null;
  /** Where a new one stands in the list; by default at the end. */
  at?: number | undefined;
}

/** Instants at which the columns of a row begin, and the end of the last one. */
export type Row = number[];

const hourMs = 3_600_000;
export const pageDays = { weeks: 28, hours: 7 };
export type Zoom = keyof typeof pageDays;

/** The start of the day that is so many days later. */
function dayAfter(instant: number, days: number) {
  const clock = clockAt(instant);
  clock.setUTCHours(0, 0, 0, 0);
  return instantAt(clock.setUTCDate(clock.getUTCDate() + days));
}

/** The same time of day so many days later, or so many hours later. */
export function later(instant: number, columns: number, zoom: Zoom) {
  if (zoom === 'hours') return instant + columns * hourMs;
  const clock = clockAt(instant);
  return instantAt(clock.setUTCDate(clock.getUTCDate() + columns));
}

/** The Monday of a week such as `2026-11-23`; this week without one. */
export function mondayOf(day: string | undefined, now: number) {
  const at = instantOf(day ?? '');
  const instant = Number.isNaN(at) ? now : at;
  return dayAfter(instant, -((clockAt(instant).getUTCDay() + 6) % 7));
}

/** Four rows of seven days, or seven rows of the hours of a day: 23 or 25 where clocks change. */
export function rowsOf(monday: number, zoom: Zoom): Row[] {
  const days = Array.from({ length: pageDays[zoom] + 1 }, (_, day) => dayAfter(monday, day));
  if (zoom === 'weeks') return [0, 7, 14, 21].map((first) => days.slice(first, first + 8));
  return days.slice(0, -1).map((start, day) => {
    const end = days[day + 1] ?? start;
    const hours = Array.from({ length: Math.ceil((end - start) / hourMs) }, (_, hour) => hour);
    return [...hours.map((hour) => start + hour * hourMs), end];
  });
}

/** Where an instant stands in a row, in percent of its width; its edge for those outside. */
export function placeIn(row: Row, instant: number) {
  const columns = row.length - 1;
  const column = row.findLastIndex((tick) => tick <= instant);
  const [start = 0, end = 0] = row.slice(column, column + 2);
  if (column < 0 || column >= columns) return column < 0 ? 0 : 100;
  return ((column + (instant - start) / (end - start)) / columns) * 100;
}

/** The height at which each span is drawn: above those before it that it overlaps. */
export function levelsOf(spans: readonly { from: string; until: string }[]) {
  const levels: number[] = [];
  for (const [index, { from, until }] of spans.entries()) {
    const below = spans.slice(0, index).map((one, at) => {
      const isMet =
        Date.parse(one.from) < Date.parse(until) && Date.parse(from) < Date.parse(one.until);
      return isMet ? (levels[at] ?? 0) : -1;
    });
    levels.push(Math.max(-1, ...below) + 1);
  }
  return levels;
}
