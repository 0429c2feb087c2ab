/** Reports about checks. */
import { scheduler } from 'node:timers/promises';
import { isPinged } from '@monitor/shared/contract/checks/index.ts';
import { maxResultsInAll, maxResultsPerCheck } from '@monitor/shared/contract/analytics.ts';
import type { reportingRoutes } from '@monitor/shared/contract/reporting.ts';
import { analyticsOf, type Metric } from '@monitor/shared/domain/metrics.ts';
import { invalidQuery } from '../../errors/api-error.ts';
import { toTimestamp } from '../../db/columns.ts';
import { aggregate, analyticsWindow, rounded } from '../decide/analytics.ts';
import { csvOf } from '../../core/decide/csv.ts';
import { coveredMs, reportBuckets, serviceLevel, spansWithout } from '../decide/report.ts';
import {
  availabilityWithin,
  type HeartbeatTimes,
  readHeartbeatTimes,
} from '../../heartbeats/index.ts';
import { plannedBetween, type Occurrence } from '../../maintenance/index.ts';
import type { Window } from '../../core/decide/results-window.ts';
import { listed, type Span } from '../decide/roll-ups/spans.ts';
import { Tally } from '../decide/roll-ups/tally.ts';
import { asCsv, wantsCsv } from '../../http/answer.ts';
import type { Handlers } from '../../http/handlers.ts';
import { listAnalysedChecks, type AnalysedCheck } from '../analysed-checks.ts';
import { idleTimes } from '../../scheduling/index.ts';
import { readSnapshots, readTallies } from '../read-tallies.ts';
import type { Services } from '../../core/services.ts';
import type { Db } from '../../db/tables.ts';

type AskedMetric = Pick<Metric, 'name' | 'base' | 'statistic'>;

/** The metrics of checks in the report, by type: those of the first figure. */
const metricsOf = new Map(
  Object.entries(analyticsOf).map(([type, { figures }]): [string, AskedMetric[]] => [
    type,
    [
      { name: 'successRatio', base: 'availability', statistic: 'avg' },
      ...figures.slice(0, 1).flatMap(({ base }) =>
        (['avg', 'p95', 'p99'] as const).map((name) => ({
          ...{ name, base: base.name, statistic: name },
        })),
      ),
    ],
  ]),
);

/** Checks whose sums are read in one snapshot; other requests run between two of them. */
const batchChecks = 50;

/** The numbers of one bucket, or of all of them. */
function numbersOf(
  check: AnalysedCheck,
  tally: Tally | undefined,
  spans: readonly Span[],
  target: number | undefined,
  now: number,
  times: HeartbeatTimes | null,
  idle: readonly Occurrence[],
) {
  // For a heartbeat the time without pings counts, not the number of missing pings.
  const availability =
    times === null ? (tally?.availability ?? null) : availabilityWithin(times, spans, now);
  const numbers = {
    successRatio: null,
    avg: null,
    p95: null,
    p99: null,
    ...aggregate(tally, metricsOf.get(check.type) ?? []),
    ...(times === null ? {} : { successRatio: rounded(availability) }),
  };
  if (target === undefined) return numbers;
  // Of a heartbeat the time counts of which the availability is.
  const since = Math.max(check.createdAt, times?.firstAt ?? 0);
  const ofMs = coveredMs(spansWithout(spans, idle), since, now);
  return { ...numbers, slo: serviceLevel(target, availability, ofMs) };
}

type Numbers = ReturnType<typeof numbersOf>;

interface Row {
  name: string;
  checkId: string;
  checkType: AnalysedCheck['type'];
  deactivated: boolean;
  tags: string[];
  aggregate: Numbers;
  aggregates?: ({ from: string; to: string } & Numbers)[];
}

function csvOfNumbers(numbers: Numbers) {
  const { slo, ...rest } = numbers as Numbers & { slo?: ReturnType<typeof serviceLevel> };
  return {
    ...rest,
    target: slo?.target,
    isMet: slo?.isMet,
    downtimeMinutes: slo?.downtimeMinutes,
    ...slo?.errorBudget,
  };
}

/** One line per check, or per check and bucket. */
function csvOfReport(rows: readonly Row[], hasBuckets: boolean, hasTarget: boolean): string {
  const columns = [
    ...['name', 'checkId', 'checkType', 'deactivated', 'tags'],
    ...(hasBuckets ? ['from', 'to'] : []),
    ...['successRatio', 'avg', 'p95', 'p99'],
    ...(hasTarget ? ['target', 'isMet', 'downtimeMinutes'] : []),
    ...(hasTarget ? ['allowedMinutes', 'usedMinutes', 'remainingMinutes', 'usedPercent'] : []),
  ];
  const lines = rows.flatMap(({ aggregate: whole, aggregates, tags, ...check }) =>
    (hasBuckets ? (aggregates ?? []) : [whole]).map((numbers) => ({
      ...check,
      tags: tags.join(' '),
      ...csvOfNumbers(numbers),
    })),
  );
  return csvOf(columns, lines);
}

