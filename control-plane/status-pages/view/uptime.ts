/**
 * Uptime of services over the last 90 days: (total − time of outages) / total, from incidents only. A
 * major outage counts with its whole time, a partial outage with three tenths, as on other status pages;
 * a degraded service is up. Overlapping incidents count once. Left out of both terms: maintenance, and
 * the time before a service was watched.
 */
import { DateTime } from 'luxon';
import type { FollowedFacts } from './facts.ts';
import type { IncidentView } from './incidents.ts';
import { serviceStates, worstState, type ServiceState } from './states.ts';

export const shownDays = 90;

export interface DayView {
  /** Start of the day in the time zone of the page. */
  startsAt: number;
  /** Worst state of the day; null before the service existed. */
  state: ServiceState | null;
  /** Time in each state that incidents brought, worst first: the worst one counts at each moment. */
  parts: { state: ServiceState; ms: number }[];
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
const weights: Partial<Record<ServiceState, number>> = { major_outage: 1, partial_outage: 0.3 };

interface Stretch {
  from: number;
  to: number;
}

interface Trouble extends Stretch {
  state: ServiceState;
}

interface CountedService {
  createdAt: number;
  incidents: readonly IncidentView[];
  /** Occurrences of maintenance, also future ones. */
  maintenance: readonly { startsAt: number; endsAt: number }[];
}

/** Starts of the shown days, oldest first, and of tomorrow. Days with a change of the clock differ in length. */
export function dayStarts(now: number, timezone: string): number[] {
  const today = DateTime.fromMillis(now, { zone: timezone }).startOf('day');
  return Array.from({ length: shownDays + 1 }, (_, index) =>
    today
      .plus({ days: index + 1 - shownDays })
      .startOf('day')
      .toMillis(),
  );
}

/** Start of the oldest shown day. */
export function shownSince(now: number, timezone: string): number {
  return dayStarts(now, timezone)[0] ?? now;
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

/** Time of incidents in each state outside of gaps, worst first; the worst incident counts at each moment. */
function timeByState(stretches: readonly Trouble[], gaps: readonly Stretch[]): DayView['parts'] {
  let worse: readonly Stretch[] = gaps;
  return serviceStates.flatMap((state) => {
    const own = stretches.filter((one) => one.state === state);
    if (own.length === 0) return [];
    const next = [...worse, ...own];
    const ms = lengthOfUnion(next) - lengthOfUnion(worse);
    worse = next;
    return [{ state, ms }];
  });
}

/** The parts of stretches in a range. */
function clipped<One extends Stretch>(stretches: readonly One[], from: number, to: number): One[] {
  return stretches
    .filter((one) => one.to > from && one.from < to)
    .map((one) => ({ ...one, from: Math.max(one.from, from), to: Math.min(one.to, to) }));
}

/** The days and the uptime of a service; `starts` as `dayStarts` gives them. */
export function uptimeOf(
  { createdAt, incidents, maintenance }: CountedService,
  starts: readonly number[],
  now: number,
): UptimeView {
  const since = starts[0] ?? now;
  const all = incidents.flatMap(({ open, state }) =>
    open.map(({ from, to }) => ({ from, to: to ?? now, state })),
  );
  // Incidents may be dated before the creation of the service.
  const born = Math.min(createdAt, ...all.map(({ from }) => from));
  const days = starts.slice(0, -1).map((startsAt, index): DayView => {
    const next = starts[index + 1] ?? now;
    const endsAt = Math.min(next, now);
    if (next <= born) return { startsAt, state: null, parts: [] };
    const within = all
      .filter(({ from, to }) => from < next && (to > startsAt || from >= startsAt))
      .map(({ from, to, state }) => ({
        from: Math.max(from, startsAt),
        to: Math.min(to, endsAt),
        state,
      }));
    return {
      startsAt,
      state: worstState(within.map(({ state }) => state)),
      parts: timeByState(within, []),
    };
  });
  const from = Math.max(since, born);
  const gaps = clipped(
    maintenance.map(({ startsAt, endsAt }) => ({ from: startsAt, to: endsAt })),
    from,
    now,
  );
  const total = now - from - lengthOfUnion(gaps);
  const down = timeByState(clipped(all, from, now), gaps).reduce(
    (sum, { state, ms }) => sum + (weights[state] ?? 0) * ms,
    0,
  );
  return {
    days,
    uptime: total <= 0 ? null : Math.min(1, Math.max(0, 1 - down / total)),
    countedSince: born > since ? born : null,
  };
}

/** The days and the uptime of a service from the results of its checks; a day's state by whether any failed. */
export function measuredUptime(
  { rule, uptime, days }: FollowedFacts,
  starts: readonly number[],
  now: number,
): UptimeView {
  const first = days.findIndex((percent) => percent !== null);
  return {
    days: starts.slice(0, -1).map((startsAt, at): DayView => {
      const percent = days[at] ?? null;
      if (percent === null || rule === null) return { startsAt, state: null, parts: [] };
      const lengthMs = Math.min(starts[at + 1] ?? now, now) - startsAt;
      const ms = Math.round(((100 - percent) / 100) * lengthMs);
      if (ms === 0) return { startsAt, state: 'operational', parts: [] };
      return { startsAt, state: rule.failing, parts: [{ state: rule.failing, ms }] };
    }),
    uptime: uptime === null ? null : uptime / 100,
    countedSince: first > 0 ? (starts[first] ?? null) : null,
  };
}

/** Mean of the known values; null without any. */
export function meanUptime(uptimes: readonly (number | null)[]): number | null {
  const known = uptimes.filter((uptime) => uptime !== null);
  if (known.length === 0) return null;
  return known.reduce((sum, uptime) => sum + uptime, 0) / known.length;
}
