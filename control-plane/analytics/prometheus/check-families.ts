/** Metrics of checks. */
import { isPinged } from '@monitor/shared/contract/checks/index.ts';
import { analyticsOf, measuredMetrics } from '@monitor/shared/domain/metrics.ts';
import { fromFlag } from '../../db/columns.ts';
import type { Db } from '../../db/tables.ts';
import { availabilityWithin, readHeartbeatTimes } from '../../heartbeats/index.ts';
import { listAnalysedChecks, type AnalysedCheck } from '../analysed-checks.ts';
import { hasResult, isKnown } from '../../results/index.ts';
import {
  outcomesFrom,
  readCheckNumbers,
  type CheckNumbers,
  type Outcomes,
} from './check-numbers.ts';
import type { Family, Sample } from '../../core/metric-family.ts';

const states = ['passing', 'degraded', 'failing'] as const satisfies (keyof Outcomes)[];

/** Phases of the response time, as results name them. */
const phases = ['wait', 'dns', 'tcp', 'connection', 'data', 'firstByte', 'download'] as const;

const quantiles = [
  ['0.5', 'p50'],
  ['0.9', 'p90'],
  ['0.95', 'p95'],
  ['0.99', 'p99'],
] as const;

/** Status columns of a check. */
interface Status {
  has_failures: number;
  is_degraded: number;
  longest_run_ms: number | null;
  last_started_at: number;
  ssl_days_remaining: number | null;
}

interface Heartbeat {
  last_ping_at: number | null;
  period_ms: number;
}

interface Seen {
  check: AnalysedCheck;
  group: string;
  status: Status | undefined;
  numbers: CheckNumbers | undefined;
  heartbeat: Heartbeat | undefined;
  /** Uptime of a heartbeat, 0 to 1; null for other checks. */
  timeUp: number | null;
}

/** Uptime in the hours that outcomes cover; null before the first ping, and for other checks. */
async function timeUpOf(
  db: Db,
  accountId: string,
  check: AnalysedCheck,
  now: number,
): Promise<number | null> {
  if (!isPinged(check.type)) return null;
  const from = outcomesFrom(now);
  const times = await readHeartbeatTimes(db, accountId, check.id, from);
  const percent = times === null ? null : availabilityWithin(times, [{ from, to: now }], now);
  return percent === null ? null : percent / 100;
}

async function readSeen(
  db: Db,
  accountId: string,
  now: number,
  withHour: boolean,
): Promise<Seen[]> {
  const checks = await listAnalysedChecks(db, accountId);
  const types = new Map(checks.map(({ id, type }) => [id, type]));
  const numbers = await readCheckNumbers(db, accountId, types, now, withHour);
  const statuses = await db
    .selectFrom('check_statuses')
    .select(['check_id', 'has_failures', 'is_degraded', 'longest_run_ms'])
    .select(['last_started_at', 'ssl_days_remaining'])
    .where('account_id', '=', accountId)
    .where(hasResult())
    .execute();
  const groups = await db
    .selectFrom('check_groups')
    .select(['id', 'name'])
    .where('account_id', '=', accountId)
    .execute();
  const heartbeats = await db
    .selectFrom('heartbeats')
    .select(['check_id', 'last_ping_at', 'period_ms'])
    .where('account_id', '=', accountId)
    .execute();
  const statusOf = new Map(statuses.map((row) => [row.check_id, row]));
  const groupNames = new Map(groups.map(({ id, name }) => [id, name]));
  const heartbeatOf = new Map(heartbeats.map((row) => [row.check_id, row]));
  const timesUp = new Map<string, number | null>();
  for (const check of checks) timesUp.set(check.id, await timeUpOf(db, accountId, check, now));
  return checks.map((check) => ({
    check,
    group: check.groupId === null ? '' : (groupNames.get(check.groupId) ?? ''),
    status: statusOf.get(check.id),
    numbers: numbers.get(check.id),
    heartbeat: heartbeatOf.get(check.id),
    timeUp: timesUp.get(check.id) ?? null,
  }));
}

