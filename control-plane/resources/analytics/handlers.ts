/** Numbers over time. */
import {
  analyticsTypeRoutes,
  maxResultsInAll,
  maxResultsPerCheck,
  type AnalyticsOperation,
  type AnalyticsRoute,
  type QuickRange,
  type analyticsRoutes,
  type reportingRoutes,
} from '@monitor/shared/contract/analytics.ts';
import {
  analyticsOf,
  metricsOf,
  type AnalyticsFacts,
  type Metric,
} from '@monitor/shared/domain/metrics.ts';
import { ApiError, notFound } from '../../api-error.ts';
import { toTimestamp } from '../../db/columns.ts';
import { aggregate, analyticsWindow, seriesOf } from '../../domain/analytics.ts';
import type { Window } from '../../domain/results-window.ts';
import type { Handler, Handlers } from '../../http/implement.ts';
import type { Services } from '../../services.ts';
import { listChecks, readSamples, type AnalysedCheck } from './store.ts';

interface GivenWindow {
  from?: number | undefined;
  to?: number | undefined;
  quickRange: QuickRange;
}

function windowOf(given: GivenWindow, now: number): Window {
  const window = analyticsWindow(given, now);
  if (!('field' in window)) return window;
  const { field, problem } = window;
  throw new ApiError('VALIDATION', `"${field}" ${problem}`, {
    source: 'query',
    keys: [field],
    issues: [{ path: field, message: problem }],
  });
}

type AskedMetric = Pick<Metric, 'name' | 'base' | 'statistic'>;

/** What answers about many checks show of one, under the names that those answers use. */
function figuresOf(check: AnalysedCheck): AskedMetric[] {
  const { figures }: AnalyticsFacts = analyticsOf[check.type];
  return figures.flatMap(({ prefix, base, statistics }) =>
    statistics.map((statistic) => ({ name: `${prefix}_${statistic}`, base, statistic })),
  );
}

/** What the report shows of a check: the times of its first figure. */
function reportOf(check: AnalysedCheck): AskedMetric[] {
  const { figures }: AnalyticsFacts = analyticsOf[check.type];
  return figures
    .slice(0, 1)
    .flatMap(({ base }) =>
      (['avg', 'p95', 'p99'] as const).map((name) => ({ name, base, statistic: name })),
    );
}

function metadataOf(metrics: readonly Metric[]) {
  return Object.fromEntries(
    metrics.map(({ name, unit, label, statistic }) => [
      name,
      { unit, label, ...(statistic !== null && { aggregation: statistic }) },
    ]),
  );
}

function typeOf({ unit, statistic }: Metric): 'Integer' | 'Float' {
  const staysWhole = statistic === null || ['sum', 'min', 'max'].includes(statistic);
  return unit === 'count' && staysWhole ? 'Integer' : 'Float';
}

/** The numbers of many checks, one after the other; each leaves what it does not read to the rest. */
async function numbersOf(
  services: Services,
  accountId: string,
  checks: readonly AnalysedCheck[],
  window: Window,
  metricsOfCheck: (check: AnalysedCheck) => AskedMetric[],
): Promise<Record<string, number | null>[]> {
  const numbers: Record<string, number | null>[] = [];
  let left = maxResultsInAll;
  for (const [index, check] of checks.entries()) {
    const share = Math.max(1, Math.floor(left / (checks.length - index)));
    const metrics = metricsOfCheck(check);
    const { samples, read } = await readSamples(services.db, {
      accountId,
      checkId: check.id,
      window,
      bases: metrics.map(({ base }) => base),
      statuses: [],
      maxResults: Math.min(share, maxResultsPerCheck),
    });
    left -= read;
    numbers.push(aggregate(samples, metrics));
  }
  return numbers;
}

