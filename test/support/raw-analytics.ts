/**
 * Numbers over time computed from every single result, as analytics did before it rolled results up:
 * what answers are compared with.
 */
import type { GroupBy } from '@monitor/shared/contract/analytics.ts';
import type { Metric } from '@monitor/shared/domain/metrics.ts';
import { decodePayload, fromFlag } from '../../control-plane/db/columns.ts';
import {
  bucketStart,
  rounded,
  seriesOf,
  type Point,
  type Series,
} from '../../control-plane/analytics/decide/analytics.ts';
import type { Window } from '../../control-plane/core/decide/results-window.ts';
import {
  isMeasured,
  samplesOf,
  type Sample,
} from '../../control-plane/analytics/decide/samples.ts';
import type { Services } from '../../control-plane/core/services.ts';
import { statisticOfSorted } from '../../control-plane/analytics/decide/statistics.ts';

interface SampleRequest {
  accountId: string;
  checkId: string;
  window: Window;
  /** What the samples must tell. */
  bases: readonly string[];
  groupBy?: GroupBy | undefined;
  /** `success` and `failure`, or states of a heartbeat. Without any, all results. */
  statuses: readonly string[];
}

/** All results of a check with their payloads, newest first. */
const resultsOf = (db: Services['db'], { accountId, checkId }: SampleRequest) =>
  db
    .selectFrom('check_results')
    .leftJoin('result_payloads', 'result_payloads.result_seq', 'check_results.seq')
    .select(['started_at', 'result_type', 'has_failures', 'has_errors', 'is_cancelled'])
    .select(['run_location', 'response_time_ms'])
    .select(['result_payloads.encoding', 'result_payloads.payload', 'result_payloads.checksum'])
    .where('account_id', '=', accountId)
    .where('check_id', '=', checkId)
    .orderBy('started_at', 'desc')
    .orderBy('seq', 'desc')
    .execute();

/** What heartbeats of a check were, by their instants. */
async function statesOf(db: Services['db'], { accountId, checkId }: SampleRequest) {
  const events = await db
    .selectFrom('heartbeat_events')
    .select(['happened_at', 'state'])
    .where('account_id', '=', accountId)
    .where('check_id', '=', checkId)
    .execute();
  return Map.groupBy(events, ({ happened_at: at }) => at);
}

/** The results of one check as samples, newest first. */
export async function rawSamples(db: Services['db'], request: SampleRequest): Promise<Sample[]> {
  const { bases, groupBy, statuses, window } = request;
  const states = await statesOf(db, request);
  const withFinals = bases.some((base) => base !== 'retries');
  const rows = await resultsOf(db, request);
  return rows.flatMap((row) => {
    const { started_at: startedAt, result_type: type, encoding, payload, checksum } = row;
    const [isFinal, hasErrors] = [type === 'FINAL', fromFlag(row.has_errors)];
    const hasFailures = fromFlag(row.has_failures);
    if (startedAt < window.from || startedAt >= window.to || fromFlag(row.is_cancelled)) return [];
    if (isFinal ? !withFinals : type !== 'ATTEMPT' || !bases.includes('retries')) return [];
    // An agent error says nothing about the target, but an attempt was repeated all the same.
    if (isFinal && hasErrors) return [];
    const isOfStatus = statuses.some((status) =>
      status === 'success' || status === 'failure'
        ? !hasErrors && hasFailures === (status === 'failure')
        : states.get(startedAt)?.some(({ state }) => state === status),
    );
    if (statuses.length > 0 && !isOfStatus) return [];
    const stored = encoding === null || payload === null ? null : { encoding, payload, checksum };
    const result = {
      ...{ startedAt, isFinal, hasFailures, runLocation: row.run_location },
      responseTimeMs: row.response_time_ms,
      payload: stored === null ? undefined : decodePayload(stored),
    };
    return samplesOf(result, bases, groupBy);
  });
}

/** What samples amount to: a value for each metric that is an aggregate. */
function aggregate(samples: readonly Sample[], metrics: readonly Metric[]): Point {
  const of = (base: string): number[] => {
    if (isMeasured(base)) return samples.flatMap(({ values }) => values[base] ?? []);
    return samples.filter(({ isFinal }) => isFinal).map((each) => (each.hasFailures ? 0 : 100));
  };
  const numbers = metrics.map(({ name, base, statistic }) => {
    if (base === 'retries') return [name, samples.filter(({ isFinal }) => !isFinal).length];
    const sorted = Float64Array.from(of(base)).sort();
    return [name, rounded(statisticOfSorted(sorted, statistic ?? 'avg'))];
  });
  return Object.fromEntries(numbers) as Point;
}

/**
 * The series of an answer: for each group, the aggregates and then the raw points, as far as either
 * is asked for. Raw points are no sums, and made by the same function.
 */
export function rawSeriesOf(
  samples: readonly Sample[],
  metrics: readonly Metric[],
  isGrouped: boolean,
  intervalMs: number | null,
): Series[] {
  const aggregated = metrics.filter(({ statistic }) => statistic !== null);
  const raw = metrics.filter(({ statistic }) => statistic === null);
  const shape = { isGrouped, hasBuckets: intervalMs !== null };
  const ofRaw = raw.length === 0 ? [] : seriesOf({ tallies: new Map(), samples }, raw, shape);
  const byGroup = Map.groupBy(samples, ({ group }) => group);
  const groups = isGrouped
    ? [...byGroup.keys()].sort((one, other) => {
        if (one === null || other === null) return Number(one === null) - Number(other === null);
        return one < other ? -1 : 1;
      })
    : [null];
  return groups.flatMap((group) => {
    const members = isGrouped ? (byGroup.get(group) ?? []) : samples;
    const buckets = Map.groupBy(members, ({ startedAt }) =>
      bucketStart(startedAt, intervalMs ?? 1),
    );
    const data =
      intervalMs === null
        ? [aggregate(members, aggregated)]
        : [...buckets].map(([start, inside]) => ({
            startedAt: new Date(start).toISOString(),
            ...aggregate(inside, aggregated),
          }));
    return [
      ...(aggregated.length === 0 ? [] : [{ group, data }]),
      ...ofRaw.filter((each) => each.group === group),
    ];
  });
}
