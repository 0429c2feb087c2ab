/**
 * Notices time in which this process did not run. It ticks frequently during measurements and once
 * a second otherwise, and records intervals in a ledger, from which each attempt gets its share.
 */
import type { Clock } from '@monitor/shared/clock.ts';
import { openKernelTime, type KernelTime } from './kernel-time.ts';
import {
  hiddenWaitMs,
  isStarved,
  overloadWindowMs,
  stepLoad,
  loadShares,
  type LoadSample,
  type LoadState,
} from './overload.ts';
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
/** Load before an attempt that counts too, so that a short attempt is not judged alone. */
const starvedWithinMs = 10_000;
/** Later ticks are handled without waiting for the timer. */
const tickSlackMs = 5;
/** Smaller delays are not extended. */
const timerNoiseMs = 5;

/** Missing time of an attempt, in ms. */
export interface TimeFacts {
  /** The process was stopped, or the machine slept. */
  suspendedMs: number;
  /** The agent waited for a CPU, or was late because it was busy. */
  waitedMs: number;
  /** Other processes of this machine may have waited too: times are in doubt. */
  isStarved: boolean;
  /** The possible waiting time of these processes. */
  hiddenWaitMs: number;
  /** The event loop lagged noticeably. */
  isLagging: boolean;
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

export interface Load {
  /** Start of the overload, on the wall clock; null without one. */
  overloadedSince: number | null;
  reason: string | null;
  /** Share of the last minute in which the main thread was runnable without a CPU. */
  cpuWaitRatio: number | null;
  lastSuspension: { endedAt: number; lastedMs: number } | null;
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
  #sum = { at: 0, lengthMs: 0, waitedMs: 0, runMs: 0, cpuWaitMs: 0, turns: 0, throttledMs: 0 };
  #loadState: LoadState = null;
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

  /** The load for status and check-ins. */
  get load(): Load {
    const { monotonic } = this.#last;
    const shares = loadShares(this.#samples, monotonic - overloadWindowMs, loadEveryMs);
    const last = this.#lastSuspension;
    return {
      overloadedSince: this.#loadState?.overloadedSince ?? null,
      reason: this.#loadState?.reason ?? null,
      cpuWaitRatio: shares?.cpuWait ?? null,
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
        const { suspendedMs, waitedMs, laggedMs } = this.#ledger.since(mark, from);
        const recently = from - starvedWithinMs;
        return {
          ...{ suspendedMs, waitedMs },
          isStarved: isExact && (this.#loadState !== null || isStarved(this.#samples, recently)),
          hiddenWaitMs: isExact ? hiddenWaitMs(this.#samples, recently) : 0,
          isLagging: laggedMs > 0 || suspendedMs > 0,
        };
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
   * A clock whose delays exclude time in which this process did not run: a delay is extended by
   * suspensions, and by waiting time up to twice its length. Sockets are read before an extended
   * delay ends.
   */
  patient(clock: Clock): Clock {
    return {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      after: (delayMs, callback) => {
        const from = clock.monotonic();
        const begunAt = this.#clock.monotonic();
        const { mark } = this.#ledger;
        let cancel: () => void;
        let isCancelled = false;
        let given = 0;
        const fire = (): void => {
          this.#refresh();
          const now = clock.monotonic();
          const { stoppedMs, waitedMs } = this.#ledger.since(mark, begunAt);
          const owedMs = stoppedMs + Math.min(waitedMs, delayMs);
          const moreMs = from + delayMs + owedMs - now;
          if (owedMs - given < timerNoiseMs) {
            callback();
            return;
          }
          given = owedMs;
          setImmediate(() => {
            if (isCancelled) return;
            if (moreMs >= 1) cancel = clock.after(moreMs, fire);
            else callback();
          });
        };
        cancel = clock.after(delayMs, fire);
        return () => {
          isCancelled = true;
          cancel();
        };
      },
    };
  }

  /**
   * A clock of the running time of this process: its monotonic time stops during suspensions, and
   * its delays are extended. For protocols whose other side could not be heard meanwhile.
   */
  running(clock: Clock): Clock {
    const patient = this.patient(clock);
    return {
      ...patient,
      monotonic: () => {
        this.#refresh();
        return clock.monotonic() - this.#ledger.mark.stoppedMs;
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

  #addLoad({ lengthMs, stoppedMs, waitedMs, runMs, cpuWaitMs, turns }: Interval, at: number): void {
    const sum = this.#sum;
    sum.lengthMs += lengthMs - stoppedMs;
    sum.waitedMs += waitedMs;
    sum.runMs += runMs;
    sum.cpuWaitMs += cpuWaitMs;
    sum.turns += turns;
    if (at - sum.at < loadEveryMs) return;
    const kernel = this.#kernel;
    kernel.findThreads();
    const throttledMs = kernel.throttledMs();
    this.#samples = this.#samples.filter((sample) => sample.at > at - overloadWindowMs);
    this.#samples.push({
      at,
      lengthMs: sum.lengthMs,
      waitedMs: sum.waitedMs,
      runMs: sum.runMs,
      cpuWaitMs: sum.cpuWaitMs,
      turns: sum.turns,
      throttledMs: Math.max(0, throttledMs - sum.throttledMs),
      pressure: kernel.pressure(),
    });
    this.#sum = { at, throttledMs, lengthMs: 0, waitedMs: 0, runMs: 0, cpuWaitMs: 0, turns: 0 };
    const wall = this.#now();
    this.#loadState = stepLoad(this.#loadState, this.#samples, { now: at, wall });
  }
}
