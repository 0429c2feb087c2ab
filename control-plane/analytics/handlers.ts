/** Analytics endpoints. */
import {
  analyticsTypeRoutes,
  maxResultsPerCheck,
  maxSuiteResults,
  type Commit,
  type AnalyticsQuery,
  type AnalyticsRoute,
  type analyticsRoutes,
} from '@monitor/shared/contract/analytics.ts';
import { isOfSuite } from '@monitor/shared/contract/checks/metric.ts';
import type { CheckType } from '@monitor/shared/contract/checks/index.ts';
import type { Route } from '@monitor/shared/contract/route.ts';
import { analyticsOf, metricsOf, type Metric } from '@monitor/shared/domain/metrics.ts';
import { invalidQuery, notFound } from '../errors/api-error.ts';
import { fromJson, toTimestamp } from '../db/columns.ts';
import type { Db } from '../db/tables.ts';
import { analyticsWindow, seriesOf, type Series } from './decide/analytics.ts';
import { csvOf } from '../core/decide/csv.ts';
import type { Window } from '../core/decide/results-window.ts';
import { type SuiteTest, testsOfSuite } from './decide/suite-tests.ts';
import { buckets } from './decide/roll-ups/spans.ts';
import { asCsv, wantsCsv } from '../http/answer.ts';
import type { BoundRoute, Handler, Handlers } from '../http/handlers.ts';
import { listAnalysedChecks, type AnalysedCheck } from './analysed-checks.ts';
import { figuresOf, readFigures } from './figures-of-checks.ts';
import { readSamples } from './read-samples.ts';
import { readTallies } from './read-tallies.ts';
import { readWholeWindow } from './read-whole-window.ts';
import type { Services } from '../core/services.ts';

function windowOf(given: Parameters<typeof analyticsWindow>[0], now: number): Window {
  const window = analyticsWindow(given, now);
  if ('field' in window) throw invalidQuery(window.field, window.problem);
  return window;
}

function metadataOf(metrics: readonly Metric[]) {
  return Object.fromEntries(
    metrics.map(({ name, unit, label, statistic }) => [
      name,
      { unit, label, aggregation: statistic ?? 'raw' },
    ]),
  );
}

function typeOf({ unit, statistic }: Metric): 'Integer' | 'Float' {
  const staysWhole = statistic === null || ['sum', 'min', 'max'].includes(statistic);
  return (unit === 'count' || unit === 'bytes') && staysWhole ? 'Integer' : 'Float';
}

interface SeriesRequest {
  accountId: string;
  check: AnalysedCheck;
  window: Window;
  query: AnalyticsQuery;
  /** How many of the newest points and buckets of a series are returned. */
  shown: number;
}

/** The aggregates and raw points that a query asks for. */
async function readSeries(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  { accountId, check, window, query, shown }: SeriesRequest,
): Promise<{ series: Series[]; truncated: boolean }> {
  const { metrics, groupBy, aggregationInterval } = query;
  const hasBuckets = aggregationInterval !== undefined;
  const of = {
    accountId,
    checkId: check.id,
    bases: metrics.map(({ base }) => base),
    groupBy,
    statuses: query.filterByStatus ?? [],
  };
  const maxResults = isOfSuite(groupBy) ? maxSuiteResults : maxResultsPerCheck;
  const ofAll = { ...of, checkType: check.type, maxResults, withImported: true as const };
  const readSummed = () =>
    hasBuckets
      ? readTallies(db, { ...ofAll, spans: buckets(window, aggregationInterval * 60_000) })
      : readWholeWindow(db, { ...ofAll, window }, clock.now());
  const summed = metrics.some(({ statistic }) => statistic !== null)
    ? await readSummed()
    : { tallies: new Map(), truncated: false };
  // Only the newest raw points are read, unless they are grouped.
  const enough = Math.min(groupBy === undefined ? shown : Infinity, maxResults);
  const points = metrics.filter(({ statistic }) => statistic === null);
  const bases = points.map(({ base }) => base);
  const raw =
    points.length > 0
      ? await readSamples(db, { ...of, bases, window, maxResults: enough })
      : { samples: [], truncated: false };
  return {
    series: seriesOf({ ...summed, ...raw }, metrics, {
      isGrouped: groupBy !== undefined,
      hasBuckets,
    }),
    truncated: summed.truncated || (raw.truncated && enough >= maxResults),
  };
}

/** One line per point; aggregates and raw points have different columns. */
function csvOfSeries(series: readonly Series[], { groupBy, metrics }: AnalyticsQuery): string {
  const columns = [
    ...(groupBy === undefined ? [] : [groupBy]),
    'startedAt',
    ...metrics.map(({ name }) => name),
  ];
  const rows = series.flatMap(({ data, group }) =>
    data.map((point) => (groupBy === undefined ? point : { [groupBy]: group, ...point })),
  );
  return csvOf(columns, rows);
}

