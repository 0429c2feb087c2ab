/**
 * Notices time in which this process did not run. It ticks frequently during measurements and once
 * a second otherwise, and records intervals in a ledger, from which each attempt gets its share.
 */
import type { Clock } from '@monitor/shared/clock.ts';
import { afterTargetTime, socketsFirst } from '../net/deadline.ts';
import { openKernelTime, type KernelTime } from './kernel-time.ts';
import {
  measureInterval,
  minSuspensionMs,
  TimeLedger,
  type Interval,
  type TimeSample,
} from './time-ledger.ts';

const measuringEveryMs = 20;
const idleEveryMs = 1_000;
/** Length of a load sample. */
const loadEveryMs = 1_000;
/** Interval of readings of the boot-time clock; also read after a jump of the wall clock. */
const bootEveryMs = 1_000;
const minJumpMs = 500;
/** CPU shares are of so much time. */
const loadWindowMs = 60_000;
/** Later ticks are handled without waiting for the timer. */
const tickSlackMs = 5;
/** Smaller delays are not extended. */
const timerNoiseMs = 5;

/** Missing time of an attempt, in ms. */
export interface TimeFacts {
  /** The process was stopped, or the machine slept. */
  suspendedMs: number;
  /** The part of it that no measured time has: the machine slept. */
  asleepMs: number;
  /** It waited for a CPU, or was late because it was busy. */
  waitedMs: number;
  /** How much of that lay in the last so many ms, at most. */
  waitedWithin: (lastMs: number) => number;
}

export interface Suspension {
  /** On the monotonic clock. */
  endedAt: number;
  /** On the wall clock. */
  endedAtWall: number;
  lastedMs: number;
}

/** One measurement; ticks are frequent until it ends. */
export interface Measuring {
  /** The facts since it began: up to now, or unless `isExact` up to the last tick. */
  facts(isExact: boolean): TimeFacts;
  end(): void;
}

/** What the agent lacked of the processors of late, from 0 to 1; null where it is not known. */
export interface CpuShares {
  /** Of the time in which the main thread wanted a CPU: without one. */
  cpuWait: number | null;
  /** Of all time: its control group was throttled. */
  throttled: number;
}

export interface CpuLoad {
  /** Of the last minute. */
  shares: CpuShares;
  lastSuspension: { endedAt: number; lastedMs: number } | null;
}

interface LoadSample {
  at: number;
  lengthMs: number;
  runMs: number;
  cpuWaitMs: number;
  throttledMs: number;
}

export interface ProcessTimeOptions {
  /** The uncorrected clock of this machine: a jump of its wall clock may be sleep. */
  clock: Clock;
  /** The wall clock for displayed times. */
  now?: () => number;
  kernel?: KernelTime;
}

export class ProcessTime implements Disposable {
  readonly #clock: Clock;
  readonly #now: () => number;
  readonly #kernel: KernelTime;
  readonly #ledger: TimeLedger;
  readonly #listeners = new Set<(suspension: Suspension) => void>();
  #samples: LoadSample[] = [];
  #last: TimeSample;
  #boot: { wall: number; monotonic: number; boot: number | null };
  /** Sums since the last sample of load. */
  #sum: LoadSample = { at: 0, lengthMs: 0, runMs: 0, cpuWaitMs: 0, throttledMs: 0 };
  #lastSuspension: Suspension | null = null;
  #measuring = 0;
  #isWatching = false;
  #dueAt: number;
  #cancelTick: (() => void) | null = null;

  constructor({ clock, now = () => clock.now(), kernel = openKernelTime() }: ProcessTimeOptions) {
    this.#clock = clock;
    this.#now = now;
    this.#kernel = kernel;
    this.#boot = { wall: clock.now(), monotonic: clock.monotonic(), boot: kernel.boot() };
    this.#last = this.#read();
    this.#ledger = new TimeLedger(this.#last.monotonic);
    this.#sum.at = this.#dueAt = this.#last.monotonic;
    this.#sum.throttledMs = kernel.throttledMs();
  }

  /** Ticks also between measurements, until it is disposed. */
  watch(): void {
    this.#isWatching = true;
    this.#refresh();
    this.#arm();
  }

  [Symbol.dispose](): void {
    this.#isWatching = false;
    this.#cancelTick?.();
    this.#cancelTick = null;
    this.#kernel[Symbol.dispose]();
  }

  /** Called at the end of each suspension, before conclusions are drawn. */
  onSuspension(listener: (suspension: Suspension) => void): void {
    this.#listeners.add(listener);
  }

  /** How the process fared in the last minute. */
  get load(): CpuLoad {
    const from = this.#last.monotonic - loadWindowMs;
    const seen = this.#samples.filter(({ at }) => at > from);
    const sumOf = (of: (sample: LoadSample) => number): number =>
      seen.reduce((total, sample) => total + of(sample), 0);
    const [waited, ran] = [sumOf(({ cpuWaitMs }) => cpuWaitMs), sumOf(({ runMs }) => runMs)];
    const lengthMs = sumOf((sample) => sample.lengthMs);
    const last = this.#lastSuspension;
    return {
      shares: {
        cpuWait: waited + ran === 0 ? null : waited / (waited + ran),
        throttled: lengthMs === 0 ? 0 : Math.min(1, sumOf((one) => one.throttledMs) / lengthMs),
      },
      lastSuspension:
        last === null ? null : { endedAt: last.endedAtWall, lastedMs: Math.round(last.lastedMs) },
    };
  }

