/** Failing times of a heartbeat monitor. Instants in milliseconds. */
import type { Window } from '../../core/decide/results-window.ts';

export interface HeartbeatTimes {
  /** Its first stored event. */
  firstAt: number;
  /** In order; while the monitor fails, the last one ends in the future. */
  failing: readonly Window[];
}

function lengthOf(from: number, to: number): number {
  return Math.max(0, to - from);
}

/**
 * Share of the past part of spans in which the monitor was not failing, in percent; null without
 * such time.
 */
export function availabilityWithin(
  { firstAt, failing }: HeartbeatTimes,
  spans: readonly Window[],
  now: number,
): number | null {
  let total = 0;
  let down = 0;
  for (const span of spans) {
    const from = Math.max(span.from, firstAt);
    const to = Math.min(span.to, now);
    total += lengthOf(from, to);
    for (const each of failing) {
      down += lengthOf(Math.max(from, each.from), Math.min(to, each.to));
    }
  }
  return total === 0 ? null : 100 * (1 - down / total);
}
