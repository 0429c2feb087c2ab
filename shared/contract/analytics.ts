/** Analytics of results. Spec: Analytics (endpoints); Analytics response. */
import { z } from 'zod';
import { analyticsOf, metricsOf, type Metric } from '../domain/metrics.ts';
import { inSentence, type CheckTypeDefinition } from './checks/check-type.ts';
import { checkType, checkTypes } from './checks/index.ts';
import { type AnalyticsFacts, type Grouping, metricsOfPages } from './checks/metric.ts';
import { pageQuery, queryInteger, queryNames, timestamp, windowQuery } from './primitives.ts';
import { defineRoute, defineRoutes, get, post } from './route.ts';

export const quickRanges = [
  'last24Hours',
  'last7Days',
  'last30Days',
  'thisWeek',
  'thisMonth',
  'lastWeek',
  'lastMonth',
] as const;
export type QuickRange = (typeof quickRanges)[number];

/** Limit of single results that are read for an answer about one check. */
export const maxResultsPerCheck = 50_000;
/** Limit of single results that are read for an answer about many checks, in total. */
export const maxResultsInAll = 200_000;
/** Results of a suite that are read for an answer about its tests: each holds all of them. */
export const maxSuiteResults = 300;
/** Most checks that are answered for at once. */
export const maxChecksPerRequest = 100;

const inWords = (count: number) => count.toLocaleString('en-US');
export const windowRules =
  'Windows are in UTC and weeks start on Monday; `from` is part of the window and `to` is not. With `from` alone the window ends now, with `to` alone it begins 24 hours before.';
export const precision =
  'Counts, sums, averages and extremes are exact, percentiles of more than the last few seconds within 1 %.';

/** CSV can also be chosen by `Accept: text/csv`. */
export const csvFormat = z.enum(['json', 'csv']).exactOptional().meta({
  description: 'In place of the `Accept` header: `csv` answers as `Accept: text/csv` does',
});
export type Format = 'json' | 'csv';

/** The parsed query of every operation on one check. Instants in ms, the interval in minutes. */
export interface AnalyticsQuery {
  from?: number | undefined;
  to?: number | undefined;
  quickRange: QuickRange;
  aggregationInterval?: number | undefined;
  filterByStatus?: string[] | undefined;
  format?: Format | undefined;
  groupBy?: Grouping | undefined;
  metrics: Metric[];
  limit: number;
  page: number;
}

export { groupings, type Grouping as GroupBy } from './checks/metric.ts';

function queryOf(title: string, facts: AnalyticsFacts): z.ZodType<AnalyticsQuery> {
  const metrics = new Map(metricsOf(facts).map((metric) => [metric.name, metric]));
  const grouped = {
    aggregationInterval: queryInteger(1, 43_200).exactOptional(),
    groupBy: z.enum(facts.groupBy).exactOptional(),
  };
  const query = z.object({
    ...windowQuery,
    quickRange: z.enum(quickRanges).default('last24Hours'),
    ...(facts.groupBy.length === 0 ? {} : grouped),
    filterByStatus: queryNames(
      facts.statuses,
      `one of ${facts.statuses.join(', ')}`,
    ).exactOptional(),
    format: csvFormat,
    metrics: queryNames(
      [...metrics.keys()],
      `a metric of ${title}s; GET /v1/analytics/metrics lists them`,
      facts.defaultMetric,
    ).transform((names) => names.flatMap((name) => metrics.get(name) ?? [])),
    ...pageQuery,
  }) as unknown as z.ZodType<AnalyticsQuery>;
  // The rest is of the whole suite: a page would seem to have its verdict and its time.
  return query.refine(
    (given) =>
      given.groupBy !== 'page' || given.metrics.every(({ base }) => metricsOfPages.has(base)),
    {
      path: ['metrics'],
      error: `must be of ${[...metricsOfPages].join(', ')} where groupBy is page`,
    },
  );
}

const units = z.enum(['milliseconds', 'score', 'count', 'percentage', 'bytes']);
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
  project: z.string().exactOptional().meta({ description: 'Of the suite' }),
  test: z.string().exactOptional().meta({
    description:
      'File, titles and project of a test that ran; what was skipped is in no series of a test',
  }),
  page: z.string().exactOptional().meta({ description: 'Of the suite, without query' }),
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
        aggregation: z.string().meta({ description: '`raw` for points that are not aggregated' }),
      }),
    ),
    truncated: z.boolean().meta({
      description: 'True when there are more single results than one answer reads',
    }),
  })
  .meta({ id: 'Analytics' });

