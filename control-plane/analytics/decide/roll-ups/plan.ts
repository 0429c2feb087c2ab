/**
 * Chooses the sums for an answer. A day or an hour counts as a whole when it lies in one span; an
 * hour also when all its results do. The results of an hour that is divided between spans are read
 * one by one while they are kept; later the hour counts in the span where it begins.
 */
import type { Window } from '../../../core/decide/results-window.ts';
import { dayMs, hourMs, hourOf } from './cell.ts';
import type { Span, Spans } from './spans.ts';

/** Extent of the results that were rolled up together. */
interface Extent {
  starts_at: number;
  first_at: number;
  last_at: number;
}

/** The span that a whole day lies in. */
export function spanOfDay(spans: Spans, day: number): Span | null {
  const span = spans.at(day);
  return span !== null && span.to >= day + dayMs ? span : null;
}

/** Where the hour of a row counts: in one span, in none, or divided. */
function placeOf(spans: Spans, { starts_at, first_at, last_at }: Extent): Span | null | 'divided' {
  const whole = spans.at(starts_at);
  if (whole !== null && whole.to >= starts_at + hourMs) return whole;
  const first = spans.at(first_at);
  const last = spans.at(last_at);
  if (first !== null && last !== null && first.from === last.from) return first;
  return last_at < spans.from || first_at >= spans.to ? null : 'divided';
}

export interface PlacedHours<Row> {
  counted: { row: Row; span: Span }[];
  /** Hours whose results have to be read one by one. */
  divided: Set<number>;
}

/**
 * Assigns the rows of hours to spans. All results since `rawFrom` are still stored. `uncertain` are
 * hours with results that changed after their roll-up.
 */
export function placeHours<Row extends Extent>(
  spans: Spans,
  rows: readonly Row[],
  rawFrom: number,
  uncertain: ReadonlySet<number>,
): PlacedHours<Row> {
  const divided = new Set(uncertain);
  const counted: { row: Row; span: Span }[] = [];
  for (const [hour, ofHour] of Map.groupBy(rows, ({ starts_at }) => starts_at)) {
    if (divided.has(hour)) continue;
    const places = ofHour.map((row) => placeOf(spans, row));
    if (places.includes('divided') && hour >= rawFrom) {
      divided.add(hour);
      continue;
    }
    for (const [index, row] of ofHour.entries()) {
      const place = places[index] ?? null;
      const span = place === 'divided' ? spans.at(hour) : place;
      if (span !== null) counted.push({ row, span });
    }
  }
  return { counted, divided };
}

/** More ranges than this are read as one range. */
const maxRanges = 8;

/** A range without some of its days, as few ranges. */
export function withoutDays({ from, to }: Window, days: ReadonlySet<number>): Window[] {
  const ranges: Window[] = [];
  let start = from;
  for (const day of [...days].sort((left, right) => left - right)) {
    if (day > start) ranges.push({ from: start, to: Math.min(to, day) });
    start = Math.max(start, day + dayMs);
  }
  if (start < to) ranges.push({ from: start, to });
  return ranges.length > maxRanges ? [{ from, to }] : ranges;
}

/** Hours as ranges, newest first, clipped to a window. */
export function rangesOf(hours: ReadonlySet<number>, { from, to }: Window): Window[] {
  const ranges: Window[] = [];
  for (const hour of [...hours].sort((left, right) => left - right)) {
    const before = ranges.at(-1);
    if (before?.to === hour) before.to = hour + hourMs;
    else ranges.push({ from: hour, to: hour + hourMs });
  }
  return ranges
    .map((range) => ({ from: Math.max(from, range.from), to: Math.min(to, range.to) }))
    .filter((range) => range.from < range.to)
    .reverse();
}

/** From this instant on results are read instead of sums when spans are fine: a whole hour. */
export function fineFrom(spans: Spans, rawFrom: number): number {
  if (!spans.areFine) return Infinity;
  return spans.from >= rawFrom ? hourOf(spans.from) : hourOf(rawFrom - 1) + hourMs;
}
