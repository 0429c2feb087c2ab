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
 * Spec: heartbeat states.
 */
import type { HeartbeatState } from '@monitor/shared/contract/check-routes.ts';

/** Instants in ms since the epoch, durations in ms. Both instants are null while waiting. */
export interface Heartbeat {
  periodMs: number;
  graceMs: number;
  lastPingAt: number | null;
  expectedAt: number | null;
  failsAt: number | null;
}

/** `fail` is a failure that the job itself reports; `reason` says it. */
export type HeartbeatInput = { kind: 'ping' } | { kind: 'tick' } | { kind: 'fail'; reason: string };

export interface HeartbeatEffect {
  event: HeartbeatState;
  hasFailures: boolean;
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
 * job sends the next one only after a period. Null when no ping was expected there since the last
 * deadline, or when there was none for too long.
 */
export function excusedUntil(
  { periodMs, graceMs, lastPingAt, expectedAt, failsAt }: Heartbeat,
  outages: readonly { from: number; to: number }[],
  now: number,
): number | null {
  if (expectedAt === null || failsAt === null) return null;
  const wholeMs = periodMs + graceMs;
  const since = Math.max(expectedAt - onTimeMsOf(periodMs), failsAt - wholeMs);
  const isMaybeLost = outages.some(({ from, to }) => to > since && from < failsAt);
  if (!isMaybeLost || now - (lastPingAt ?? now) >= maxPeriods * wholeMs) return null;
  return now + wholeMs;
}

function pingState(heartbeat: Heartbeat, now: number): HeartbeatState {
  const { expectedAt, failsAt } = heartbeat;
  if (expectedAt === null || failsAt === null) return 'RECEIVED';
  if (Math.abs(now - expectedAt) <= onTimeMsOf(heartbeat.periodMs)) return 'RECEIVED';
  if (now < expectedAt) return 'EARLY';
  return now <= failsAt ? 'GRACE' : 'LATE';
}

/** One step. Every ping restarts the timer; a passed deadline stops it until the next ping. */
export function stepHeartbeat(
  heartbeat: Heartbeat,
  input: HeartbeatInput,
  now: number,
): { heartbeat: Heartbeat; effect: HeartbeatEffect | null } {
  if (input.kind === 'ping') {
    const expectedAt = now + heartbeat.periodMs;
    return {
      heartbeat: {
        ...heartbeat,
        lastPingAt: now,
        expectedAt,
        failsAt: expectedAt + heartbeat.graceMs,
      },
      effect: { event: pingState(heartbeat, now), hasFailures: false },
    };
  }
  const isMissed = heartbeat.failsAt !== null && now >= heartbeat.failsAt;
  if (input.kind === 'tick' && !isMissed) return { heartbeat, effect: null };
  return {
    heartbeat: { ...heartbeat, expectedAt: null, failsAt: null },
    effect: { event: 'FAILING', hasFailures: true },
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
  settings: Pick<Heartbeat, 'periodMs' | 'graceMs'>,
  { wasActive, isActive }: { wasActive: boolean; isActive: boolean },
  now: number,
): Heartbeat {
  const { lastPingAt, expectedAt, failsAt } = before;
  const { periodMs, graceMs } = settings;
  const waiting = { ...settings, lastPingAt, expectedAt: null, failsAt: null };
  const fromNow = { ...waiting, expectedAt: now + periodMs, failsAt: now + periodMs + graceMs };
  if (!isActive || lastPingAt === null) return waiting;
  if (!wasActive) return fromNow;
  if (expectedAt === null || failsAt === null) return waiting;
  const longerMs = periodMs - before.periodMs;
  // Moved, not counted from the ping: what a gap or a maintenance has put off stays put off.
  const moved = failsAt + longerMs + graceMs - before.graceMs;
  if (longerMs < 0 && moved <= now) return fromNow;
  return { ...waiting, expectedAt: expectedAt + longerMs, failsAt: moved };
}
