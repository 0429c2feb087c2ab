/** The window of time a list covers. Instants in ms; `to` is exclusive. */

export interface Window {
  from: number;
  to: number;
}

/**
 * Spec: Limits, check results time window; Alert notifications list. `from` defaults to a span before
 * `to`, or before now; `to` to a span after `from`. Gives the field that is wrong when the window is
 * longer than `maxMs` or ends before it begins.
 */
export function resolveWindow(
  given: { from?: number | undefined; to?: number | undefined },
  now: number,
  spanMs: number,
  maxMs: number,
): Window | { field: 'from' | 'to'; problem: string } {
  const from = given.from ?? (given.to ?? now) - spanMs;
  const to = given.to ?? from + spanMs;
  if (to < from) return { field: 'to', problem: 'must not be before "from"' };
  if (to - from > maxMs) {
    return { field: 'to', problem: `must be at most ${maxMs / 3_600_000} hours after "from"` };
  }
  // Without either, what arrives in this very moment belongs to the window too.
  return given.from === undefined && given.to === undefined
    ? { from, to: to + 60_000 }
    : { from, to };
}
