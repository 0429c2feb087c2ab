import { invalidQuery } from '../errors/api-error.ts';
import { resolveWindow, type Window } from './decide/results-window.ts';

/** The window of the query parameters `from` and `to`, or 400 with the name of the field. */
export function windowOf(
  query: { from?: number | undefined; to?: number | undefined },
  now: number,
  spanMs: number,
  maxMs: number = spanMs,
): Window {
  const window = resolveWindow(query, now, spanMs, maxMs);
  if ('from' in window) return window;
  throw invalidQuery(window.field, window.problem);
}
