/** Numbers over time, from results. Spec: Analytics (endpoints); Analytics response. */
import { z } from 'zod';
import { analyticsOf, metricsOf, type AnalyticsFacts, type Metric } from '../domain/metrics.ts';
import {
  checkType,
  pageQuery,
  queryBoolean,
  queryInstant,
  queryInteger,
  queryList,
  timestamp,
  type CheckType,
} from './primitives.ts';
import { defineRoute } from './route.ts';

const quickRanges = [
  'last24Hours',
  'last7Days',
  'last30Days',
  'thisWeek',
  'thisMonth',
  'lastWeek',
  'lastMonth',
] as const;
export type QuickRange = (typeof quickRanges)[number];

/** Most results one answer about one check is computed from. */
export const maxResultsPerCheck = 50_000;
/** Most results an answer about many checks is computed from, over all of them. */
export const maxResultsInAll = 200_000;

const inWords = (count: number) => count.toLocaleString('en-US');
const windowRules =
  'Windows are in UTC and weeks start on Monday; `from` is part of the window and `to` is not. With `from` alone the window ends now, with `to` alone it begins 24 hours before.';
const sharedBound = `All checks together are computed from at most ${inWords(maxResultsInAll)} results (and one from at most ${inWords(maxResultsPerCheck)}), newest first.`;

const windowQuery = {
  from: queryInstant.exactOptional(),
  to: queryInstant.exactOptional(),
};

/** Several values, separated by commas or by repeating the parameter. Parsed without repeats. */
function csvOf(allowed: readonly string[], what: string, fallback?: string) {
  const schema = z.union([z.string(), z.array(z.string())]).transform((given, context) => {
    const names = [given].flat().flatMap((text) => text.split(','));
    const unknown = names.find((name) => !allowed.includes(name));
    if (unknown === undefined) return [...new Set(names)];
    context.addIssue({ code: 'custom', message: `has "${unknown}", which is not ${what}` });
    return z.NEVER;
  });
  const override = {
    type: 'array',
    items: { type: 'string', enum: allowed },
    description: 'Separated by commas, or repeated',
  };
  return fallback === undefined
    ? schema.meta({ override })
    : schema.default([fallback]).meta({ override: { ...override, default: [fallback] } });
}

/** The parsed query of every operation on one check. Instants in ms, the interval in minutes. */
export interface AnalyticsQuery {
  from?: number | undefined;
  to?: number | undefined;
  quickRange: QuickRange;
  aggregationInterval?: number | undefined;
  filterByStatus?: string[] | undefined;
  groupBy?: GroupBy | undefined;
  metrics: Metric[];
  limit: number;
  page: number;
}

export const groupings = ['runLocation', 'statusCode', 'pageIndex'] as const;
export type GroupBy = (typeof groupings)[number];

function queryOf(facts: AnalyticsFacts): z.ZodType<AnalyticsQuery> {
  const metrics = new Map(metricsOf(facts).map((metric) => [metric.name, metric]));
  const grouped = {
    aggregationInterval: queryInteger(1, 43_200).exactOptional(),
    groupBy: z.enum(facts.groupBy).exactOptional(),
  };
  return z.object({
    ...windowQuery,
    quickRange: z.enum(quickRanges).default('last24Hours'),
    ...(facts.groupBy.length === 0 ? {} : grouped),
    filterByStatus: csvOf(facts.statuses, `one of ${facts.statuses.join(', ')}`).exactOptional(),
    metrics: csvOf(
      [...metrics.keys()],
      `a metric of ${facts.title}s; GET /v1/analytics/metrics lists them`,
      facts.defaultMetric,
    ).transform((names) => names.flatMap((name) => metrics.get(name) ?? [])),
    ...pageQuery,
  }) as unknown as z.ZodType<AnalyticsQuery>;
}

const units = z.enum(['milliseconds', 'score', 'count', 'percentage']);
const value = z.number().nullable();

const series = z.object({
  data: z.array(z.record(z.string(), z.union([value, z.string()]))).meta({
    description:
      'Raw points and buckets carry `startedAt`, newest first; a value is null when nothing was measured',
  }),
  runLocation: z.string().exactOptional(),
  statusCode: z.int().nullable().exactOptional().meta({
    description: 'Null for results without a response',
  }),
  pageIndex: z.int().exactOptional(),
});

export const analytics = z
  .object({
    checkId: z.uuid(),
    name: z.string(),
    checkType,
    activated: z.boolean(),
    muted: z.boolean(),
    frequency: z.number(),
    from: timestamp,
    to: timestamp,
    tags: z.array(z.string()),
    series: z.array(series),
    pagination: z.object({ page: z.int(), limit: z.int() }),
    metadata: z.record(
      z.string(),
      z.object({
        unit: units,
        label: z.string(),
        aggregation: z.string().exactOptional().meta({ description: 'Absent for raw points' }),
      }),
    ),
    truncated: z.boolean().meta({
      description: 'The window has more results than one answer is computed from',
    }),
  })
  .meta({ id: 'Analytics' });

