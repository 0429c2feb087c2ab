/**
 * A tick: the runs that a parallel check makes at one instant, one in each of its locations. They
 * count as one run. A tick is judged as soon as the rest cannot change the outcome: at once when
 * enough locations fail, otherwise when all have reported. It does not end with the next tick, since
 * a location that retries reports later than that and is the one that matters.
 */
import type { Condition } from './state.ts';

/** A fault of ours says nothing about the target. */
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
  /** Locations that have said something about the target. */
  conclusive: number;
  /** Locations that are expected to, with those. */
  expected: number;
  percentage: number | null;
}

/** How many of so many locations must fail: one, or the share that was asked for, rounded up. */
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
 * What a tick amounts to, or `open` while that depends on locations that have not reported. With
 * `isOver` nobody is waited for: those that reported decide.
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