  /** True when a suspension ended within this time. */
  wasSuspendedWithin(ms: number): boolean {
    this.#refresh();
    const last = this.#lastSuspension;
    return last !== null && this.#clock.monotonic() - last.endedAt < ms;
  }

  begin(): Measuring {
    this.#refresh();
    this.#measuring += 1;
    // The next tick would be too late for the exact time.
    if (this.#measuring === 1) {
      this.#tick();
      this.#arm();
    }
    const from = this.#clock.monotonic();
    const { mark } = this.#ledger;
    let isOver = false;
    return {
      facts: (isExact) => {
        if (isExact) this.#tick();
        else this.#refresh();
        const { suspendedMs, stoppedMs, waitedMs } = this.#ledger.since(mark, from);
        const asleepMs = suspendedMs - stoppedMs;
        return { suspendedMs, asleepMs, waitedMs, waitedWithin: () => waitedMs };
      },
      end: () => {
        if (isOver) return;
        isOver = true;
        this.#measuring -= 1;
        if (this.#measuring === 0) this.#arm();
      },
    };
  }

  /**
   * A clock of the running time of this process: its monotonic time stops during suspensions, and its
   * delays are extended by them, and by waiting time up to twice their length. For protocols whose other
   * side could not be heard meanwhile.
   */
  running(clock: Clock): Clock {
    return {
      now: () => clock.now(),
      monotonic: () => {
        this.#refresh();
        return clock.monotonic() - this.#ledger.mark.stoppedMs;
      },
      after: (delayMs, callback) => {
        const begunAt = this.#clock.monotonic();
        const { mark } = this.#ledger;
        return afterTargetTime(
          socketsFirst(clock),
          delayMs,
          () => {
            this.#refresh();
            const { stoppedMs, waitedMs } = this.#ledger.since(mark, begunAt);
            const owedMs = stoppedMs + Math.min(waitedMs, delayMs);
            return owedMs < timerNoiseMs ? 0 : owedMs;
          },
          callback,
        );
      },
    };
  }

  #read(): TimeSample {
    const kernel = this.#kernel;
    const monotonic = this.#clock.monotonic();
    // First: a stop while the rest is read belongs to the next interval.
    const boot = this.#bootAt(monotonic);
    return { monotonic, boot, main: kernel.main(), poolWaitMs: kernel.poolWaitMs() };
  }

  /**
   * Null without a boot-time clock. While the wall clock follows the monotonic one, the machine has
   * not slept.
   */
  #bootAt(monotonic: number): number | null {
    const { boot, ...known } = this.#boot;
    const wall = this.#clock.now();
    const passedMs = monotonic - known.monotonic;
    const jumpMs = Math.abs(wall - known.wall - passedMs);
    if (passedMs < bootEveryMs && jumpMs < minJumpMs) return boot === null ? null : boot + passedMs;
    this.#boot = { wall, monotonic, boot: this.#kernel.boot() };
    return this.#boot.boot;
  }

  /** Sets the timer of the next tick. */
  #arm(): void {
    const now = this.#clock.monotonic();
    // A process that is stopped within a tick would otherwise be on time for the next one.
    if (now > this.#dueAt + tickSlackMs) this.#tick();
    this.#cancelTick?.();
    this.#cancelTick = null;
    if (this.#measuring === 0 && !this.#isWatching) return;
    const everyMs = this.#measuring > 0 ? measuringEveryMs : idleEveryMs;
    this.#dueAt = now + everyMs;
    this.#cancelTick = this.#clock.after(everyMs, () => {
      this.#tick();
      this.#arm();
    });
  }

  /** Ticks at once when the next tick is overdue. */
  #refresh(): void {
    if (this.#clock.monotonic() > this.#dueAt + tickSlackMs) this.#tick();
  }

  #tick(): void {
    const before = this.#last;
    const after = this.#read();
    // A tick that is not due is on time; without a timer nothing can be late.
    const isTimed = this.#cancelTick !== null;
    const interval = measureInterval(before, after, isTimed ? this.#dueAt : after.monotonic);
    this.#last = after;
    if (after.monotonic > this.#dueAt) this.#dueAt = after.monotonic;
    this.#ledger.add(interval, after.monotonic);
    this.#addLoad(interval, after.monotonic);
    if (interval.suspendedMs >= minSuspensionMs) {
      const suspension: Suspension = {
        endedAt: after.monotonic,
        endedAtWall: this.#now(),
        lastedMs: interval.suspendedMs,
      };
      this.#lastSuspension = suspension;
      for (const listener of this.#listeners) listener(suspension);
    }
  }

  #addLoad({ lengthMs, stoppedMs, runMs, cpuWaitMs }: Interval, at: number): void {
    const sum = this.#sum;
    sum.lengthMs += lengthMs - stoppedMs;
    sum.runMs += runMs;
    sum.cpuWaitMs += cpuWaitMs;
    if (at - sum.at < loadEveryMs) return;
    this.#kernel.findThreads();
    const throttledMs = this.#kernel.throttledMs();
    this.#samples = this.#samples.filter((sample) => sample.at > at - loadWindowMs);
    this.#samples.push({ ...sum, at, throttledMs: Math.max(0, throttledMs - sum.throttledMs) });
    this.#sum = { at, throttledMs, lengthMs: 0, runMs: 0, cpuWaitMs: 0 };
  }
}
