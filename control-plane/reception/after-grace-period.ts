import type { Reception } from './reception.ts';

/**
 * An operation that draws conclusions from what was not heard of, put off until agents have had the time
 * to hand in what they could not while nothing could be received. Gaps are on record before it runs.
 */
export function afterGracePeriod<T>(
  reception: Reception,
  run: () => Promise<T>,
): () => Promise<T | false> {
  return async () => {
    if (!reception.isGracePeriodOver()) return false;
    await reception.recorded();
    return run();
  };
}

/** An operation that goes by dates, or deletes by age, put off while the clock may be wrong. */
export function whileClockTrusted<T>(
  reception: Reception,
  run: () => Promise<T>,
): () => Promise<T | false> {
  return () => (reception.isClockTrusted() ? run() : Promise.resolve(false));
}
