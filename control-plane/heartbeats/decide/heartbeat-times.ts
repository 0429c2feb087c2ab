/** When a heartbeat monitor was failing. Instants in milliseconds. */
import type { Window } from '../../core/decide/results-window.ts';

export interface HeartbeatTimes {
  /** Its first event that is known. */
  firstAt: number;
  /** In order; the last one ends in the future while it lasts. */
  failing: readonly Window[];
}

function lengthOf(from: number, to: number): number {
  return Math.max(0, to - from);
}

/** Share of spans, as far as they have passed, in which it was not failing, in percent; null for none. */
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
