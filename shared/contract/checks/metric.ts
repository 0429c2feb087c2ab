/** Metrics: numbers for analytics, reports and Prometheus. Data. */

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

export interface MetricDefinition {
  /** Name without a suffix: `latencyAvg`. */
  readonly name: string;
  readonly unit: 'milliseconds' | 'score' | 'count' | 'percentage' | 'bytes';
  readonly label: string;
  /**
   * Path of the value in the result details; `*` stands for every item of a list. Null for the
   * response time of the result.
   */
  readonly place: readonly string[] | null;
  /** Number in stored sums; it is never reused for another metric. */
  readonly storedAs: number;
}

function inMs(storedAs: number, name: string, label: string, ...place: string[]): MetricDefinition {
  return { name, unit: 'milliseconds', label, place, storedAs };
}

function counted(storedAs: number, name: string, label: string): MetricDefinition {
  return { name, unit: 'count', label, place: ['traceSummary', name], storedAs };
}

const phase = (storedAs: number, name: string, label: string) =>
  inMs(storedAs, name, label, 'response', 'timingPhases', name);
const vital = (storedAs: number, name: string, label: string) =>
  inMs(storedAs, name, label, 'pages', '*', 'webVitals', name, 'value');

function ofSuite(storedAs: number, name: string, label: string, field: string): MetricDefinition {
  return { name, unit: 'count', label, place: ['metrics', field], storedAs };
}

/** Metrics that several types share, or of types without metrics of their own. */
export const metrics = {
  responseTime: {
    name: 'responseTime',
    unit: 'milliseconds',
    label: 'Response time',
    place: null,
    storedAs: 1,
  } satisfies MetricDefinition,
  total: phase(2, 'total', 'Total time'),
  wait: phase(3, 'wait', 'Wait'),
  dns: phase(4, 'dns', 'Name resolution'),
  tcp: phase(5, 'tcp', 'TCP connection'),
  firstByte: phase(6, 'firstByte', 'Time to first byte'),
  download: phase(7, 'download', 'Download'),
  connection: phase(8, 'connection', 'Connection'),
  data: phase(9, 'data', 'Data'),
  packetLoss: {
    name: 'packetLoss',
    unit: 'percentage',
    label: 'Packet loss',
    place: ['response', 'packetLoss'],
    storedAs: 10,
  } satisfies MetricDefinition,
  latencyMin: inMs(11, 'latencyMin', 'Lowest latency', 'response', 'latency', 'min'),
  latencyMax: inMs(12, 'latencyMax', 'Highest latency', 'response', 'latency', 'max'),
  latencyAvg: inMs(13, 'latencyAvg', 'Average latency', 'response', 'latency', 'avg'),
  latencyStdDev: inMs(
    14,
    'latencyStdDev',
    'Standard deviation of latency',
    'response',
    'latency',
    'stdDev',
  ),
  TTFB: vital(15, 'TTFB', 'Time to first byte'),
  FCP: vital(16, 'FCP', 'First contentful paint'),
  LCP: vital(17, 'LCP', 'Largest contentful paint'),
  CLS: { ...vital(18, 'CLS', 'Cumulative layout shift'), unit: 'score' },
  TBT: vital(19, 'TBT', 'Total blocking time'),
  consoleErrors: counted(20, 'consoleErrors', 'Console errors'),
  networkErrors: counted(21, 'networkErrors', 'Network errors'),
  userScriptErrors: counted(22, 'userScriptErrors', 'User script errors'),
  documentErrors: counted(23, 'documentErrors', 'Document errors'),
  tests: ofSuite(40, 'tests', 'Tests', 'total'),
  testsPassed: ofSuite(41, 'testsPassed', 'Tests passed', 'passed'),
  testsFailed: ofSuite(42, 'testsFailed', 'Tests failed', 'failed'),
  testsFlaky: ofSuite(43, 'testsFlaky', 'Flaky tests', 'flaky'),
  testsSkipped: ofSuite(44, 'testsSkipped', 'Tests skipped', 'skipped'),
  testRetries: ofSuite(45, 'testRetries', 'Retries of tests', 'retries'),
  testDuration: inMs(46, 'testDuration', 'Duration of the tests', 'metrics', 'durationMs'),
  installTime: inMs(47, 'installTime', 'Installation', 'metrics', 'installMs'),
  requests: ofSuite(48, 'requests', 'Requests of pages', 'requests'),
  bytes: { ...ofSuite(49, 'bytes', 'Bytes of pages', 'bytes'), unit: 'bytes' },
  browserStart: inMs(50, 'browserStart', 'Start of the browser', 'metrics', 'browserStartMs'),
} as const satisfies Record<string, MetricDefinition>;

