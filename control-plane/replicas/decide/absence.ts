/**
 * When nobody was there. A replica that was away asks whether others received meanwhile: only time
 * without any replica is lost time. Instants in ms since the epoch.
 */

/** A replica is alive until its last sign of life is this old. */
export const aliveWithinMs = 10_000;
/** Three missed signs of life: the age of one says nothing about a replica that lives. */
const betweenSignsMs = 6_000;

export type AbsenceCause = 'down' | 'stopped' | 'machine-suspended' | 'database-away';

/** This replica could not receive, or not store, since an instant; null at its start. */
export interface Doubt {
  since: number | null;
  cause: AbsenceCause;
}

export interface SignOfLife {
  aliveAt: number;
  isStopped: boolean;
}

export interface Absence {
  from: number;
  to: number;
  cause: AbsenceCause;
}

export interface Verdict {
  /** The time without any replica; null without such time. */
  absence: Absence | null;
  /** True for a start at which no other replica is alive. */
  isColdStart: boolean;
}

/** Ends a doubt; `others` are all replicas but this one, `minMs` the shortest absence that counts. */
export function judgeDoubt(
  { since, cause }: Doubt,
  others: readonly SignOfLife[],
  now: number,
  minMs: number,
): Verdict {
  const newest = Math.max(Number.NEGATIVE_INFINITY, ...others.map(({ aliveAt }) => aliveAt));
  const isNotAlone = others.some(
    ({ aliveAt, isStopped }) => !isStopped && aliveAt > (since ?? now) - aliveWithinMs,
  );
  const from = Math.max(since ?? Number.NEGATIVE_INFINITY, newest);
  const isColdStart = since === null && !isNotAlone;
  const leastMs = isNotAlone ? betweenSignsMs : since === null ? 1 : minMs;
  // Beside others, a start says nothing about them.
  const counts = Number.isFinite(from) && now - from >= leastMs && (since !== null || isColdStart);
  return { absence: counts ? { from, to: now, cause } : null, isColdStart };
}

export interface Outage {
  from: number;
  to: number;
}

/** A balancer sends requests to a replica that does not answer for at most this long. */
const maxRoutedMs = 60_000;
/** Two signs of life are missing. */
export const unreachableAfterMs = 5_000;

/** The time in which requests to a replica may have been lost; null while it gives signs of life. */
export function outageOf({ aliveAt, isStopped }: SignOfLife, nextSignAt: number): Outage | null {
  if (isStopped || nextSignAt - aliveAt < unreachableAfterMs) return null;
  return { from: aliveAt, to: Math.min(nextSignAt, aliveAt + maxRoutedMs) };
}