/** The operation of one type; it is the same for every type. */
function typeHandler(services: Services, type: string): Handler<AnalyticsRoute> {
  const { readPool, clock } = services;
  return async ({ params, query }, { principal, headers }) => {
    const { accountId } = principal;
    const { metrics, groupBy, page, limit } = query;
    const window = windowOf(query, clock.now());
    const isCsv = wantsCsv(query.format, headers);
    const shown = isCsv ? maxResultsPerCheck : page * limit;
    const { check, series, truncated } = await readPool.read(accountId, async (db) => {
      const [found] = await listAnalysedChecks(db, accountId, { ids: [params.id] });
      if (found === undefined || found.type !== type) throw notFound('check', params.id);
      const of = { accountId, check: found, window, query, shown };
      return { check: found, ...(await readSeries({ db, clock }, of)) };
    });
    if (isCsv) return asCsv(csvOfSeries(series, query), `${check.id}.csv`);
    const offset = (page - 1) * limit;
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
      truncated,
    };
  };
}

/** All columns of answers about many checks. */
const figureColumns = [
  'checkId',
  'checkType',
  ...new Set(
    Object.keys(analyticsOf).flatMap((type) =>
      figuresOf(type as CheckType).map(({ name }) => name),
    ),
  ),
];

/** Binds the operation of every type that has one. */
export function analyticsTypeBindings(services: Services): BoundRoute[] {
  return analyticsTypeRoutes.map(({ type, route }) => ({
    route: route as unknown as Route,
    handle: typeHandler(services, type) as BoundRoute['handle'],
  }));
}

/** What the project of a check was deployed from, the newest first. */
async function commitsOf(db: Db, accountId: string, checkId: string) {
  const rows = await db
    .selectFrom('project_resources')
    .innerJoin('project_commits', 'project_commits.project_id', 'project_resources.project_id')
    .select(['project_commits.deployed_at', 'project_commits.commit_json'])
    .where('project_resources.account_id', '=', accountId)
    .where('project_resources.type', '=', 'check')
    .where('project_resources.physical_id', '=', checkId)
    .orderBy('project_commits.id', 'desc')
    .execute();
  return rows.map(({ deployed_at: at, commit_json: json }) => ({
    at,
    commit: fromJson<Commit>(json),
  }));
}
type Deployed = Awaited<ReturnType<typeof commitsOf>>;

function toWire({ lastRunAt, failingSince, recent, ...numbers }: SuiteTest, commits: Deployed) {
  const before = failingSince === null ? undefined : commits.find(({ at }) => at <= failingSince);
  return {
    ...numbers,
    failingSinceCommit: before?.commit ?? null,
    lastRunAt: toTimestamp(lastRunAt),
    failingSince: failingSince === null ? null : toTimestamp(failingSince),
    recent: recent.map(({ at, ...run }) => ({ at: toTimestamp(at), ...run })),
  };
}

export function analyticsHandlers(services: Services): Handlers<typeof analyticsRoutes> {
  const { readPool, clock } = services;
  return {
    getAnalyticsOfChecks: async ({ query, body }, { principal, headers }) => {
      const { accountId } = principal;
      const now = clock.now();
      const window = windowOf(query, now);
      const answer = await readPool.read(accountId, (db) =>
        readFigures(db, { accountId, checkIds: body.checkIds, window, now }),
      );
      if (wantsCsv(query.format, headers)) return asCsv(csvOf(figureColumns, answer), 'checks.csv');
      return answer;
    },

    listSuiteTests: async ({ params, query }, { principal: { accountId }, setTotal }) => {
      const window = windowOf(query, clock.now());
      const { samples, truncated, commits } = await readPool.read(accountId, async (db) => {
        const [found] = await listAnalysedChecks(db, accountId, { ids: [params.id] });
        const hasTests = found !== undefined && analyticsOf[found.type].groupBy.includes('test');
        if (!hasTests) throw notFound('check', params.id);
        const read = await readSamples(db, {
          ...{ accountId, checkId: found.id, window, groupBy: 'test', statuses: [] },
          ...{ bases: ['testsFlaky', 'testDuration'], maxResults: maxSuiteResults },
        });
        return { ...read, commits: await commitsOf(db, accountId, found.id) };
      });
      const tests = testsOfSuite(samples, query.order);
      const offset = (query.page - 1) * query.limit;
      const shown = tests.slice(offset, offset + query.limit);
      setTotal(tests.length, offset, shown.length);
      return { tests: shown.map((test) => toWire(test, commits)), truncated };
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
