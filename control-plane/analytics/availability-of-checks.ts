/** The availability of checks as reports have it, for pages that show it. */
import { isPinged } from '@monitor/shared/contract/checks/index.ts';
import { maxResultsPerCheck } from '@monitor/shared/contract/analytics.ts';
import type { Window } from '../core/decide/results-window.ts';
import type { Db } from '../db/tables.ts';
import { availabilityWithin, readHeartbeatTimes } from '../heartbeats/index.ts';
import { plannedBetween } from '../maintenance/index.ts';
import { listAnalysedChecks } from './analysed-checks.ts';
import { spansWithout } from './decide/report.ts';
import { listed } from './decide/roll-ups/spans.ts';
import { readTallies } from './read-tallies.ts';

/** Of a range: the share of results without failures, or of a heartbeat the share of time, in percent. */
export interface Availability {
  /** Results, or 1 for a heartbeat. */
  weight: number;
  percent: number | null;
}

/** By check, for each of these ranges, without what was planned. */
export async function availabilityOfChecks(
  db: Db,
  accountId: string,
  ids: readonly string[],
  ranges: readonly Window[],
  now: number,
): Promise<ReadonlyMap<string, Availability[]>> {
  const [first, last] = [ranges[0], ranges.at(-1)];
  if (ids.length === 0 || first === undefined || last === undefined) return new Map();
  const window = { from: first.from, to: last.to };
  const planned = await plannedBetween(db, accountId, ids, window);
  const found = new Map<string, Availability[]>();
  for (const { id: checkId, type: checkType } of await listAnalysedChecks(db, accountId, { ids })) {
    const spans = spansWithout(ranges, planned.get(checkId) ?? []);
    if (isPinged(checkType)) {
      const times = await readHeartbeatTimes(db, accountId, checkId, window.from);
      const byRange = Map.groupBy(spans, ({ key }) => key);
      const percentOf = (at: number) =>
        times === null ? null : availabilityWithin(times, byRange.get(at) ?? [], now);
      found.set(
        checkId,
        ranges.map((_range, at) => ({ weight: 1, percent: percentOf(at) })),
      );
      continue;
    }
    const { tallies } = await readTallies(db, {
      ...{ accountId, checkId, checkType, spans: listed(spans), bases: ['availability'] },
      ...{ statuses: [], maxResults: maxResultsPerCheck },
    });
    found.set(
      checkId,
      ranges.map((_range, at) => {
        const tally = tallies.get(at)?.get(null);
        return { weight: tally?.finals ?? 0, percent: tally?.availability ?? null };
      }),
    );
  }
  return found;
}

/** The mean of these, each by its weight; null without any. */
export function meanAvailability(all: readonly Availability[]): number | null {
  const known = all.flatMap(({ weight, percent }) =>
    percent === null || weight === 0 ? [] : [{ weight, percent }],
  );
  const sum = known.reduce((total, { weight }) => total + weight, 0);
  if (sum === 0) return null;
  return known.reduce((total, { weight, percent }) => total + weight * percent, 0) / sum;
}
