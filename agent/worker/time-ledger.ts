/**
 * Measures the missing time of this process in an interval. Pure: samples of the clocks and of the
 * kernel scheduler come in, and the usage of any interval comes out.
 *
 *   suspended  the process was stopped (SIGSTOP, a frozen container) or the machine slept: nothing ran
 *   waited     a thread waited for a CPU, or the event loop was late because it was busy
 *
 * A stopped thread neither runs nor waits for a CPU, which distinguishes the two.
 */

import type { ThreadTimes } from '../native/schedstat.ts';

/** The clocks and kernel counters at one moment. Milliseconds. */
export interface TimeSample {
  monotonic: number;
  /** Time since boot including sleep; null where unknown. */
  boot: number | null;
  /** The event loop thread; null where unknown. */
  main: ThreadTimes | null;
  /** Waiting time of each thread of the libuv pool. */
  poolWaitMs: readonly number[];
}

/** The time between two samples. Milliseconds. */
export interface Interval {
  lengthMs: number;
  suspendedMs: number;
  /** The part that the monotonic clock counted: the process was stopped, but not the machine. */
  stoppedMs: number;
  waitedMs: number;
  /** Running and waiting time of the main thread. */
  runMs: number;
  cpuWaitMs: number;
}

/** A shorter stop is a delay like any other. */
export const minSuspensionMs = 1_000;
/** Timers have a resolution of a millisecond. */
const timerSlackMs = 1.5;

const since = (before: number | undefined, after: number | undefined): number =>
  Math.max(0, (after ?? 0) - (before ?? after ?? 0));

/** Explains an interval that ended with a tick due at `dueAt`, on the monotonic clock. */
export function measureInterval(before: TimeSample, after: TimeSample, dueAt: number): Interval {
  const lengthMs = Math.max(0, after.monotonic - before.monotonic);
  const runMs = since(before.main?.runMs, after.main?.runMs);
  const cpuWaitMs = since(before.main?.waitMs, after.main?.waitMs);
  const overdueMs = Math.min(lengthMs, Math.max(0, after.monotonic - dueAt));
  const unexplainedMs = overdueMs - runMs - cpuWaitMs;
  const stoppedMs = unexplainedMs >= minSuspensionMs ? unexplainedMs : 0;
  const sleptMs =
    before.boot === null || after.boot === null ? 0 : after.boot - before.boot - lengthMs;
  const asleepMs = sleptMs >= minSuspensionMs ? sleptMs : 0;
  const lateMs = Math.max(0, overdueMs - stoppedMs - timerSlackMs);
  const poolMs = after.poolWaitMs.map((waited, index) => since(before.poolWaitMs[index], waited));
  return {
    lengthMs,
    suspendedMs: stoppedMs + asleepMs,
    stoppedMs,
    // They overlap mostly: the loop is late because its thread waited.
    waitedMs: Math.min(lengthMs - stoppedMs, Math.max(lateMs, cpuWaitMs, ...poolMs)),
    runMs,
    cpuWaitMs,
  };
}

export interface TimeUsage {
  suspendedMs: number;
  stoppedMs: number;
  waitedMs: number;
}

/** Totals since the ledger was opened; `next` keeps later entries for intervals that began here. */
interface Entry extends TimeUsage {
  at: number;
  next: Entry | null;
}

export type LedgerMark = Readonly<Entry>;

const combine = (
  left: TimeUsage,
  right: TimeUsage,
  by: (left: number, right: number) => number,
): TimeUsage => ({
  suspendedMs: by(left.suspendedMs, right.suspendedMs),
  stoppedMs: by(left.stoppedMs, right.stoppedMs),
  waitedMs: by(left.waitedMs, right.waitedMs),
});

/** The usage at an instant between two entries, interpolated linearly. */
function usageAt(entry: LedgerMark, instant: number): TimeUsage {
  const { next } = entry;
  if (next === null || instant <= entry.at || next.at <= entry.at) return entry;
  const share = Math.min(1, (instant - entry.at) / (next.at - entry.at));
  return combine(entry, next, (from, to) => from + (to - from) * share);
}

export class TimeLedger {
  #last: Entry;

  constructor(at: number) {
    this.#last = { at, suspendedMs: 0, stoppedMs: 0, waitedMs: 0, next: null };
  }

  /** The newest entry, from which a new interval is counted. */
  get mark(): LedgerMark {
    return this.#last;
  }

  /** Adds the interval that ended at an instant on the monotonic clock. */
  add(interval: Interval, at: number): void {
    const last = this.#last;
    this.#last = last.next = {
      ...combine(last, interval, (before, more) => before + more),
      at,
      next: null,
    };
  }

  /** The usage from an instant to the newest entry. `mark` is from the start of the interval. */
  since(mark: LedgerMark, from: number): TimeUsage {
    const start = usageAt(mark, from);
    return combine(this.#last, start, (end, begin) => Math.max(0, end - begin));
  }
}
