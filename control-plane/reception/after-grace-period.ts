import type { Reception } from './reception.ts';

/**
 * Delays an operation that draws conclusions from missing data, until agents had time to send what
 * they could not send during a gap. Gaps are recorded before it runs.
 */
export function afterGracePeriod<Given extends unknown[], T>(
  reception: Reception,
  run: (...given: Given) => Promise<T>,
): (...given: Given) => Promise<T | false> {
  return async (...given) => {
    if (!reception.isGracePeriodOver()) return false;
    await reception.recorded();
    return run(...given);
  };
}

/** Delays an operation that depends on dates or deletes by age while the clock is in doubt. */
export function whileClockTrusted<Given extends unknown[], T>(
  reception: Reception,
  run: (...given: Given) => Promise<T>,
): (...given: Given) => Promise<T | false> {
  return (...given) => (reception.isClockTrusted() ? run(...given) : Promise.resolve(false));
}
