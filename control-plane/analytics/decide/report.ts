/**
 * Reports: the days, weeks or months of a window in a time zone, the part of them that counts, and
 * the rest of the error budget. Instants and durations in milliseconds unless named otherwise.
 */
import { DateTime } from 'luxon';
import {
  maxReportBuckets,
  maxReportDays,
  type Granularity,
} from '@monitor/shared/contract/reporting.ts';
import { rounded } from './analytics.ts';
import type { Window } from '../../core/decide/results-window.ts';
import type { Span } from './roll-ups/spans.ts';

/** The end of a window may be off by an hour where clocks change. */
const maxMs = maxReportDays * 86_400_000 + 3_600_000;

/**
 * The days, weeks (from Monday) or months of a zone that a window touches, clipped to it, in order.
 * Gives the field that asks for too many.
 */
export function reportBuckets(
  window: Window,
  granularity: Granularity,
  zone: string,
): Window[] | { field: 'from' | 'granularity'; problem: string } {
  if (window.to - window.from > maxMs) {
    return { field: 'from', problem: `must be at most ${maxReportDays} days before the end` };
  }
  const buckets: Window[] = [];
  let start = DateTime.fromMillis(window.from, { zone }).startOf(granularity);
  while (start.toMillis() < window.to) {
    // From the start of the next one rather than so many hours later: clocks change.
    const next = start.plus({ [granularity]: 1 }).startOf(granularity);
    const bucket = {
      from: Math.max(window.from, start.toMillis()),
      to: Math.min(window.to, next.toMillis()),
    };
    if (bucket.from < bucket.to) buckets.push(bucket);
    start = next;
  }
  if (buckets.length <= maxReportBuckets) return buckets;
  return {
    field: 'granularity',
    problem: `gives ${buckets.length} buckets; at most ${maxReportBuckets} are allowed`,
  };
}

/** The buckets without maintenance, as spans keyed by the index of their bucket. */
export function spansWithout(
  buckets: readonly Window[],
  maintenance: readonly { startsAt: number; endsAt: number }[],
): Span[] {
  const holes = [...maintenance].sort((left, right) => left.startsAt - right.startsAt);
  return buckets.flatMap(({ from, to }, key) => {
    const spans: Span[] = [];
    let start = from;
    for (const { startsAt, endsAt } of holes) {
      if (startsAt >= to) break;
      if (endsAt <= start) continue;
      if (startsAt > start) spans.push({ from: start, to: startsAt, key });
      start = Math.min(to, endsAt);
    }
    if (start < to) spans.push({ from: start, to, key });
    return spans;
  });
}

/** Time within spans for which a check had to be up: since its creation, until now. */
export function coveredMs(spans: readonly Window[], createdAt: number, now: number): number {
  return spans.reduce(
    (sum, { from, to }) => sum + Math.max(0, Math.min(to, now) - Math.max(from, createdAt)),
    0,
  );
}

export interface ServiceLevel {
  target: number;
  isMet: boolean;
  downtimeMinutes: number;
  errorBudget: {
    allowedMinutes: number;
    usedMinutes: number;
    remainingMinutes: number;
    usedPercent: number | null;
  };
}

const inMinutes = (ms: number): number => rounded(ms / 60_000) ?? 0;

/**
 * Compares a success ratio (in percent) with its objective. For 30 days, 99.9 % allow 43.2 minutes;
 * a check with 0.05 % failed results has used half of them.
 */
export function serviceLevel(
  target: number,
  successRatio: number | null,
  ofMs: number,
): ServiceLevel | null {
  if (successRatio === null) return null;
  const allowedMs = ((100 - target) / 100) * ofMs;
  const usedMs = ((100 - successRatio) / 100) * ofMs;
  return {
    target,
    isMet: successRatio >= target,
    downtimeMinutes: inMinutes(usedMs),
    errorBudget: {
      allowedMinutes: inMinutes(allowedMs),
      usedMinutes: inMinutes(usedMs),
      remainingMinutes: inMinutes(allowedMs - usedMs),
      usedPercent: allowedMs === 0 ? null : rounded((100 * usedMs) / allowedMs),
    },
  };
}
