/**
 * Limits of time on a busy machine: none counts the time in which tasks waited for a CPU, up to a bound, since a
 * machine may be busy for ever. Where even that is too little, a limit that is reached says nothing.
 */
import { availableParallelism } from 'node:os';
import type { Clock } from '@monitor/shared/clock.ts';
import { kernelReader, throttledMs } from '../control-group.ts';
import { readPressure } from '../script-host/cpu-waits.ts';
import type { Machine } from './machine.ts';

/** How many times as long a limit becomes at most. */
const longestTimes = 5;
const mostThrottled = 1 - 1 / longestTimes;

/** Milliseconds in which tasks of this machine waited for a CPU, or this control group was not given one. */
export const cpuWaitMs = (): number => (readPressure() ?? 0) + throttledMs(kernelReader);

export function clockWithoutCpuWaits(clock: Clock, waitedMs: () => number): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after(delayMs, callback) {
      const began = clock.monotonic();
      const before = waitedMs();
      const look = (): void => {
        const moreMs = Math.min(waitedMs() - before, delayMs * (longestTimes - 1));
        const leftMs = began + delayMs + moreMs - clock.monotonic();
        if (leftMs < 1) callback();
        else cancel = clock.after(leftMs, look);
      };
      let cancel = clock.after(delayMs, look);
      return () => cancel();
    },
  };
}

/** The kernel's average of tasks that run or wait, which loses its past within a minute or so. */
const averageOverMs = 60_000;

/** Tells why limits of time say nothing here; null where they do. */
export function watchStarvation(machine: Machine, clock: Clock): () => string | null {
  const began = clock.monotonic();
  const before = throttledMs(machine);
  const load = (): number => Number((machine.read('/proc/loadavg') ?? '').split(' ')[0]);
  const loadBefore = load();
  return () => {
    // What was before doctor began is taken out again.
    const past = Math.exp((began - clock.monotonic()) / averageOverMs);
    const tasks = (load() - loadBefore * past) / (1 - past);
    const perCpu = Math.round(tasks / availableParallelism());
    if (perCpu > longestTimes) return `${perCpu} tasks want each CPU of this machine`;
    const share = (throttledMs(machine) - before) / (clock.monotonic() - began);
    return share > mostThrottled
      ? `its control group was throttled ${Math.round(share * 100)} % of the time`
      : null;
  };
}