function labelsOf({ id, name, type }: AnalysedCheck) {
  return { check_id: id, name, check_type: type.toLowerCase() };
}

function stateOf(status: Status): keyof Outcomes {
  if (fromFlag(status.has_failures)) return 'failing';
  return fromFlag(status.is_degraded) ? 'degraded' : 'passing';
}

function infoOf({ check, group }: Seen): Sample[] {
  const { activated, muted, tags } = check;
  const labels = {
    ...labelsOf(check),
    group,
    tags: tags.join(','),
    activated: String(activated),
    muted: String(muted),
  };
  return [{ labels, value: 1 }];
}

function outcomesOf({ check, numbers }: Seen): Sample[] {
  return outcomeSamples(check, numbers?.outcomes);
}

function outcomeSamples(
  check: AnalysedCheck,
  ofLocations: ReadonlyMap<string, Outcomes> = new Map(),
): Sample[] {
  return [...ofLocations].flatMap(([location, outcomes]) =>
    states.map((status) => ({
      labels: { ...labelsOf(check), location, status },
      value: outcomes[status],
    })),
  );
}

function successOf({ check, numbers, timeUp }: Seen): Sample[] {
  if (timeUp !== null) return [{ labels: labelsOf(check), value: timeUp }];
  const all = [...(numbers?.outcomes.values() ?? [])];
  const failing = all.reduce((sum, outcomes) => sum + outcomes.failing, 0);
  const total = all.reduce((sum, { passing, degraded }) => sum + passing + degraded, failing);
  return total === 0 ? [] : [{ labels: labelsOf(check), value: 1 - failing / total }];
}

function responseTimeOf({ check, numbers }: Seen): Sample[] {
  const [figure] = analyticsOf[check.type].figures;
  const times = figure === undefined ? undefined : numbers?.measured.get(figure.base.name);
  if (times === undefined) return [];
  const labels = labelsOf(check);
  return [
    ...quantiles.map(([quantile, statistic]) => ({
      labels: { ...labels, quantile },
      value: (times.statistic(statistic) ?? 0) / 1000,
    })),
    { labels, suffix: '_sum', value: times.sum / 1000 },
    { labels, suffix: '_count', value: times.count },
  ];
}

function meanOf({ numbers }: Seen, metric: string): number | null {
  return numbers?.measured.get(metric)?.statistic('avg') ?? null;
}

function phasesOf(seen: Seen): Sample[] {
  return phases.flatMap((phase) => {
    const mean = meanOf(seen, phase);
    if (mean === null) return [];
    return [{ labels: { ...labelsOf(seen.check), phase }, value: mean / 1000 }];
  });
}

/** One sample, or none without a value. */
function one(seen: Seen, value: number | null | undefined): Sample[] {
  return value === null || value === undefined ? [] : [{ labels: labelsOf(seen.check), value }];
}

function inSeconds(ms: number | null | undefined): number | null {
  return ms === null || ms === undefined ? null : ms / 1000;
}

interface Definition {
  name: string;
  type?: Family['type'];
  help: string;
  samplesOf: (seen: Seen) => Sample[];
}

