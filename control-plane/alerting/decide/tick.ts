/**
 * A tick is the set of runs that a parallel check makes at one instant, one in each of its
 * locations. They count as one run. A tick is decided as soon as the missing locations cannot
 * change the outcome: at once when enough locations fail, otherwise when all have reported. A newer
 * tick does not end it, because a location that retries reports late, and its result is the one
 * that matters.
 */
import type { Condition } from './state.ts';

/** An agent error is inconclusive: it says nothing about the target. */
export type Outcome = Condition | 'inconclusive';

export interface LocationResult {
  resultId: string;
  location: string;
  outcome: Outcome;
  stoppedAt: number;
}

export interface TickCount {
  failing: number;
  degraded: number;
  /** Locations with a conclusive result. */
  conclusive: number;
  /** Locations expected to report, including the conclusive ones. */
  expected: number;
  percentage: number | null;
}

/** How many locations must fail: one, or the configured share, rounded up. */
function neededOf(locations: number, percentage: number | null): number {
  return percentage === null ? 1 : Math.max(1, Math.ceil((locations * percentage) / 100));
}

export function countTick(
  results: readonly LocationResult[],
  expected: readonly string[],
  percentage: number | null,
): TickCount {
  const count = (outcome: Outcome) => results.filter((each) => each.outcome === outcome).length;
  const inconclusive = count('inconclusive');
  const locations = new Set([...expected, ...results.map(({ location }) => location)]);
  return {
    failing: count('failing'),
    degraded: count('degraded'),
    conclusive: results.length - inconclusive,
    expected: locations.size - inconclusive,
    percentage,
  };
}

/**
 * The outcome of a tick, or `open` while it depends on locations that have not reported. With
 * `isOver` the reports so far decide.
 */
export function judgeTick(count: TickCount, isOver: boolean): Outcome | 'open' {
  const { failing, degraded, conclusive, expected, percentage } = count;
  if (failing > 0 && failing >= neededOf(expected, percentage)) return 'failing';
  if (conclusive < expected && !isOver) return 'open';
  if (conclusive === 0) return 'inconclusive';
  const needed = neededOf(conclusive, percentage);
  if (failing >= needed) return 'failing';
  return degraded > 0 && failing + degraded >= needed ? 'degraded' : 'passing';
}
