import type { Clock } from '@monitor/shared/clock.ts';

/** Below this the difference is noise of the network, not of a clock. */
const tolerableMs = 2_000;
const jumpMs = 1_000;

/**
 * The wall clock of this machine, corrected. A clock that is seconds away from the control plane's
 * would put slots and results at the wrong moments, and one that is set while we run would skip or
 * repeat slots. So a jump of the wall clock against the monotonic one is taken out at once, and the
 * offset measured at check-ins takes its place when it is large enough to be real.
 */
export class CorrectedClock implements Clock {
  readonly #clock: Clock;
  #correctionMs = 0;
  #lastWall: number;
  #lastMonotonic: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastWall = clock.now();
    this.#lastMonotonic = clock.monotonic();
  }

  now(): number {
    const wall = this.#clock.now();
    const monotonic = this.#clock.monotonic();
    const jump = wall - this.#lastWall - (monotonic - this.#lastMonotonic);
    if (Math.abs(jump) > jumpMs) this.#correctionMs -= jump;
    this.#lastWall = wall;
    this.#lastMonotonic = monotonic;
    return Math.round(wall + this.#correctionMs);
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  after(delayMs: number, callback: () => void): () => void {
    return this.#clock.after(delayMs, callback);
  }

  /**
   * Takes a measurement of the control plane's clock minus this one, and by how much it may be wrong.
   * Gives true when it was large enough to be followed.
   */
  observeOffset(offsetMs: number, uncertaintyMs = 0): boolean {
    if (Math.abs(offsetMs) <= tolerableMs + uncertaintyMs) return false;
    this.#correctionMs += offsetMs;
    return true;
  }
}