function analyticsRoute(
  title: string,
  facts: AnalyticsFacts,
  { id, path }: { id: string; path: string },
) {
  return defineRoute({
    operationId: id,
    method: 'GET',
    path: `/v1/analytics/${path}/{id}`,
    tag: 'Analytics',
    summary: `Numbers over time of one ${title}`,
    description: `A metric without a suffix gives raw points, one for each FINAL result; with one (and always for \`availability\` and \`retries\`) an aggregate, per bucket when \`aggregationInterval\` (in minutes) is set. A request for both gives two series: the aggregates, then the points. \`availability\` is the share of FINAL results without failures (of heartbeat monitors the share of time in which they were not failing, unless \`filterByStatus\` asks for some of their pings), \`retries\` the number of ATTEMPT results. Results with \`hasErrors\` are agent errors and count neither way. Percentiles are interpolated, \`stddev\` is that of the population. ${precision} \`page\` and \`limit\` page the \`data\` of every series; CSV has all pages in one. ${windowRules} Whole hours and days are summed up beforehand. Raw points, and buckets that do not consist of whole hours, are read from at most ${inWords(maxResultsPerCheck)} single results, newest first; \`truncated\` tells when there are more. Where single results are no longer kept there are no raw points, and an hour counts where it begins.`,
    authentication: 'apiKey',
    rateLimit: { requests: 30, seconds: 60 },
    params: z.object({ id: z.string() }),
    query: queryOf(title, facts),
    status: 200,
    orCsv: true,
    response: analytics,
  });
}
export type AnalyticsRoute = ReturnType<typeof analyticsRoute>;

/** The operations of all types that have one. */
export const analyticsTypeRoutes = Object.values(checkTypes).flatMap(
  ({ type, title, analytics }: CheckTypeDefinition) =>
    analytics.operation === null
      ? []
      : [{ type, route: analyticsRoute(inSentence(title), analytics, analytics.operation) }],
);

const figureNames = Object.values(analyticsOf).flatMap(({ figures }) =>
  figures.flatMap(({ prefix, statistics }) => statistics.map((one) => `${prefix}_${one}` as const)),
);
const figure = value.exactOptional();
const figureFields: Record<(typeof figureNames)[number], typeof figure> = Object.fromEntries(
  figureNames.map((name) => [name, figure]),
);

const ofEveryCheck = { checkId: z.uuid(), checkType, availability: value };
const fieldsOfFigures: typeof ofEveryCheck & typeof figureFields = {
  ...ofEveryCheck,
  ...figureFields,
};

export const checkFigures = z.object(fieldsOfFigures).meta({
  id: 'CheckFigures',
  description: 'A field is absent when it does not apply to the type, null without data',
});

const testOutcome = z.enum(['passed', 'flaky', 'failed']);

const commit = z.object({
  id: z.string(),
  message: z.string().nullable(),
  author: z.string().nullable(),
  branch: z.string().nullable(),
});
export type Commit = z.infer<typeof commit>;

const suiteTest = z.object({
  test: z.string().meta({ description: 'File, titles and project' }),
  runs: z.int(),
  failed: z.int(),
  flaky: z.int().meta({ description: 'Runs that passed only when they were repeated' }),
  durationMs: z.object({ median: value, p95: value, max: value }),
  lastOutcome: testOutcome,
  lastRunAt: timestamp,
  failingSince: timestamp.nullable().meta({
    description: 'The first of the failures that no run has ended, as far as the window goes back',
  }),
  failingSinceCommit: commit.nullable().meta({
    description: 'What its project was deployed from last before that, where the client said it',
  }),
  recent: z
    .array(z.object({ at: timestamp, outcome: testOutcome, durationMs: value }))
    .meta({ description: 'The last 30 runs, newest first' }),
});

export const analyticsRoutes = defineRoutes('Analytics', {
  getAnalyticsOfChecks: post(
    '/v1/analytics/checks',
    `The main figures of up to ${maxChecksPerRequest} checks`,
    {
      onlyReads: true,
      description: `In the order asked for; ids that do not exist are left out. Times in milliseconds, the rest in percent. ${precision}`,
      role: 'READ_ONLY',
      rateLimit: { requests: 30, seconds: 60 },
      query: z.object({
        quickRange: z
          .enum(['last24Hours', 'last7Days', 'thisWeek', 'lastWeek', 'lastMonth'])
          .default('last24Hours'),
        format: csvFormat,
      }),
      body: z.object({ checkIds: z.array(z.uuid()).min(1).max(maxChecksPerRequest) }),
      status: 200,
      orCsv: true,
      response: z.array(checkFigures),
    },
  ),
  listSuiteTests: get('/v1/analytics/playwright-checks/{id}/tests', 'List the tests of a suite', {
    description: `What each test did in the window. A test that was skipped did not run. Read from at most ${inWords(maxSuiteResults)} results, newest first. ${windowRules}`,
    rateLimit: { requests: 30, seconds: 60 },
    params: z.object({ id: z.string() }),
    query: z.object({
      ...windowQuery,
      quickRange: z.enum(quickRanges).default('last7Days'),
      order: z.enum(['failing', 'flakiest', 'slowest', 'name']).default('failing'),
      ...pageQuery,
    }),
    paged: true,
    response: z
      .object({
        tests: z.array(suiteTest),
        truncated: z.boolean().meta({ description: 'True when there are more results' }),
      })
      .meta({ id: 'SuiteTests' }),
  }),
  listMetrics: get('/v1/analytics/metrics', 'List the metrics of a check type', {
    query: z.object({ checkType }),
    response: z.array(
      z.object({
        name: z.string(),
        unit: units,
        label: z.string(),
        type: z.enum(['Array', 'Int', 'Integer', 'Float', 'String']),
        aggregated: z.boolean(),
      }),
    ),
  }),
});