interface ReportOf {
  accountId: string;
  spansOf: (check: AnalysedCheck) => Span[];
}

/** The checks of a report with their spans and sums. */
async function* snapshotsOf(
  db: Db,
  checks: readonly AnalysedCheck[],
  { accountId, spansOf }: ReportOf,
) {
  for (let from = 0; from < checks.length; from += batchChecks) {
    if (from > 0) await scheduler.yield();
    const batch = checks.slice(from, from + batchChecks).map((check) => {
      const spans = spansOf(check);
      const request = {
        ...{ accountId, checkId: check.id, checkType: check.type, spans: listed(spans) },
        bases: (metricsOf.get(check.type) ?? []).map(({ base }) => base),
        statuses: [],
      };
      return { check, spans, request };
    });
    const snapshots = await readSnapshots(
      db,
      batch.map(({ request }) => request),
    );
    for (const [index, each] of batch.entries()) yield { ...each, snapshot: snapshots[index] };
  }
}

export function reportingHandlers(services: Services): Handlers<typeof reportingRoutes> {
  const { readPool, clock } = services;
  return {
    getReport: async ({ query }, { principal, headers }) => {
      const { accountId } = principal;
      const { granularity, timezone, target } = query;
      const now = clock.now();
      const window = analyticsWindow(query, now, timezone);
      if ('field' in window) throw invalidQuery(window.field, window.problem);
      const buckets: Window[] | { field: string; problem: string } =
        granularity === undefined ? [window] : reportBuckets(window, granularity, timezone);
      if ('field' in buckets) throw invalidQuery(buckets.field, buckets.problem);
      const rows = await readPool.read(accountId, async (db) => {
        const checks = await listAnalysedChecks(db, accountId, {
          ...(query.filterByTags && { tags: query.filterByTags }),
          ...(query.deactivated !== undefined && { activated: !query.deactivated }),
        });
        const checkIds = checks.map(({ id }) => id);
        const maintenance = await plannedBetween(db, accountId, checkIds, window);
        const idleOf: ReadonlyMap<string, Occurrence[]> =
          target === undefined ? new Map() : await idleTimes(db, accountId);
        const found: Row[] = [];
        let left = maxResultsInAll;
        for await (const { check, spans, request, snapshot } of snapshotsOf(db, checks, {
          accountId,
          spansOf: (check) => spansWithout(buckets, maintenance.get(check.id) ?? []),
        })) {
          const share = Math.max(1, Math.floor(left / (checks.length - found.length)));
          const maxResults = Math.min(share, maxResultsPerCheck);
          const { tallies, read } = await readTallies(db, { ...request, maxResults }, snapshot);
          left -= read;
          const times = isPinged(check.type)
            ? await readHeartbeatTimes(db, accountId, check.id, window.from)
            : null;
          // No objective applies while the check was deactivated.
          const idle =
            times?.paused.map(({ from, to }) => ({ startsAt: from, endsAt: to })) ??
            idleOf.get(check.id) ??
            [];
          const tallyOf = (bucket: number) => tallies.get(bucket)?.get(null);
          const spansOf = Map.groupBy(spans, ({ key }) => key);
          const numbersOfBucket = ({ from, to }: Window, bucket: number) => ({
            from: toTimestamp(from),
            to: toTimestamp(to),
            ...numbersOf(
              check,
              tallyOf(bucket),
              spansOf.get(bucket) ?? [],
              target,
              now,
              times,
              idle,
            ),
          });
          const aggregates = granularity === undefined ? [] : buckets.map(numbersOfBucket);
          const whole = new Tally();
          for (const bucket of buckets.keys()) whole.merge(tallyOf(bucket) ?? new Tally());
          found.push({
            name: check.name,
            checkId: check.id,
            checkType: check.type,
            deactivated: !check.activated,
            tags: check.tags,
            aggregate: numbersOf(check, whole, spans, target, now, times, idle),
            ...(granularity !== undefined && { aggregates }),
          });
        }
        return found;
      });
      if (!wantsCsv(query.format, headers)) return rows;
      const csv = csvOfReport(rows, granularity !== undefined, target !== undefined);
      return asCsv(csv, 'report.csv');
    },
  };
}
