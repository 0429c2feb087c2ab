import type { Clock } from '@monitor/shared/clock.ts';

/** Agents that could not reach us try again within a minute, and then hand in what they have. */
const settlingMs = 90_000;

/**
 * An operation that draws conclusions from what was not heard of, put off until agents have had the time
 * to hand in what they could not while this process was not running.
 */
export function afterSettling(
  clock: Clock,
  run: () => Promise<boolean>,
  lastsMs = settlingMs,
): () => Promise<boolean> {
  const startedAt = clock.monotonic();
  return () => (clock.monotonic() - startedAt < lastsMs ? Promise.resolve(false) : run());
}
