import type { Clock } from '@monitor/shared/clock.ts';

/** Smaller differences are network noise. */
const tolerableMs = 2_000;
const jumpMs = 1_000;
/** Two clocks that are read further apart than this do not belong together. */
const togetherMs = 100;
/** A machine that is too slow even for that is not waited for. */
const maxReads = 10;

/**
 * The wall clock of this machine, corrected. A clock that is seconds off would put slots and
 * results at wrong moments, and a clock that is set during operation would skip or repeat slots. So
 * a jump of the wall clock against the monotonic clock is removed at once, except for sleep of the
 * machine, and the offset measured at check-ins is applied when it is larger than noise.
 */
export class CorrectedClock implements Clock {
  readonly #clock: Clock;
  readonly #boot: () => number | null;
  #correctionMs = 0;
  #lastWall: number;
  #lastMonotonic: number;
  /** Boot-time clock minus monotonic clock: the sleep of the machine plus a constant. */
  #bootedAwake: number | null;
  #sleptMs = 0;

  /** `boot` gives the time since boot including sleep, in ms; null if unknown. */
  constructor(clock: Clock, boot: () => number | null = () => null) {
    this.#clock = clock;
    this.#boot = boot;
    const booted = boot();
    this.#bootedAwake = booted === null ? null : booted - clock.monotonic();
    const { wall, monotonic } = this.#read();
    this.#lastWall = wall;
    this.#lastMonotonic = monotonic;
  }

  now(): number {
    const { wall, monotonic } = this.#read();
    const jump = wall - this.#lastWall - (monotonic - this.#lastMonotonic);
    if (Math.abs(jump) > jumpMs) this.#correctionMs -= jump - this.#sleepSince(monotonic);
    this.#lastWall = wall;
    this.#lastMonotonic = monotonic;
    return Math.round(wall + this.#correctionMs);
  }

  /** A process that is stopped between two readings would take the stop for a jump of the wall clock. */
  #read(): { wall: number; monotonic: number } {
    let monotonic = this.#clock.monotonic();
    for (let reads = 1; ; reads += 1) {
      const wall = this.#clock.now();
      const after = this.#clock.monotonic();
      if (after - monotonic <= togetherMs || reads === maxReads) return { wall, monotonic: after };
      monotonic = after;
    }
  }

  /** Sleep of the machine, which the monotonic clock does not count. */
  #sleepSince(monotonic: number): number {
    const awakeSince = this.#bootedAwake;
    const boot = this.#boot();
    if (boot === null || awakeSince === null) return 0;
    const sleptMs = boot - monotonic - awakeSince;
    this.#bootedAwake = boot - monotonic;
    if (sleptMs <= jumpMs) return 0;
    this.#sleptMs += sleptMs;
    return sleptMs;
  }

  /** Milliseconds that have passed, including sleep of the machine. Only goes forward. */
  elapsed(): number {
    // Counts a sleep that nobody has noticed yet.
    this.now();
    return this.#clock.monotonic() + this.#sleptMs;
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  after(delayMs: number, callback: () => void): () => void {
    return this.#clock.after(delayMs, callback);
  }

  /**
   * Takes a measured offset (control plane minus this clock) with its error bound. True when it was
   * applied.
   */
  observeOffset(offsetMs: number, uncertaintyMs = 0): boolean {
    if (Math.abs(offsetMs) <= tolerableMs + uncertaintyMs) return false;
    this.#correctionMs += offsetMs;
    return true;
  }
}
