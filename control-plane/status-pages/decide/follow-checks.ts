/**
 * The state of a service that follows checks, from their newest runs. Pure.
 *
 *   ANY       as the worst of its checks, each as the worst of its locations
 *   MAJORITY  failing once more than half of its checks fail, else degraded once more than half do not pass
 *   LOCATION  the same by locations, in which any of its checks counts
 *
 * A run that says nothing about the target counts for nothing. A state is shown once it has lasted for the minutes of
 * the rule: since the run with which the last of those began that it needs.
 */
import type { ServiceState } from '../view/states.ts';

export interface ServiceRule {
  by: 'ANY' | 'MAJORITY' | 'LOCATION';
  failing: ServiceState;
  degraded: ServiceState;
  afterMinutes: number;
}

/** The newest runs of a check, oldest first. */
export interface Run {
  startedAt: number;
  location: string;
  outcome: 'passing' | 'degraded' | 'failing' | 'inconclusive';
}

/** What a person shows in place of what checks say. */
export interface Override {
  state: ServiceState;
  until: number;
}

/** Since when a check or a location fails, and since when it does not pass; null while it does not. */
interface Trouble {
  failingSince: number | null;
  badSince: number | null;
}

function sinceOf(runs: readonly Run[], isBad: (run: Run) => boolean): number | null {
  const last = runs.findLastIndex((run) => !isBad(run));
  return runs[last + 1]?.startedAt ?? null;
}

function troubleOf(given: readonly Run[]): Trouble {
  const runs = given.filter(({ outcome }) => outcome !== 'inconclusive');
  return {
    failingSince: sinceOf(runs, ({ outcome }) => outcome === 'failing'),
    badSince: sinceOf(runs, ({ outcome }) => outcome !== 'passing'),
  };
}

/** The runs of each location that still runs the check: one that misses two turns of all was taken from it. */
export function runsByLocation(runs: readonly Run[]): Run[][] {
  const byLocation = Map.groupBy(runs, ({ location }) => location);
  const present = new Set(runs.slice(-2 * byLocation.size).map(({ location }) => location));
  return [...byLocation].flatMap(([location, own]) => (present.has(location) ? [own] : []));
}

/** Locations take turns, so the last run alone would change the state each minute while one of them fails. */
function worstOf(troubles: readonly Trouble[]): Trouble {
  return {
    failingSince: begunAt(
      troubles.map(({ failingSince }) => failingSince),
      1,
    ),
    badSince: begunAt(
      troubles.map(({ badSince }) => badSince),
      1,
    ),
  };
}

/** When the `needed` first of them had begun; null where there are fewer. */
function begunAt(since: readonly (number | null)[], needed: number): number | null {
  const begun = since.filter((at) => at !== null).toSorted((a, b) => a - b);
  return begun[needed - 1] ?? null;
}

/** Operational without any run. */
export function followedState(
  rule: ServiceRule,
  checks: readonly (readonly Run[])[],
  now: number,
): ServiceState {
  const ran = checks.filter((runs) => runs.length > 0);
  const byLocation = [
    ...Map.groupBy(ran.flatMap(runsByLocation), ([first]) => first?.location).values(),
  ].map((ofChecks) => worstOf(ofChecks.map(troubleOf)));
  const ofChecks = ran.map((runs) => worstOf(runsByLocation(runs).map(troubleOf)));
  const troubles = rule.by === 'LOCATION' ? byLocation : ofChecks;
  const needed = rule.by === 'ANY' ? 1 : Math.floor(troubles.length / 2) + 1;
  const lastsFor = (at: number | null) => at !== null && now - at >= rule.afterMinutes * 60_000;
  const since = (key: keyof Trouble) =>
    begunAt(
      troubles.map((one) => one[key]),
      needed,
    );
  if (lastsFor(since('failingSince'))) return rule.failing;
  return lastsFor(since('badSince')) ? rule.degraded : 'operational';
}

/** Turns may be missed, and retries take their time. */
const missedTurns = 3;
const leastMs = 600_000;

interface MeasuringCheck {
  runs: readonly Run[];
  /** Null for what the control plane judges by itself, such as pings. */
  intervalMs: number | null;
  /** Maintenance in which it does not run, in order and without overlaps; none where that is not known. */
  paused?: readonly { startsAt: number; endsAt: number }[];
}

/** When a check came to its newest verdict; undefined without any. */
export const lastVerdictAt = (runs: readonly Run[]): number | undefined =>
  runs.findLast(({ outcome }) => outcome !== 'inconclusive')?.startedAt;

/** Whether checks say anything about now: one of them came to a verdict within its last turns, which pauses leave out. */
export function isMeasured(checks: readonly MeasuringCheck[], now: number): boolean {
  if (checks.length === 0) return true;
  return checks.some(({ runs, intervalMs, paused = [] }) => {
    const newest = lastVerdictAt(runs);
    if (intervalMs === null || newest === undefined) return intervalMs === null;
    const pausedMs = paused.reduce(
      (sum, { startsAt, endsAt }) =>
        sum + Math.max(0, Math.min(now, endsAt) - Math.max(newest, startsAt)),
      0,
    );
    return now - newest - pausedMs <= Math.max(leastMs, missedTurns * intervalMs);
  });
}

/** What is shown: what a person said while it holds, else what checks say, which is planned during maintenance. */
export function shownState(
  followed: ServiceState,
  override: Override | null,
  isMaintained: boolean,
  now: number,
): ServiceState {
  if (override !== null && now < override.until) return override.state;
  return isMaintained ? 'operational' : followed;
}
