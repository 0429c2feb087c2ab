import type { Clock } from '@monitor/shared/clock.ts';

/** A stall of the process counts as this long at most, in real time. */
const maxStepMs = 6;
const tickMs = 3;

let counted = 0;
let countedAt = performance.now();
/** All clocks of the process count together, and none does while there is none. */
let clocks = 0;
let ticking: NodeJS.Timeout | undefined;

function count(): number {
  const now = performance.now();
  counted += Math.min(now - countedAt, maxStepMs);
  countedAt = now;
  return counted;
}

/**
 * A clock that runs `factor` times faster than the real one, wall and monotonic time alike. While
 * the process is stuck or gets no processor the clock stands still, since half a second of that
 * would be half a minute in which whoever holds the clock did nothing.
 */
export function scaledClock(factor: number): Clock & Disposable {
  const wall = Date.now();
  const begun = count();
  const elapsed = (): number => (count() - begun) * factor;
  clocks += 1;
  let isDisposed = false;
  ticking ??= setInterval(count, tickMs).unref();
  return {
    now: () => Math.round(wall + elapsed()),
    monotonic: elapsed,
    after(delayMs, callback) {
      const due = elapsed() + delayMs;
      let timer: NodeJS.Timeout;
      const wait = (): void => {
        const leftMs = due - elapsed();
        if (leftMs <= 0) callback();
        else timer = setTimeout(wait, Math.min(leftMs / factor, 2_147_483_647));
      };
      timer = setTimeout(wait, Math.min(delayMs / factor, 2_147_483_647));
      return () => {
        clearTimeout(timer);
      };
    },
    [Symbol.dispose]() {
      if (isDisposed) return;
      isDisposed = true;
      clocks -= 1;
      if (clocks > 0) return;
      clearInterval(ticking);
      ticking = undefined;
    },
  };
}
