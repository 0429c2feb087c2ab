/** A kernel whose accounts of CPU time are written by the test. Milliseconds. */
import type { Clock } from '@monitor/shared/clock.ts';
import type { KernelTime } from '../../agent/worker/kernel-time.ts';

export interface FakeKernel extends KernelTime {
  /** The main thread runs, waits for a CPU, or the machine sleeps. */
  ran(ms: number): void;
  waited(ms: number): void;
  slept(ms: number): void;
  throttled(ms: number): void;
  pressureIs(share: number): void;
}

export function fakeKernel(clock: Clock): FakeKernel {
  let [runMs, waitMs, turns, sleptMs, throttledMs, pressure] = [0, 0, 0, 0, 0, 0];
  return {
    boot: () => clock.monotonic() + sleptMs,
    main: () => ({ runMs, waitMs, turns }),
    poolWaitMs: () => [],
    findThreads: () => undefined,
    pressure: () => pressure,
    throttledMs: () => throttledMs,
    ran(ms) {
      runMs += ms;
      turns += 1;
    },
    waited(ms) {
      waitMs += ms;
    },
    slept(ms) {
      sleptMs += ms;
    },
    throttled(ms) {
      throttledMs += ms;
    },
    pressureIs(share) {
      pressure = share;
    },
    [Symbol.dispose]: () => undefined,
  };
}
