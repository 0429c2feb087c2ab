/**
 * A heartbeat monitor: a job sends pings, and missing pings are a failure.
 *
 *   waiting   before the first ping, or failing: no ping is expected; the next one starts the timer
 *   running   a ping is expected at `expectedAt` and must come by `failsAt`
 *
 * A ping is an event of one of four kinds, by when it came:
 *   EARLY     clearly before it was expected
 *   RECEIVED  about when it was expected, or the first one
 *   GRACE     later, within the grace time
 *   LATE      after the grace time, but before that was noticed
 * FAILING is the event of a deadline that passed without a ping, and of a failure that the job reports.
 * STARTED and LOGGED change no state. A run that has started must end within the grace time, or within the
 * period where there is none; the ping or failure with its id ends it, as do those without an id and any failure.
 * Spec: heartbeat states.
 */
import type { HeartbeatState } from '@monitor/shared/contract/check-routes.ts';

/** Instants in ms since the epoch, durations in ms. Both instants are null while waiting. */
export interface Heartbeat extends HeartbeatTiming {
  lastPingAt: number | null;
  expectedAt: number | null;
  failsAt: number | null;
  /** The run that has started and not ended; null for none. */
  started: { at: number; run: string | null } | null;
}

/** Settings, and when the job is due after an instant. */
export interface HeartbeatTiming {
  periodMs: number;
  graceMs: number;
  dueAfter: (at: number) => number;
}

/** `fail` is a failure that the job itself reports; `reason` says it. `run` is the id of the run, if the job has one. */
export type HeartbeatInput =
  | { kind: 'ping'; run?: string | null }
  | { kind: 'tick' }
  | { kind: 'fail'; reason: string; run?: string | null }
  | { kind: 'start'; run?: string | null }
  | { kind: 'log' };

export interface HeartbeatEffect {
  event: HeartbeatState;
  /** Null where the event changes no state. */
  hasFailures: boolean | null;
  /** From the start of the run to its end. */
  durationMs: number | null;
}

/** How far from the expected moment a ping still counts as on time. spec: open */
const onTimeMs = 5_000;

function onTimeMsOf(periodMs: number): number {
  return Math.min(onTimeMs, periodMs / 10);
}

/** A job without a ping for this many periods of receivable time fails, however often there were gaps. */
export const maxPeriods = 3;

/**
 * The next deadline of a monitor whose ping may have been lost by a replica that did not answer: its
 * job sends the next one only when it is due again. Null when no ping was expected there since the last
 * deadline, or when there was none for too long.
 */
export function excusedUntil(
  { periodMs, graceMs, dueAfter, lastPingAt, expectedAt, failsAt }: Heartbeat,
  outages: readonly { from: number; to: number }[],
  now: number,
): number | null {
  if (expectedAt === null || failsAt === null) return null;
  const since = expectedAt - onTimeMsOf(periodMs);
  const isMaybeLost = outages.some(
    ({ from, to }) =>
      to > since && from < failsAt && dueAfter(Math.min(to, failsAt)) + graceMs > failsAt,
  );
  const longestMs = maxPeriods * (periodMs + graceMs);
  if (!isMaybeLost || now - (lastPingAt ?? now) >= longestMs) return null;
  return dueAfter(now) + graceMs;
}

function pingState(heartbeat: Heartbeat, now: number): HeartbeatState {
  const { expectedAt, failsAt } = heartbeat;
  if (expectedAt === null || failsAt === null) return 'RECEIVED';
  if (Math.abs(now - expectedAt) <= onTimeMsOf(heartbeat.periodMs)) return 'RECEIVED';
  if (now < expectedAt) return 'EARLY';
  return now <= failsAt ? 'GRACE' : 'LATE';
}

/** When a run must have ended; never without one. */
function runEndOf({ periodMs, graceMs }: HeartbeatTiming, started: Heartbeat['started']): number {
  return started === null ? Infinity : started.at + (graceMs > 0 ? graceMs : periodMs);
}

/** A deadline, or the one of the run that has started where that is earlier. */
function withRun(
  timing: HeartbeatTiming,
  started: Heartbeat['started'],
  failsAt: number | null,
): number | null {
  return started === null ? failsAt : Math.min(failsAt ?? Infinity, runEndOf(timing, started));
}

/**
 * The deadline without the run that has started, which another one replaces: that of the next ping. Null where
 * that is over too and was put off.
 */
function withoutRun(heartbeat: Heartbeat, now: number): number | null {
  const { started, lastPingAt, expectedAt, failsAt, dueAfter, graceMs } = heartbeat;
  if (failsAt === null || failsAt <= now || failsAt < runEndOf(heartbeat, started)) return failsAt;
  const pingFailsAt = dueAfter(lastPingAt ?? expectedAt ?? now) + graceMs;
  return pingFailsAt > now ? Math.max(pingFailsAt, failsAt) : null;
}

