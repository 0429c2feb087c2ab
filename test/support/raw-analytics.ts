/**
 * Numbers over time computed from every single result, as analytics did before it rolled results up:
 * what answers are compared with.
 */
import type { GroupBy } from '@monitor/shared/contract/analytics.ts';
import type { Statistic } from '@monitor/shared/contract/checks/metric.ts';
import type { CountedMetric, Metric } from '@monitor/shared/domain/metrics.ts';
import { decodePayload, fromFlag } from '../../control-plane/db/columns.ts';
import {
  bucketStart,
  type Point,
  type Series,
} from '../../control-plane/analytics/decide/analytics.ts';
import type { Window } from '../../control-plane/core/decide/results-window.ts';
import {
  isMeasured,
  needsPayload,
  samplesOf,
  type Group,
  type Sample,
} from '../../control-plane/analytics/decide/samples.ts';
import type { Services } from '../../control-plane/core/services.ts';
import { statisticOfSorted } from '../../control-plane/analytics/decide/statistics.ts';

const batchRows = 500;

function statisticOf(values: readonly number[], statistic: Statistic): number | null {
  return statisticOfSorted(Float64Array.from(values).sort(), statistic);
}

interface SampleRequest {
  accountId: string;
  checkId: string;
  window: Window;
  /** What the samples must tell; what no metric needs is not read. */
  bases: readonly string[];
  groupBy?: GroupBy | undefined;
  /** `success` and `failure`, or states of a heartbeat. Without any, all results. */
  statuses: readonly string[];
}

const flagOfStatus: Partial<Record<string, number>> = { success: 0, failure: 1 };

function results(db: Services['db'], request: SampleRequest) {
  const { accountId, checkId, window, bases, statuses } = request;
  const types: ('FINAL' | 'ATTEMPT')[] = [
    ...(bases.some((base) => base !== 'retries') ? (['FINAL'] as const) : []),
    ...(bases.includes('retries') ? (['ATTEMPT'] as const) : []),
  ];
  let query = db
    .selectFrom('check_results')
    .select([
      'seq',
      'started_at',
      'result_type',
      'has_failures',
      'run_location',
      'response_time_ms',
    ])
    .where('account_id', '=', accountId)
    .where('check_id', '=', checkId)
    .where('started_at', '>=', window.from)
    .where('started_at', '<', window.to)
    .where('result_type', 'in', types)
    .where('is_cancelled', '=', 0);
  // A fault of ours says nothing about the target, but an attempt was repeated all the same.
  if (types.includes('FINAL')) {
    query = query.where((where) =>
      where.or([where('has_errors', '=', 0), where('result_type', '=', 'ATTEMPT')]),
    );
  }
  if (statuses.length === 0) return query;
  const flags = statuses.flatMap((status) => flagOfStatus[status] ?? []);
  if (flags.length > 0) {
    return query.where('has_errors', '=', 0).where('has_failures', 'in', flags);
  }
  return query.where((where) =>
    where.exists(
      where
        .selectFrom('heartbeat_events')
        .select('heartbeat_events.seq')
        .where('heartbeat_events.account_id', '=', accountId)
        .where('heartbeat_events.check_id', '=', checkId)
        .whereRef('heartbeat_events.happened_at', '=', 'check_results.started_at')
        .where('heartbeat_events.state', 'in', statuses),
    ),
  );
}

async function payloadsOf(
  db: Services['db'],
  accountId: string,
  seqs: readonly number[],
): Promise<Map<number, unknown>> {
  const rows = await db
    .selectFrom('check_results')
    .innerJoin('result_payloads', 'result_payloads.result_seq', 'check_results.seq')
    .select(['check_results.seq'])
    .select(['result_payloads.encoding', 'result_payloads.payload', 'result_payloads.checksum'])
    .where('check_results.account_id', '=', accountId)
    .where('check_results.seq', 'in', seqs)
    .execute();
  return new Map(rows.map((row) => [row.seq, decodePayload(row)]));
}

