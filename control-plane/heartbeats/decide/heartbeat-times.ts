/** Failing times of a heartbeat monitor. Instants in milliseconds. */
import type { Window } from '../../core/decide/results-window.ts';

export interface HeartbeatTimes {
  /** Its first stored event. */
  firstAt: number;
  /** In order; while the monitor fails, the last one ends in the future. */
  failing: readonly Window[];
  /** The same of the times in which it was deactivated, which ends its failure. */
  paused: readonly Window[];
}

function lengthOf(from: number, to: number): number {
  return Math.max(0, to - from);
}

/**
 * Share of the past part of spans in which the monitor was not failing, in percent, of the time in which it was
 * active; null without such time.
 */
export function availabilityWithin(
  { firstAt, failing, paused }: HeartbeatTimes,
  spans: readonly Window[],
  now: number,
): number | null {
  let total = 0;
  let down = 0;
  for (const span of spans) {
    const from = Math.max(span.from, firstAt);
    const to = Math.min(span.to, now);
    const within = (all: readonly Window[]) =>
      all.reduce(
        (sum, each) => sum + lengthOf(Math.max(from, each.from), Math.min(to, each.to)),
        0,
      );
    total += lengthOf(from, to) - within(paused);
    down += within(failing);
  }
  return total === 0 ? null : 100 * (1 - down / total);
}