/** One step. Every ping restarts the timer; a passed deadline stops it until the next ping. */
export function stepHeartbeat(
  heartbeat: Heartbeat,
  input: HeartbeatInput,
  now: number,
): { heartbeat: Heartbeat; effect: HeartbeatEffect | null } {
  const { started, failsAt, expectedAt, dueAfter, graceMs } = heartbeat;
  const quiet = (event: HeartbeatState) => ({ event, hasFailures: null, durationMs: null });
  if (input.kind === 'log') return { heartbeat, effect: quiet('LOGGED') };
  if (input.kind === 'start') {
    const begun = { at: now, run: input.run ?? null };
    return {
      heartbeat: {
        ...heartbeat,
        started: begun,
        expectedAt: Math.min(expectedAt ?? now, now),
        failsAt: withRun(heartbeat, begun, withoutRun(heartbeat, now)),
      },
      effect: quiet('STARTED'),
    };
  }
  if (input.kind === 'tick') {
    if (failsAt === null || now < failsAt) return { heartbeat, effect: null };
    return {
      heartbeat: { ...heartbeat, expectedAt: null, failsAt: null },
      effect: { event: 'FAILING', hasFailures: true, durationMs: null },
    };
  }
  const run = input.run ?? null;
  const isItsEnd = started !== null && started.run === run && now >= started.at;
  const durationMs = isItsEnd ? now - started.at : null;
  const left = isItsEnd || run === null || input.kind === 'fail' ? null : started;
  const ended = { ...heartbeat, lastPingAt: now, started: left };
  if (input.kind === 'fail') {
    return {
      heartbeat: { ...ended, lastPingAt: heartbeat.lastPingAt, expectedAt: null, failsAt: null },
      effect: { event: 'FAILING', hasFailures: true, durationMs },
    };
  }
  const nextAt = dueAfter(now);
  return {
    heartbeat: {
      ...ended,
      expectedAt: nextAt,
      failsAt: withRun(heartbeat, left, nextAt + graceMs),
    },
    effect: {
      // A run may take as long as it is given: its start is what was expected.
      event: pingState(heartbeat, started === null ? now : Math.min(now, started.at)),
      hasFailures: false,
      durationMs,
    },
  };
}

/**
 * The timer after maintenance that covers its deadline, or the moment the ping was expected at: as if the
 * ping were expected when that ends. Null when nothing of it changes: there is no maintenance, or the
 * deadline is later anyway.
 */
export function postponeHeartbeat(
  heartbeat: Pick<Heartbeat, 'graceMs' | 'failsAt'>,
  maintenanceEndsAt: number | null,
): Pick<Heartbeat, 'expectedAt' | 'failsAt'> | null {
  const { graceMs, failsAt } = heartbeat;
  if (failsAt === null || maintenanceEndsAt === null) return null;
  const postponed = maintenanceEndsAt + graceMs;
  return postponed > failsAt ? { expectedAt: maintenanceEndsAt, failsAt: postponed } : null;
}

/**
 * The timer after a save. A change of settings is no ping: an expected ping stays expected, at the moment that
 * the new settings say. A job that is late only by a period it did not know has one from the save on, and
 * after a pause from the activation. One that never pinged, or fails, waits for its next ping; a pause ends its
 * failure.
 */
export function withSettings(
  before: Heartbeat,
  settings: HeartbeatTiming,
  { wasActive, isActive }: { wasActive: boolean; isActive: boolean },
  now: number,
): Heartbeat {
  const { lastPingAt, expectedAt, failsAt, started } = before;
  const { graceMs, dueAfter } = settings;
  const waiting = { ...settings, lastPingAt, expectedAt: null, failsAt: null, started };
  const dueAt = dueAfter(now);
  const fromNow = {
    ...waiting,
    expectedAt: dueAt,
    failsAt: withRun(settings, started, dueAt + graceMs),
  };
  if (!isActive) return { ...waiting, started: null };
  const runEndedAt = runEndOf(before, started);
  if (started !== null && expectedAt !== null && failsAt !== null && failsAt >= runEndedAt) {
    // As below: what has put off the end of the run still does.
    const putOffMs = failsAt - runEndedAt;
    return { ...waiting, expectedAt, failsAt: runEndOf(settings, started) + putOffMs };
  }
  if (lastPingAt === null) return waiting;
  if (!wasActive) return fromNow;
  if (expectedAt === null || failsAt === null) return waiting;
  const longerMs = dueAfter(lastPingAt) - before.dueAfter(lastPingAt);
  // Moved, not counted from the ping: what a gap or a maintenance has put off stays put off.
  const moved = failsAt + longerMs + graceMs - before.graceMs;
  if (longerMs < 0 && moved <= now) return fromNow;
  return {
    ...waiting,
    expectedAt: expectedAt + longerMs,
    failsAt: withRun(settings, started, moved),
  };
}
