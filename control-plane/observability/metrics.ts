/**
 * All metrics of the process, in base units. Labels are routes, reasons and locations, never a URL,
 * a check or an error text. Metrics of checks are in `analytics/prometheus/`.
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface ControlPlaneMetrics {
  registry: Registry;
  requests: Counter<'route' | 'method' | 'status'>;
  requestDuration: Histogram<'route'>;
  ingested: Counter<'kind' | 'outcome'>;
  ingestDuration: Histogram;
  ingestBatch: Histogram;
  resultLag: Histogram;
  commitDuration: Histogram;
  commitWrites: Histogram;
  commitFailures: Counter;
  missedSlots: Counter<'reason'>;
  deliveries: Counter<'outcome'>;
  timerDuration: Histogram<'operation'>;
  timerFailures: Counter<'operation'>;
  lostResults: Gauge;
  agentErrors: Counter<'code'>;
  unreceivable: Counter<'cause'>;
  clockSteps: Counter;
}

const quick = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** Check-ins are long polls of up to 25 seconds. */
const ofRequests = [0.005, 0.025, 0.1, 0.25, 1, 5, 30];
const ofLag = [0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600, 86_400];
const lagPrecisionMs = 20;

/** Agents of any version send codes, so their number is limited. */
const maxCodes = 64;

/** Limits the values of a label; further values become `other`. */
export function boundedLabel(most: number = maxCodes): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (!known.has(value) && known.size >= most) return 'other';
    known.add(value);
    return value;
  };
}

/** Declares all metrics on a registry, with the default metrics of Node. */
export function createMetrics(
  registry: Registry,
  version: string,
  droppedLines = () => 0,
): ControlPlaneMetrics {
  const registers = [registry];
  const name = (tail: string) => `monitor_control_plane_${tail}`;
  const counter = <L extends string>(tail: string, help: string, labelNames: L[] = []) =>
    new Counter<L>({ name: name(tail), help, labelNames, registers });
  const histogram = <L extends string>(
    tail: string,
    help: string,
    buckets: number[],
    labelNames: L[] = [],
  ) => new Histogram<L>({ name: name(tail), help, buckets, labelNames, registers });
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: lagPrecisionMs });
  // Gauges with the name of a counter; `nodejs_active_handles` and the others count the same by type.
  for (const what of ['handles', 'requests', 'resources']) {
    registry.removeSingleMetric(`nodejs_active_${what}_total`);
  }
  new Gauge({
    name: name('build_info'),
    help: 'Version of the control plane; always 1',
    labelNames: ['version', 'node'],
    registers,
  }).set({ version, node: process.versions.node }, 1);
  new Gauge({
    name: name('log_dropped_lines'),
    help: 'Lines of the log that could not be written',
    registers,
    collect() {
      this.set(droppedLines());
    },
  });
  return {
    registry,
    requests: counter(
      'http_requests_total',
      'Requests answered, by operation of the API, method and status; `other` for pages and files',
      ['route', 'method', 'status'],
    ),
    requestDuration: histogram(
      'http_request_duration_seconds',
      'Time to the end of an answer; check-ins of agents are long polls',
      ofRequests,
      ['route'],
    ),
    ingested: counter(
      'ingested_items_total',
      'Submissions of agents, by kind (result, missed, certificate) and outcome: accepted, duplicate, late, refused',
      ['kind', 'outcome'],
    ),
    ingestDuration: histogram(
      'ingest_duration_seconds',
      'Time from the arrival of a batch of results to its durable commit',
      quick,
    ),
    ingestBatch: histogram(
      'ingest_commit_items',
      'Results that share a durable commit',
      [1, 5, 20, 100, 500, 2_000],
    ),
    resultLag: histogram(
      'result_lag_seconds',
      'Time from the end of an attempt to its arrival here',
      ofLag,
    ),
    commitDuration: histogram(
      'commit_duration_seconds',
      'Time of a durable commit of writes other than results',
      quick,
    ),
    commitWrites: histogram('commit_writes', 'Writes that share such a commit', [1, 2, 5, 20, 100]),
    commitFailures: counter('commit_failures_total', 'Such commits that failed'),
    missedSlots: counter('missed_slots_total', 'Missed slots, by reason', ['reason']),
    deliveries: counter(
      'deliveries_total',
      'Attempts to deliver a notification: success, failure, rate_limited, or retry for those that are tried again',
      ['outcome'],
    ),
    timerDuration: histogram('timer_duration_seconds', 'Duration of a periodic operation', quick, [
      'operation',
    ]),
    timerFailures: counter('timer_failures_total', 'Periodic operations that failed', [
      'operation',
    ]),
    lostResults: new Gauge({
      name: name('lost_results'),
      help: 'Acknowledged results lost by the database in the most recent loss',
      registers,
    }),
    agentErrors: counter(
      'agent_errors_total',
      'Internal errors that agents reported (external error observability), by code',
      ['code'],
    ),
    unreceivable: counter(
      'unreceivable_seconds_total',
      'Time in which nothing could be received, by cause, such as down, disk-full or database-away',
      ['cause'],
    ),
    clockSteps: counter('clock_steps_total', 'How often the wall clock was set'),
  };
}
