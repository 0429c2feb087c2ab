/** What can be computed from results, per check type. Data; spec: Metric identifiers. */
import type { CheckType } from '../contract/primitives.ts';

/** Suffixes of metrics. Spec: statistic variants. */
export const statistics = [
  'avg',
  'max',
  'median',
  'min',
  'p50',
  'p90',
  'p95',
  'p99',
  'stddev',
  'sum',
] as const;
export type Statistic = (typeof statistics)[number];

interface BaseFacts {
  unit: 'milliseconds' | 'score' | 'count' | 'percentage';
  label: string;
  /** Set for metrics that are aggregates by themselves and have no variants. */
  own?: Statistic;
}

const inMs = (label: string) => ({ unit: 'milliseconds', label }) as const;
const counted = (label: string) => ({ unit: 'count', label }) as const;

const baseMetrics = {
  responseTime: inMs('Response time'),
  total: inMs('Total time'),
  wait: inMs('Wait'),
  dns: inMs('Name resolution'),
  tcp: inMs('TCP connection'),
  firstByte: inMs('Time to first byte'),
  download: inMs('Download'),
  connection: inMs('Connection'),
  data: inMs('Data'),
  packetLoss: { unit: 'percentage', label: 'Packet loss' },
  latencyMin: inMs('Lowest latency'),
  latencyMax: inMs('Highest latency'),
  latencyAvg: inMs('Average latency'),
  latencyStdDev: inMs('Standard deviation of latency'),
  TTFB: inMs('Time to first byte'),
  FCP: inMs('First contentful paint'),
  LCP: inMs('Largest contentful paint'),
  CLS: { unit: 'score', label: 'Cumulative layout shift' },
  TBT: inMs('Total blocking time'),
  consoleErrors: counted('Console errors'),
  networkErrors: counted('Network errors'),
  userScriptErrors: counted('User script errors'),
  documentErrors: counted('Document errors'),
  availability: { unit: 'percentage', label: 'Availability', own: 'avg' },
  retries: { unit: 'count', label: 'Retries', own: 'sum' },
} as const satisfies Record<string, BaseFacts>;

export type BaseMetric = keyof typeof baseMetrics;
/** Metrics that a single result has a value of. */
export type MeasuredMetric = Exclude<BaseMetric, 'availability' | 'retries'>;

/** The figures of `POST /v1/analytics/checks`: prefix of the field, metric behind it, suffixes. */
interface Figure {
  prefix: string;
  base: MeasuredMetric;
  statistics: readonly Statistic[];
}

export interface AnalyticsFacts {
  title: string;
  /** Path part and name of its own operation; absent for types that have none. */
  path?: string;
  operationId?: string;
  metrics: readonly BaseMetric[];
  defaultMetric?: string;
  groupBy: readonly ('runLocation' | 'statusCode' | 'pageIndex')[];
  /** Values of `filterByStatus`. */
  statuses: readonly string[];
  /** The first one is also what the report shows. */
  figures: readonly Figure[];
}

const outcome = ['availability', 'retries'] as const;
const ofHttp = ['responseTime', 'wait', 'dns', 'tcp', 'firstByte', 'download', ...outcome] as const;
const withResponseTime = {
  metrics: ['responseTime', ...outcome],
  groupBy: ['runLocation'],
  statuses: ['success', 'failure'],
  figures: [
    { prefix: 'responseTime', base: 'responseTime', statistics: ['avg', 'p50', 'p95', 'p99'] },
  ],
} as const;

/** The table of types. Everything in analytics that differs between types stands here. */
export const analyticsOf = {
  API: {
    ...withResponseTime,
    title: 'API check',
    path: 'api-checks',
    operationId: 'getApiCheckAnalytics',
    metrics: ofHttp,
    groupBy: ['runLocation', 'statusCode'],
  },
  URL: {
    ...withResponseTime,
    title: 'URL monitor',
    path: 'url-monitors',
    operationId: 'getUrlMonitorAnalytics',
    metrics: ofHttp,
    groupBy: ['runLocation', 'statusCode'],
  },
  BROWSER: {
    ...withResponseTime,
    title: 'browser check',
    path: 'browser-checks',
    operationId: 'getBrowserCheckAnalytics',
    metrics: [
      'responseTime',
      'TTFB',
      'FCP',
      'LCP',
      'CLS',
      'TBT',
      'consoleErrors',
      'networkErrors',
      'userScriptErrors',
      'documentErrors',
      ...outcome,
    ],
    groupBy: ['runLocation', 'pageIndex'],
  },
  MULTI_STEP: {
    ...withResponseTime,
    title: 'multistep check',
    path: 'multistep-checks',
    operationId: 'getMultistepCheckAnalytics',
  },
  PLAYWRIGHT: {
    ...withResponseTime,
    title: 'Playwright check',
    path: 'playwright-checks',
    operationId: 'getPlaywrightCheckAnalytics',
  },
  TCP: {
    ...withResponseTime,
    title: 'TCP monitor',
    path: 'tcp-checks',
    operationId: 'getTcpCheckAnalytics',
    metrics: ['total', 'dns', 'connection', 'data', ...outcome],
  },
  DNS: {
    ...withResponseTime,
    title: 'DNS monitor',
    path: 'dns',
    operationId: 'getDnsAnalytics',
    metrics: ['total', ...outcome],
  },
  ICMP: {
    ...withResponseTime,
    title: 'ICMP monitor',
    path: 'icmp',
    operationId: 'getIcmpAnalytics',
    metrics: ['packetLoss', 'latencyMin', 'latencyMax', 'latencyAvg', 'latencyStdDev', ...outcome],
    figures: [
      { prefix: 'latency', base: 'latencyAvg', statistics: ['avg', 'p50', 'p95', 'p99'] },
      { prefix: 'packetLoss', base: 'packetLoss', statistics: ['avg', 'p95', 'p99'] },
    ],
  },
  HEARTBEAT: {
    title: 'heartbeat monitor',
    path: 'heartbeat-checks',
    operationId: 'getHeartbeatCheckAnalytics',
    metrics: outcome,
    defaultMetric: 'availability',
    groupBy: [],
    statuses: ['FAILING', 'EARLY', 'RECEIVED', 'GRACE', 'LATE'],
    figures: [],
  },
  AGENTIC: { ...withResponseTime, title: 'agentic check' },
} as const satisfies Record<CheckType, AnalyticsFacts>;

/** One metric as it is asked for: `responseTime_p95`. */
export interface Metric {
  name: string;
  base: BaseMetric;
  /** Null for raw points. */
  statistic: Statistic | null;
  unit: BaseFacts['unit'];
  label: string;
}

/** Every metric of a type: each base metric followed by its variants. */
export function metricsOf(facts: AnalyticsFacts): Metric[] {
  return facts.metrics.flatMap((base): Metric[] => {
    const { unit, label, own }: BaseFacts = baseMetrics[base];
    if (own !== undefined) return [{ name: base, base, statistic: own, unit, label }];
    const variants = statistics.map((statistic) => ({
      name: `${base}_${statistic}`,
      base,
      statistic,
      unit,
      label: `${label} (${statistic})`,
    }));
    return [{ name: base, base, statistic: null, unit, label }, ...variants];
  });
}
