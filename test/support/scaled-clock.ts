import type { Clock } from '@monitor/shared/clock.ts';

/** A clock that runs `factor` times faster than the real one, wall and monotonic time alike. */
export function scaledClock(factor: number): Clock {
  const wall = Date.now();
  const start = performance.now();
  const elapsed = (): number => (performance.now() - start) * factor;
  return {
    now: () => Math.round(wall + elapsed()),
    monotonic: elapsed,
    after(delayMs, callback) {
      const timer = setTimeout(callback, Math.min(delayMs / factor, 2_147_483_647));
      return () => {
        clearTimeout(timer);
      };
    },
  };
}
