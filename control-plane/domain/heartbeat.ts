/**
 * A heartbeat monitor: a job pings, and when it stops pinging somebody should know.
 *
 *   waiting   no ping yet, or failing: nothing is expected; the next ping starts the timer
 *   running   a ping is expected at `expectedAt` and must come by `failsAt`
 *
 * A ping is an event of one of four kinds, by when it came:
 *   EARLY     clearly before it was expected
 *   RECEIVED  about when it was expected, or the first one
 *   GRACE     later, within the grace time
 *   LATE      after the grace time, but before that was noticed
 * FAILING is the event of a deadline that passed without a ping. Spec: heartbeat states.
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

export type HeartbeatInput = { kind: 'ping' } | { kind: 'tick' };

export interface HeartbeatEffect {
  event: HeartbeatState;
  hasFailures: boolean;
}

/** How far from the expected moment a ping still counts as on time. spec: open */
const onTimeMs = 5_000;

function pingState(heartbeat: Heartbeat, now: number): HeartbeatState {
  const { expectedAt, failsAt } = heartbeat;
  if (expectedAt === null || failsAt === null) return 'RECEIVED';
  if (Math.abs(now - expectedAt) <= Math.min(onTimeMs, heartbeat.periodMs / 10)) return 'RECEIVED';
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
  if (heartbeat.failsAt === null || now < heartbeat.failsAt) return { heartbeat, effect: null };
  return {
    heartbeat: { ...heartbeat, expectedAt: null, failsAt: null },
    effect: { event: 'FAILING', hasFailures: true },
  };
}

/** Share of a window in which the monitor was not failing, 0 to 1; null when it saw no event. */
export function availabilityOf(
  events: readonly { state: HeartbeatState; at: number }[],
  from: number,
  to: number,
): number | null {
  const sorted = [...events].sort((left, right) => left.at - right.at);
  const [first] = sorted;
  if (first === undefined || first.at >= to || to <= from) return null;
  const start = Math.max(from, first.at);
  let failingMs = 0;
  let failingSince: number | null = null;
  for (const { state, at } of sorted) {
    if (at >= to) break;
    if (state === 'FAILING') failingSince ??= Math.max(at, start);
    else if (failingSince !== null) {
      failingMs += Math.max(0, Math.max(at, start) - failingSince);
      failingSince = null;
    }
  }
  if (failingSince !== null) failingMs += to - failingSince;
  return to === start ? 1 : 1 - failingMs / (to - start);
}