function analyticsRoute(facts: AnalyticsFacts & { path: string; operationId: string }) {
  return defineRoute({
    operationId: facts.operationId,
    method: 'GET',
    path: `/v1/analytics/${facts.path}/{id}`,
    tag: 'Analytics',
    summary: `Numbers over time of one ${facts.title}`,
    description: `A metric without a suffix gives raw points, one for each FINAL result; with one (and always for \`availability\` and \`retries\`) an aggregate, per bucket when \`aggregationInterval\` (in minutes) is set. A request for both gives two series: the aggregates, then the points. \`availability\` is the share of FINAL results without failures, \`retries\` the number of ATTEMPT results. Results with \`hasErrors\` are our own faults and count neither way. Percentiles are interpolated, \`stddev\` is that of the population. \`page\` and \`limit\` page the \`data\` of every series. ${windowRules} An answer is computed from at most ${inWords(maxResultsPerCheck)} results, newest first; \`truncated\` tells when there are more.`,
    authentication: 'apiKey',
    rateLimit: { requests: 30, seconds: 60 },
    params: z.object({ id: z.string() }),
    query: queryOf(facts),
    status: 200,
    response: analytics,
    errors: [400, 404],
  });
}
export type AnalyticsRoute = ReturnType<typeof analyticsRoute>;

/** Names of the operations on one check, one for each type that has such an operation. */
export type AnalyticsOperation = Extract<
  (typeof analyticsOf)[CheckType],
  { operationId: string }
>['operationId'];

/** Every type that has an operation of its own, with it. */
export const analyticsTypeRoutes = Object.entries(analyticsOf).flatMap(
  ([type, facts]: [string, AnalyticsFacts]) => {
    const { path, operationId } = facts;
    if (path === undefined || operationId === undefined) return [];
    return [{ type, route: analyticsRoute({ ...facts, path, operationId }) }];
  },
);

const ofTypes = Object.fromEntries(
  analyticsTypeRoutes.map(({ route }) => [route.operationId, route]),
) as Record<AnalyticsOperation, AnalyticsRoute>;

const figure = value.exactOptional();

export const checkFigures = z
  .object({
    checkId: z.uuid(),
    checkType,
    availability: value,
    responseTime_avg: figure,
    responseTime_p50: figure,
    responseTime_p95: figure,
    responseTime_p99: figure,
    latency_avg: figure,
    latency_p50: figure,
    latency_p95: figure,
    latency_p99: figure,
    packetLoss_avg: figure,
    packetLoss_p95: figure,
    packetLoss_p99: figure,
  })
  .meta({
    id: 'CheckFigures',
    description: 'A field is absent when it does not apply to the type, null without data',
  });

const getAnalyticsOfChecks = defineRoute({
  operationId: 'getAnalyticsOfChecks',
  method: 'POST',
  path: '/v1/analytics/checks',
  tag: 'Analytics',
  summary: 'The main figures of up to 100 checks',
  description: `In the order asked for; ids that do not exist are left out. Times in milliseconds, the rest in percent. ${sharedBound}`,
  authentication: 'apiKey',
  role: 'READ_ONLY',
  rateLimit: { requests: 30, seconds: 60 },
  query: z.object({
    quickRange: z
      .enum(['last24Hours', 'last7Days', 'thisWeek', 'lastWeek', 'lastMonth'])
      .default('last24Hours'),
  }),
  body: z.object({ checkIds: z.array(z.uuid()).min(1).max(100) }),
  status: 200,
  response: z.array(checkFigures),
  errors: [400],
});

const listMetrics = defineRoute({
  operationId: 'listMetrics',
  method: 'GET',
  path: '/v1/analytics/metrics',
  tag: 'Analytics',
  summary: 'List the metrics of a check type',
  authentication: 'apiKey',
  query: z.object({ checkType }),
  status: 200,
  response: z.array(
    z.object({
      name: z.string(),
      unit: units,
      label: z.string(),
      type: z.enum(['Array', 'Int', 'Integer', 'Float', 'String']),
      aggregated: z.boolean(),
    }),
  ),
  errors: [400],
});

const getReport = defineRoute({
  operationId: 'getReport',
  method: 'GET',
  path: '/v1/reporting',
  tag: 'Reporting',
  summary: 'Success ratio and response times of all checks, by name',
  description: `\`successRatio\` is in percent, times are in milliseconds; null without data. \`filterByTags\` keeps checks that have any of the tags. ${windowRules} ${sharedBound}`,
  authentication: 'apiKey',
  query: z.object({
    ...windowQuery,
    quickRange: z
      .enum(['last24Hrs', ...quickRanges.slice(1)])
      .default('last24Hrs')
      .transform((range): QuickRange =>
        range === 'last24Hrs' ? 'last24Hours' : (range as QuickRange),
      ),
    filterByTags: queryList(z.string().min(1)).exactOptional(),
    deactivated: queryBoolean.exactOptional(),
  }),
  status: 200,
  response: z.array(
    z
      .object({
        name: z.string(),
        checkId: z.uuid(),
        checkType,
        deactivated: z.boolean(),
        tags: z.array(z.string()),
        aggregate: z.object({ successRatio: value, avg: value, p95: value, p99: value }),
      })
      .meta({ id: 'ReportRow' }),
  ),
  errors: [400],
});

export const analyticsRoutes = { ...ofTypes, getAnalyticsOfChecks, listMetrics };
export const reportingRoutes = { getReport };
