/**
 * How long services were up: over the last 90 days, (total − time of incidents) / total, driven by
 * incidents only. Of a major outage all of its time counts, of a partial outage three tenths, as status
 * pages of the field do; a service that is degraded is up. What overlaps counts once. A service that is
 * younger is counted from its beginning: of the time before it nothing is known.
 */
import type { IncidentView } from './incidents.ts';
import { worstState, type ServiceState } from './states.ts';

const dayMs = 86_400_000;
export const shownDays = 90;

export interface DayView {
  /** First moment of the day in UTC. */
  startsAt: number;
  /** The worst of the day; null for a day before the service. */
  state: ServiceState | null;
  /** Time in incidents. */
  downMs: number;
}

export interface UptimeView {
  /** Oldest first, today last. */
  days: DayView[];
  /** In [0, 1]; null while there is nothing to tell from. */
  uptime: number | null;
  /** From when it is counted, where that is later than the first of the days; otherwise null. */
  countedSince: number | null;
}

/** The share of its time that counts against the uptime; of other states none does. */
const weights: readonly (readonly [ServiceState, number])[] = [
  ['major_outage', 1],
  ['partial_outage', 0.3],
];

interface Stretch {
  from: number;
  to: number;
  state: ServiceState;
}

/** First moment of the oldest day that is shown. */
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

/** Time of incidents by its weight: at each moment the worst counts. */
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

/** The days and the uptime of a service that these incidents concern. */
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
  // Incidents may be written down for days before the service was.
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

/** The mean of what is known; null for nothing. */
export function meanUptime(uptimes: readonly (number | null)[]): number | null {
  const known = uptimes.filter((uptime) => uptime !== null);
  if (known.length === 0) return null;
  return known.reduce((sum, uptime) => sum + uptime, 0) / known.length;
}

/** Rounded down, so that 100 % means that there was nothing: `99.98%`. */
export function uptimeWords(uptime: number | null): string {
  if (uptime === null) return 'no data yet';
  if (uptime === 1) return '100%';
  return `${(Math.floor(uptime * 10_000) / 100).toFixed(2)}%`;
}