/** What the series of a type can be divided by. */
export const groupings = [
  'runLocation',
  'statusCode',
  'pageIndex',
  'project',
  'test',
  'page',
] as const;
export type Grouping = (typeof groupings)[number];

/** True for parts of a suite, of which there are no sums. */
export const isOfSuite = (groupBy: Grouping | undefined): boolean =>
  groupBy === 'project' || groupBy === 'test' || groupBy === 'page';

/** Metrics that a page of a suite has by itself. */
export const metricsOfPages: ReadonlySet<string> = new Set(
  [
    metrics.TTFB,
    metrics.FCP,
    metrics.LCP,
    metrics.CLS,
    metrics.TBT,
    metrics.requests,
    metrics.bytes,
  ].map(({ name }) => name),
);

/** Figures of `POST /v1/analytics/checks`: prefix of the field, metric, suffixes. */
interface Figure {
  prefix: string;
  base: MetricDefinition;
  statistics: readonly Statistic[];
}

/** Analytics of a check type, besides `availability` and `retries`, which every type has. */
export interface AnalyticsFacts {
  /** Path and name of its operation; null for types without one. */
  operation: { path: string; id: string } | null;
  metrics: readonly MetricDefinition[];
  /** Default metric of a request. */
  defaultMetric?: string;
  groupBy: readonly Grouping[];
  /** Values of `filterByStatus`. */
  statuses: readonly string[];
  /** The first one is also shown in the report. */
  figures: readonly Figure[];
  /** Charts on the page of a check. */
  chart: {
    /** Percentiles and lines by location; null for types without a time. */
    time: MetricDefinition | null;
    /** Further lines. */
    parts: readonly MetricDefinition[];
    /** True where the parts add up to the time. */
    isStacked: boolean;
  };
}

/** Percentiles and average of a metric in reports. */
export function figureOf(base: MetricDefinition, prefix = base.name): Figure {
  return { prefix, base, statistics: ['avg', 'p50', 'p95', 'p99'] };
}

/** The field of the p95 among the figures of many checks; null for types whose first figure is no time. */
export function p95FieldOf({ figures: [first] }: AnalyticsFacts) {
  return first?.base.unit === 'milliseconds' ? (`${first.prefix}_p95` as const) : null;
}

/** For types that are judged by their response time. */
export const responseTimeAnalytics = {
  metrics: [metrics.responseTime],
  groupBy: ['runLocation'],
  statuses: ['success', 'failure'],
  figures: [figureOf(metrics.responseTime)],
  chart: { time: metrics.responseTime, parts: [], isStacked: false },
} as const satisfies Omit<AnalyticsFacts, 'operation'>;

const { responseTime, wait, dns, tcp, firstByte, download } = metrics;
const httpPhases = [wait, dns, tcp, firstByte, download];

/** For types with one HTTP request and its redirects. */
export const httpAnalytics = {
  ...responseTimeAnalytics,
  metrics: [responseTime, ...httpPhases],
  groupBy: ['runLocation', 'statusCode'],
  chart: { time: responseTime, parts: httpPhases, isStacked: true },
} as const satisfies Omit<AnalyticsFacts, 'operation'>;
