/**
 * Receivable time is the time in which this process could have received something; missing data
 * proves nothing about the rest. The clocks are read every second and compared:
 *
 *   the reading comes late        the process was stopped, or its event loop was blocked
 *   boot time is ahead            the machine was suspended: its monotonic clock stood still
 *   only the wall clock differs   it was set; no time passed
 *
 * Instants are milliseconds of the wall clock unless said.
 */

/** The clocks at one moment. `boot` includes suspensions; null where the platform does not count it. */
export interface Reading {
  wall: number;
  monotonic: number;
  boot: number | null;
}

export type GapCause =
  'stopped' | 'machine-suspended' | 'down' | 'disk-full' | 'database-away' | 'clock-step';

/** A time in which nothing could be received, or a step of the wall clock. */
export interface Gap {
  cause: GapCause;
  /** The last instant before it and the first one after it; a step back ends before it begins. */
  from: number;
  to: number;
  /** Lost time; 0 for a step. */
  lostMs: number;
  /** Size of a step of the wall clock; 0 otherwise. */
  stepMs: number;
}

/** Shorter gaps move no deadlines. */
export const minGapMs = 2_000;
/** A reading this late follows a stall: data that waits in the sockets is read first. */
const stallMs = 250;
/** Uptime has a resolution of hundredths of a second, on some systems of seconds. */
const suspensionToleranceMs = 1_500;

function gapOf(cause: GapCause, from: number, lostMs: number): Gap {
  return { cause, from, to: from + lostMs, lostMs, stepMs: 0 };
}

function stepOf(from: number, to: number): Gap[] {
  const stepMs = to - from;
  return Math.abs(stepMs) < minGapMs ? [] : [{ cause: 'clock-step', from, to, lostMs: 0, stepMs }];
}

/** Delay of the second reading beyond `everyMs`, in ms of the monotonic clock. */
export function lateBy(before: Reading, after: Reading, everyMs: number): number {
  return Math.max(0, after.monotonic - before.monotonic - everyMs);
}

/** True when unread requests may wait in the sockets. */
export function isStall(lateMs: number): boolean {
  return lateMs >= stallMs;
}

/** The gaps and steps between two periodic readings of one process. */
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

/** The last recorded moment of a previous process. */
export interface LastAlive {
  wall: number;
  /** Boot time and boot id; null where the platform has none. */
  boot: { id: string; ms: number } | null;
}

/**
 * The gap between a process and its successor. After a reboot, a long pause and a clock that was
 * set ahead look the same, so the whole time is lost time.
 */
export function gapsOverRestart(before: LastAlive, after: LastAlive): Gap[] {
  const isSameBoot = before.boot !== null && before.boot.id === after.boot?.id;
  const bootMs = isSameBoot ? (after.boot?.ms ?? 0) - (before.boot?.ms ?? 0) : -1;
  // In a container the uptime may restart while the machine runs on.
  const downMs = bootMs >= 0 ? bootMs : Math.max(0, after.wall - before.wall);
  return [
    // Even a short restart refuses requests.
    ...(downMs > 0 ? [gapOf('down', before.wall, downMs)] : []),
    ...stepOf(before.wall + downMs, after.wall),
  ];
}

/** Agents catch up on a slot that passed so long ago, also after a step back. */
const caughtUpMs = 30_000;

/** An agent that cannot check in goes on by the clock from before a step for so long. */
const followedMs = 60 * 60_000;

/** The steps back after which a slot came again, or an agent that followed no step ran it early. */
export function stepsBackOver(slot: number, gaps: readonly Gap[], beyondMs = followedMs): Gap[] {
  return gaps.filter(
    ({ stepMs, from, to }) => stepMs < 0 && slot > to - caughtUpMs && slot <= from + beyondMs,
  );
}

/** The newest step back after which a slot came again; undefined for none. */
export const stepBackOver = (slot: number, gaps: readonly Gap[]): Gap | undefined =>
  stepsBackOver(slot, gaps, minGapMs).at(-1);

/** Shift of wall clock deadlines in ms; negative after a step back. */
export function shiftOf({ lostMs, stepMs }: Gap): number {
  return lostMs + stepMs;
}

/** Lost time since an instant that moved with every step of the clock, in ms; `gaps` in order. */
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

/** A shorter pause loses no request: the sender waits that long for an answer. */
const minLossMs = 8_000;

/** True when requests during a gap may be lost. */
export function losesRequests({ cause, lostMs }: Gap): boolean {
  return lostMs > 0 && (cause !== 'stopped' || lostMs >= minLossMs);
}

/**
 * Receivable time since a stored instant, in ms; `gaps` in order. When the clock was set back, an
 * instant may have occurred twice; the later one is taken. A future instant counts as now.
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

/** In ms. */
export const maxGracePeriodMs = 90_000;
/** Limit of the grace period in all: after this time conclusions are drawn even if gaps continue. */
const maxGraceInAllMs = 10 * 60_000;

/** On the monotonic clock of the process. */
export interface GracePeriod {
  /** Until when agents may still be sending what they could not send before. */
  until: number;
  /** Start of the first of the consecutive grace periods. */
  since: number;
}

/** The grace period at the start of the process, for agents that could not reach its predecessor. */
export function gracePeriodAtStart(monotonic: number): GracePeriod {
  return { until: monotonic + maxGracePeriodMs, since: monotonic };
}

/**
 * The grace period after gaps, in which nothing is concluded from missing data. Agents retry with a
 * backoff of at most a minute, and then send their backlog.
 */
export function gracePeriodAfter(
  before: GracePeriod | null,
  gaps: readonly Gap[],
  monotonic: number,
): GracePeriod | null {
  if (gaps.length === 0) return before;
  const isOpen = before !== null && before.until > monotonic;
  const since = isOpen ? before.since : monotonic;
  // After a start, agents have to find the control plane again.
  const isLong = gaps.some(({ stepMs, cause }) => stepMs !== 0 || cause === 'down');
  const lostMs = gaps.reduce((sum, gap) => sum + gap.lostMs, 0);
  const lastsMs = isLong ? maxGracePeriodMs : Math.min(maxGracePeriodMs, 5_000 + 2 * lostMs);
  const until = Math.max(monotonic + lastsMs, isOpen ? before.until : 0);
  return { since, until: Math.min(until, since + maxGraceInAllMs) };
}

/** The part of a gap after another one, which is recorded already; null for none that counts. */
export function gapBeyond(gap: Gap, recordedUntil: number): Gap | null {
  if (gap.stepMs !== 0 || recordedUntil <= gap.from) return gap;
  const lostMs = Math.min(gap.lostMs, gap.to - recordedUntil);
  return lostMs < minGapMs ? null : { ...gap, from: gap.to - lostMs, lostMs };
}

/** Replicas notice a step of the database's clock within this time. */
const stepNoticedWithinMs = 60_000;

/** True when another replica has recorded the same step of the clock. */
export function isSameStep(one: Gap, other: Gap): boolean {
  return (
    one.stepMs !== 0 &&
    Math.abs(one.stepMs - other.stepMs) < minGapMs &&
    Math.abs(one.to - other.to) < stepNoticedWithinMs
  );
}