/** The results of one check as samples, newest first. */
export async function rawSamples(db: Services['db'], request: SampleRequest): Promise<Sample[]> {
  const { bases, groupBy } = request;
  const withPayload = needsPayload(bases, groupBy);
  const rows = await results(db, request)
    .orderBy('started_at', 'desc')
    .orderBy('seq', 'desc')
    .execute();
  const samples: Sample[] = [];
  for (let start = 0; start < rows.length; start += batchRows) {
    const part = rows.slice(start, start + batchRows);
    const payloads = withPayload
      ? await payloadsOf(
          db,
          request.accountId,
          part.map(({ seq }) => seq),
        )
      : new Map<number, unknown>();
    for (const row of part) {
      const result = {
        startedAt: row.started_at,
        isFinal: row.result_type === 'FINAL',
        hasFailures: fromFlag(row.has_failures),
        runLocation: row.run_location,
        responseTimeMs: row.response_time_ms,
        payload: payloads.get(row.seq),
      };
      samples.push(...samplesOf(result, bases, groupBy));
    }
  }
  return samples;
}

/** To the microsecond; what a clock gives beyond that is noise. */
function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value * 1000) / 1000;
}

/** Metrics that count outcomes rather than values. */
const countedOf: Record<CountedMetric, (samples: readonly Sample[]) => number | null> = {
  availability: (samples) =>
    statisticOf(
      samples.filter(({ isFinal }) => isFinal).map(({ hasFailures }) => (hasFailures ? 0 : 100)),
      'avg',
    ),
  retries: (samples) => samples.filter(({ isFinal }) => !isFinal).length,
};

/** What samples amount to: a value for each metric that is an aggregate. */
function aggregate(
  samples: readonly Sample[],
  metrics: readonly Pick<Metric, 'name' | 'base' | 'statistic'>[],
): Record<string, number | null> {
  const numbers = metrics.flatMap(({ name, base, statistic }): [string, number | null][] => {
    if (!isMeasured(base)) return [[name, rounded(countedOf[base as CountedMetric](samples))]];
    if (statistic === null) return [];
    const values = samples.flatMap((sample) => sample.values[base] ?? []);
    return [[name, rounded(statisticOf(values, statistic))]];
  });
  return Object.fromEntries(numbers);
}

function aggregatedPoints(
  samples: readonly Sample[],
  metrics: readonly Metric[],
  intervalMs: number | null,
): Point[] {
  if (intervalMs === null) return [aggregate(samples, metrics)];
  const buckets = Map.groupBy(samples, ({ startedAt }) => bucketStart(startedAt, intervalMs));
  return [...buckets].map(([start, members]) => ({
    startedAt: new Date(start).toISOString(),
    ...aggregate(members, metrics),
  }));
}

function rawPoints(samples: readonly Sample[], metrics: readonly Metric[]): Point[] {
  return samples
    .filter(({ isFinal }) => isFinal)
    .map(({ startedAt, values }) => ({
      startedAt: new Date(startedAt).toISOString(),
      ...Object.fromEntries(
        metrics.map(({ name, base }) => [
          name,
          isMeasured(base) ? rounded(values[base] ?? null) : null,
        ]),
      ),
    }));
}

function byGroup([left]: [Group, unknown], [right]: [Group, unknown]): number {
  if (left === null || right === null) return Number(left === null) - Number(right === null);
  return left < right ? -1 : 1;
}

/**
 * The series of an answer: for each group, the aggregates and then the raw points, as far as either
 * is asked for. Samples come newest first, and so do points and buckets. Without grouping there is
 * one group even when there are no samples, so that "nothing was measured" is said.
 */
export function rawSeriesOf(
  samples: readonly Sample[],
  metrics: readonly Metric[],
  isGrouped: boolean,
  intervalMs: number | null,
): Series[] {
  const aggregated = metrics.filter(({ statistic }) => statistic !== null);
  const raw = metrics.filter(({ statistic }) => statistic === null);
  const groups: [Group, readonly Sample[]][] = isGrouped
    ? [...Map.groupBy(samples, ({ group }) => group)].sort(byGroup)
    : [[null, samples]];
  return groups.flatMap(([group, members]) => [
    ...(aggregated.length === 0
      ? []
      : [{ group, data: aggregatedPoints(members, aggregated, intervalMs) }]),
    ...(raw.length === 0 ? [] : [{ group, data: rawPoints(members, raw) }]),
  ]);
}
