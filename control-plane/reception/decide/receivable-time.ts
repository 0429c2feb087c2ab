/**
 * Receivable time: the time in which this process could have received something. Silence proves nothing
 * about the rest. The clocks are read every second and compared:
 *
 *   the reading comes late        the process was stopped, or its event loop was blocked
 *   boot time is ahead            the machine was suspended: its monotonic clock stood still
 *   only the wall clock differs   it was set; no time passed
 *
 * Instants are milliseconds of the wall clock unless said.
 */

/** The clocks at one moment. `boot` counts suspensions of the machine too; null where nothing says it. */
export interface Reading {
  wall: number;
  monotonic: number;
  boot: number | null;
}

export type GapCause = 'stopped' | 'machine-suspended' | 'down' | 'disk-full' | 'clock-step';

/** A stretch in which nothing could be received, or a step of the wall clock. */
export interface Gap {
  cause: GapCause;
  /** The last instant before it, and the first one after it. A step back ends before it begins. */
  from: number;
  to: number;
  /** Time that did pass; 0 for a step. */
  lostMs: number;
  /** By how much the wall clock was set; 0 for all but a step. */
  stepMs: number;
}

/** Shorter gaps move no deadline. */
export const minGapMs = 2_000;
/** A reading that is later than this came after a stall: what waits in the sockets is read first. */
const stallMs = 250;
/** Uptimes are given in hundredths of a second, in whole seconds by some. */
const suspensionToleranceMs = 1_500;

function gapOf(cause: GapCause, from: number, lostMs: number): Gap {
  return { cause, from, to: from + lostMs, lostMs, stepMs: 0 };
}

function stepOf(from: number, to: number): Gap[] {
  const stepMs = to - from;
  return Math.abs(stepMs) < minGapMs ? [] : [{ cause: 'clock-step', from, to, lostMs: 0, stepMs }];
}

/** How much later than after `everyMs` the second reading was made, in ms of the monotonic clock. */
export function lateBy(before: Reading, after: Reading, everyMs: number): number {
  return Math.max(0, after.monotonic - before.monotonic - everyMs);
}

/** Whether requests may wait in the sockets that have not been read. */
export function isStall(lateMs: number): boolean {
  return lateMs >= stallMs;
}

/** What happened between two readings of one process that are to be made every so often. */
export function gapsBetween(before: Reading, after: Reading, everyMs: number): Gap[] {
  const ranMs = after.monotonic - before.monotonic;
  const bootMs = before.boot === null || after.boot === null ? ranMs : after.boot - before.boot;
  const suspendedMs = bootMs - ranMs > suspensionToleranceMs ? bootMs - ranMs : 0;
  const lateMs = lateBy(before, after, everyMs);
  const isSuspension = suspendedMs > lateMs;
  const lostMs = lateMs + suspendedMs;
  const from = before.wall + ranMs - lateMs;
  const elapsed = before.wall + ranMs + suspendedMs;
  return [
    ...(lostMs < minGapMs
      ? []
      : [gapOf(isSuspension ? 'machine-suspended' : 'stopped', from, lostMs)]),
    ...stepOf(elapsed, after.wall),
  ];
}

/** What is known of the last moment of a process that has ended. */
export interface LastAlive {
  wall: number;
  /** Boot time then, and what tells one start of the machine from another; null where nothing says it. */
  boot: { id: string; ms: number } | null;
}

/**
 * What happened between the end of a process and the start of the next. After a restart of the machine
 * nothing tells a long pause from a clock that was set forward: both are time that does not count.
 */
export function gapsOverRestart(before: LastAlive, after: LastAlive): Gap[] {
  const isSameBoot = before.boot !== null && before.boot.id === after.boot?.id;
  const bootMs = isSameBoot ? (after.boot?.ms ?? 0) - (before.boot?.ms ?? 0) : -1;
  // In a container uptime may begin anew while the machine runs on.
  const downMs = bootMs >= 0 ? bootMs : Math.max(0, after.wall - before.wall);
  return [
    // However short it was: what was sent meanwhile was refused.
    ...(downMs > 0 ? [gapOf('down', before.wall, downMs)] : []),
    ...stepOf(before.wall + downMs, after.wall),
  ];
}

/** By how much deadlines on the wall clock move, in ms; negative after a step back. */
export function shiftOf({ lostMs, stepMs }: Gap): number {
  return lostMs + stepMs;
}

/**
 * Time lost since an instant that was moved with every step of the clock, in ms. `gaps` in the order in
 * which they happened.
 */
export function lostSince(instant: number, gaps: readonly Gap[]): number {
  let lostMs = 0;
  let movedMs = 0;
  for (const gap of gaps.toReversed()) {
    if (gap.to + movedMs <= instant) break;
    lostMs += Math.min(gap.lostMs, gap.to + movedMs - instant);
    movedMs += gap.stepMs;
  }
  return lostMs;
}

/** A shorter pause loses no request: its sender waits as long for the answer, and is heard afterwards. */
const minLossMs = 8_000;

/** Whether what was sent during a gap may be lost. */
export function losesRequests({ cause, lostMs }: Gap): boolean {
  return lostMs > 0 && (cause !== 'stopped' || lostMs >= minLossMs);
}

/**
 * Receivable time since an instant that was written down then, in ms. `gaps` in the order in which they
 * happened. An instant that two stretches have, since the clock was set back between them, is taken for
 * the newer one. One from the future is now.
 */
export function receivableSince(instant: number, now: number, gaps: readonly Gap[]): number {
  let passedMs = 0;
  let end = now;
  for (const { from, to } of gaps.toReversed()) {
    if (instant >= to && instant <= end) return passedMs + end - instant;
    if (instant > from && instant < to) return passedMs + Math.max(0, end - to);
    passedMs += Math.max(0, end - to);
    end = from;
  }
  return instant <= end ? passedMs + end - instant : 0;
}

const maxGracePeriodMs = 90_000;
/** However often there are gaps: after so long without a settled moment, conclusions are drawn again. */
const maxGraceInAllMs = 10 * 60_000;

/** On the monotonic clock of the process. */
export interface GracePeriod {
  /** Until when agents may still be handing in what they could not before. */
  until: number;
  /** Since when there was no settled moment. */
  since: number;
}

/** Agents that could not reach the process before this one have their time too. */
export function gracePeriodAtStart(monotonic: number): GracePeriod {
  return { until: monotonic + maxGracePeriodMs, since: monotonic };
}

/**
 * How long nothing is concluded from the silence of agents after a gap. They try again after pauses that
 * grow with it, a minute at most, and hand in what they have.
 */
export function gracePeriodAfter(
  before: GracePeriod | null,
  gaps: readonly Gap[],
  monotonic: number,
): GracePeriod | null {
  if (gaps.length === 0) return before;
  const isOpen = before !== null && before.until > monotonic;
  const since = isOpen ? before.since : monotonic;
  const isSet = gaps.some(({ stepMs }) => stepMs !== 0);
  const lostMs = gaps.reduce((sum, gap) => sum + gap.lostMs, 0);
  const lastsMs = isSet ? maxGracePeriodMs : Math.min(maxGracePeriodMs, 5_000 + 2 * lostMs);
  const until = Math.max(monotonic + lastsMs, isOpen ? before.until : 0);
  return { since, until: Math.min(until, since + maxGraceInAllMs) };
}
