/** The time window of a list. Instants in ms; `to` is exclusive. */

export interface Window {
  from: number;
  to: number;
}

/**
 * Spec: Limits, check results time window; Alert notifications list. By default `from` is one span
 * before `to` (or now), and `to` one span after `from`. Gives the invalid field when the window is
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
  // Without `from` and `to`, a result that arrives in this millisecond belongs to the window too.
  return given.from === undefined && given.to === undefined
    ? { from, to: to + 60_000 }
    : { from, to };
}