/** The operation of one type; all types have the same. */
function typeHandler(services: Services, type: string): Handler<AnalyticsRoute> {
  const { db, clock } = services;
  return async ({ params, query }, { principal }) => {
    const { accountId } = principal;
    const { metrics, groupBy, aggregationInterval, page, limit } = query;
    const window = windowOf(query, clock.now());
    const [check] = await listChecks(db, accountId, { ids: [params.id] });
    if (check === undefined || check.type !== type) throw notFound('check', params.id);
    const isRawOnly = metrics.every(({ statistic }) => statistic === null);
    // The newest raw points are read and no others; everything else needs the whole window.
    const enough = isRawOnly && groupBy === undefined ? page * limit : maxResultsPerCheck;
    const { samples, truncated } = await readSamples(db, {
      accountId,
      checkId: check.id,
      window,
      bases: metrics.map(({ base }) => base),
      groupBy,
      statuses: query.filterByStatus ?? [],
      maxResults: Math.min(enough, maxResultsPerCheck),
    });
    const intervalMs = aggregationInterval === undefined ? null : aggregationInterval * 60_000;
    const offset = (page - 1) * limit;
    const series = seriesOf(samples, metrics, groupBy !== undefined, intervalMs);
    return {
      checkId: check.id,
      name: check.name,
      checkType: check.type,
      activated: check.activated,
      muted: check.muted,
      frequency: check.frequency,
      from: toTimestamp(window.from),
      to: toTimestamp(window.to),
      tags: check.tags,
      series: series.map(({ data, group }) => ({
        data: data.slice(offset, offset + limit),
        ...(groupBy !== undefined && { [groupBy]: group }),
      })),
      pagination: { page, limit },
      metadata: metadataOf(metrics),
      truncated: truncated && enough >= maxResultsPerCheck,
    };
  };
}

export function analyticsHandlers(services: Services): Handlers<typeof analyticsRoutes> {
  const ofTypes = Object.fromEntries(
    analyticsTypeRoutes.map(({ type, route }) => [route.operationId, typeHandler(services, type)]),
  ) as Record<AnalyticsOperation, Handler<AnalyticsRoute>>;
  return {
    ...ofTypes,

    getAnalyticsOfChecks: async ({ query, body }, { principal }) => {
      const { accountId } = principal;
      const window = windowOf(query, services.clock.now());
      const known = await listChecks(services.db, accountId, { ids: body.checkIds });
      const order = new Map(body.checkIds.map((id, index) => [id, index]));
      const checks = known.toSorted(
        (left, right) => (order.get(left.id) ?? 0) - (order.get(right.id) ?? 0),
      );
      const availability = {
        name: 'availability',
        base: 'availability',
        statistic: 'avg',
      } as const;
      const numbers = await numbersOf(services, accountId, checks, window, (check) => [
        availability,
        ...figuresOf(check),
      ]);
      return checks.map(({ id, type }, index) => ({
        checkId: id,
        checkType: type,
        availability: null,
        ...numbers[index],
      }));
    },

    listMetrics: ({ query }) =>
      Promise.resolve(
        metricsOf(analyticsOf[query.checkType]).map((metric) => ({
          name: metric.name,
          unit: metric.unit,
          label: metric.label,
          type: typeOf(metric),
          aggregated: metric.statistic !== null,
        })),
      ),
  };
}

export function reportingHandlers(services: Services): Handlers<typeof reportingRoutes> {
  return {
    getReport: async ({ query }, { principal }) => {
      const { accountId } = principal;
      const window = windowOf(query, services.clock.now());
      const checks = await listChecks(services.db, accountId, {
        ...(query.filterByTags && { tags: query.filterByTags }),
        ...(query.deactivated !== undefined && { activated: !query.deactivated }),
      });
      const successRatio = {
        name: 'successRatio',
        base: 'availability',
        statistic: 'avg',
      } as const;
      const numbers = await numbersOf(services, accountId, checks, window, (check) => [
        successRatio,
        ...reportOf(check),
      ]);
      return checks.map(({ id, name, type, activated, tags }, index) => ({
        name,
        checkId: id,
        checkType: type,
        deactivated: !activated,
        tags,
        aggregate: { successRatio: null, avg: null, p95: null, p99: null, ...numbers[index] },
      }));
    },
  };
}
