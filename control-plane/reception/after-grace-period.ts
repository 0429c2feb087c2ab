import type { Reception } from './reception.ts';

/**
 * Delays an operation that draws conclusions from missing data, until agents had time to send what
 * they could not send during a gap. Gaps are recorded before it runs.
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

/** Delays an operation that depends on dates or deletes by age while the clock is in doubt. */
export function whileClockTrusted<T>(
  reception: Reception,
  run: () => Promise<T>,
): () => Promise<T | false> {
  return () => (reception.isClockTrusted() ? run() : Promise.resolve(false));
}