const definitions: readonly Definition[] = [
  { name: 'monitor_check_info', help: 'A check and its settings, always 1', samplesOf: infoOf },
  {
    name: 'monitor_check_status',
    help: '1 for the status that the check is in, 0 for the others',
    samplesOf: ({ check, status }) =>
      !isKnown(status)
        ? []
        : states.map((state) => ({
            labels: { ...labelsOf(check), status: state },
            value: Number(stateOf(status) === state),
          })),
  },
  {
    name: 'monitor_check_degraded',
    help: '1 while the check passes but is too slow',
    samplesOf: (seen) =>
      one(seen, isKnown(seen.status) ? Number(stateOf(seen.status) === 'degraded') : null),
  },
  {
    name: 'monitor_check_last_run_timestamp_seconds',
    help: 'When the newest run began',
    samplesOf: (seen) => one(seen, inSeconds(seen.status?.last_started_at)),
  },
  {
    name: 'monitor_check_results',
    help: 'FINAL results of the last 24 hours',
    samplesOf: outcomesOf,
  },
  {
    name: 'monitor_check_success_ratio',
    help: 'Share of FINAL results of the last 24 hours that did not fail; of heartbeats, of time',
    samplesOf: successOf,
  },
  {
    name: 'monitor_check_response_time_seconds',
    type: 'summary',
    help: 'Response times of this hour and the one before; of ICMP, average latencies',
    samplesOf: responseTimeOf,
  },
  {
    name: 'monitor_check_phase_seconds',
    help: 'Mean length of a phase in this hour and the one before',
    samplesOf: phasesOf,
  },
  {
    name: 'monitor_check_packet_loss_ratio',
    help: 'Mean share of packets lost in this hour and the one before',
    samplesOf: (seen) => {
      const percent = meanOf(seen, 'packetLoss');
      return one(seen, percent === null ? null : percent / 100);
    },
  },
  {
    name: 'monitor_ssl_days_remaining',
    help: 'Days until the certificate expires',
    samplesOf: (seen) => one(seen, seen.status?.ssl_days_remaining),
  },
  {
    name: 'monitor_heartbeat_last_ping_timestamp_seconds',
    help: 'When a heartbeat monitor was last pinged',
    samplesOf: (seen) => one(seen, inSeconds(seen.heartbeat?.last_ping_at)),
  },
  {
    name: 'monitor_heartbeat_period_seconds',
    help: 'How often a heartbeat monitor expects a ping',
    samplesOf: (seen) => one(seen, inSeconds(seen.heartbeat?.period_ms)),
  },
];

const bucketSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Times of the current hour as histograms, by the name of their metric. */
function hourlyTimesOf({ check, numbers }: Seen): Sample[] {
  return [...(numbers?.hour?.measured ?? [])].flatMap(([metric, times]) => {
    if (measuredMetrics.get(metric)?.unit !== 'milliseconds') return [];
    const labels = { ...labelsOf(check), metric };
    const bucket = (le: string, value: number): Sample => ({
      ...{ labels: { ...labels, le }, suffix: '_bucket', value },
    });
    return [
      ...bucketSeconds.map((limit) => bucket(String(limit), times.countUpTo(limit * 1000))),
      bucket('+Inf', times.count),
      { labels, suffix: '_sum' as const, value: times.sum / 1000 },
      { labels, suffix: '_count' as const, value: times.count },
    ];
  });
}

/** Of the current hour alone: counts begin again with each hour. */
const hourlyDefinitions: readonly Definition[] = [
  {
    name: 'monitor_check_hour_results_total',
    type: 'counter',
    help: 'FINAL results since the hour began',
    samplesOf: ({ check, numbers }) => outcomeSamples(check, numbers?.hour?.outcomes),
  },
  {
    name: 'monitor_check_hour_seconds',
    type: 'histogram',
    help: 'Times of the results since the hour began',
    samplesOf: hourlyTimesOf,
  },
];

/** Names of the check metrics. */
export const checkMetricNames: readonly string[] = definitions.map(({ name }) => name);

/** The metrics of all checks of an account, with those of the current hour where they are asked for. */
export async function checkFamilies(
  db: Db,
  accountId: string,
  now: number,
  withHour = false,
): Promise<Family[]> {
  const seen = await readSeen(db, accountId, now, withHour);
  return [...definitions, ...(withHour ? hourlyDefinitions : [])].map(
    ({ name, type, help, samplesOf }) => ({
      name,
      type: type ?? 'gauge',
      help,
      samples: seen.flatMap(samplesOf),
    }),
  );
}
