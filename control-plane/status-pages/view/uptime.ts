/**
 * Uptime of services over the last 90 days: (total − time of incidents) / total, from incidents
 * only. A major outage counts with its whole time, a partial outage with three tenths, as on other
 * status pages; a degraded service is up. Overlapping incidents count once. A younger service is
 * counted from its creation.
 */
import type { IncidentView } from './incidents.ts';
import { worstState, type ServiceState } from './states.ts';

const dayMs = 86_400_000;
export const shownDays = 90;

export interface DayView {
  /** Start of the day in UTC. */
  startsAt: number;
  /** Worst state of the day; null before the service existed. */
  state: ServiceState | null;
  /** Time in incidents. */
  downMs: number;
}

export interface UptimeView {
  /** Oldest first, today last. */
  days: DayView[];
  /** In [0, 1]; null without data. */
  uptime: number | null;
  /** Start of counting when it is later than the first day; otherwise null. */
  countedSince: number | null;
}

/** Share of the time that counts as down; other states count as up. */
const weights: readonly (readonly [ServiceState, number])[] = [
  ['major_outage', 1],
  ['partial_outage', 0.3],
];

interface Stretch {
  from: number;
  to: number;
  state: ServiceState;
}

/** Start of the oldest shown day. */
export function shownSince(now: number): number {
  return now - (((now % dayMs) + dayMs) % dayMs) - (shownDays - 1) * dayMs;
}

function lengthOfUnion(stretches: readonly Stretch[]): number {
  let total = 0;
  let reached = -Infinity;
  for (const { from, to } of [...stretches].sort((left, right) => left.from - right.from)) {
    total += Math.max(0, to - Math.max(from, reached));
    reached = Math.max(reached, to);
  }
  return total;
}

/** Weighted time of incidents; the worst incident counts at each moment. */
function countedDown(stretches: readonly Stretch[]): number {
  let counted = 0;
  let worse: Stretch[] = [];
  for (const [state, weight] of weights) {
    const next = [...worse, ...stretches.filter((one) => one.state === state)];
    counted += weight * (lengthOfUnion(next) - lengthOfUnion(worse));
    worse = next;
  }
  return counted;
}

/** The days and the uptime of a service with these incidents. */
export function uptimeOf(
  incidents: readonly IncidentView[],
  createdAt: number,
  now: number,
): UptimeView {
  const since = shownSince(now);
  const all = incidents.map(({ startedAt, endedAt, state }) => ({
    from: startedAt,
    to: endedAt ?? now,
    state,
  }));
  // Incidents may be dated before the creation of the service.
  const born = Math.min(createdAt, ...all.map(({ from }) => from));
  const days = Array.from({ length: shownDays }, (_, index): DayView => {
    const startsAt = since + index * dayMs;
    const endsAt = Math.min(startsAt + dayMs, now);
    if (startsAt + dayMs <= born) return { startsAt, state: null, downMs: 0 };
    const within = all
      .filter(({ from, to }) => from < startsAt + dayMs && (to > startsAt || from >= startsAt))
      .map(({ from, to, state }) => ({
        from: Math.max(from, startsAt),
        to: Math.min(to, endsAt),
        state,
      }));
    return {
      startsAt,
      state: worstState(within.map(({ state }) => state)),
      downMs: lengthOfUnion(within),
    };
  });
  const from = Math.max(since, born);
  const total = now - from;
  const down = countedDown(
    all
      .filter(({ to }) => to > from)
      .map((one) => ({ ...one, from: Math.max(one.from, from), to: Math.min(one.to, now) })),
  );
  return {
    days,
    uptime: total <= 0 ? null : Math.min(1, Math.max(0, 1 - down / total)),
    countedSince: born > since ? born : null,
  };
}

/** Mean of the known values; null without any. */
export function meanUptime(uptimes: readonly (number | null)[]): number | null {
  const known = uptimes.filter((uptime) => uptime !== null);
  if (known.length === 0) return null;
  return known.reduce((sum, uptime) => sum + uptime, 0) / known.length;
}

/** Rounded down, so that 100 % means no downtime at all: `99.98%`. */
export function uptimeWords(uptime: number | null): string {
  if (uptime === null) return 'no data yet';
  if (uptime === 1) return '100%';
  return `${(Math.floor(uptime * 10_000) / 100).toFixed(2)}%`;
}
