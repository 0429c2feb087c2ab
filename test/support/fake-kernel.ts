/** A kernel whose accounts of CPU time are written by the test. Milliseconds. */
import type { Clock } from '@monitor/shared/clock.ts';
import type { KernelTime } from '../../agent/worker/kernel-time.ts';

export interface FakeKernel extends KernelTime {
  /** The main thread runs, waits for a CPU, or the machine sleeps. */
  ran(ms: number): void;
  waited(ms: number): void;
  slept(ms: number): void;
  throttled(ms: number): void;
}

export function fakeKernel(clock: Clock): FakeKernel {
  let [runMs, waitMs, sleptMs, throttledMs] = [0, 0, 0, 0];
  return {
    boot: () => clock.monotonic() + sleptMs,
    main: () => ({ runMs, waitMs }),
    poolWaitMs: () => [],
    findThreads: () => undefined,
    throttledMs: () => throttledMs,
    ran(ms) {
      runMs += ms;
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
    [Symbol.dispose]: () => undefined,
  };
}
