/** Every metric of the agent. Base units; no target, URL or error text is ever a label. */
import { statfs } from 'node:fs/promises';
import { collectDefaultMetrics, Counter, Gauge, Histogram, type Registry } from 'prom-client';

const quick = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const long = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900];
/** The event loop is looked at this often; finer costs more wake-ups than it tells. */
const lagPrecisionMs = 20;

function declareOn(registry: Registry) {
  const registers = [registry];
  const name = (tail: string) => `monitor_agent_${tail}`;
  return {
    counter: <L extends string>(tail: string, help: string, labelNames: L[] = []) =>
      new Counter<L>({ name: name(tail), help, labelNames, registers }),
    gauge: <L extends string>(tail: string, help: string, labelNames: L[] = []) =>
      new Gauge<L>({ name: name(tail), help, labelNames, registers }),
    histogram: <L extends string>(
      tail: string,
      help: string,
      buckets: number[],
      labelNames: L[] = [],
    ) => new Histogram<L>({ name: name(tail), help, buckets, labelNames, registers }),
  };
}
type Declare = ReturnType<typeof declareOn>;

/** Runs, their queues, and the CPU that they get. */
const runMetrics = ({ counter, gauge, histogram }: Declare) => ({
  runs: counter(
    'runs_total',
    'Attempts made, by check type and outcome: passed, failed, or error for agent errors',
    ['check_type', 'outcome'],
  ),
  runDuration: histogram(
    'run_duration_seconds',
    'Time an attempt took, from its start to its verdict',
    long,
    ['check_type'],
  ),
  running: gauge('running', 'Attempts in progress, by pool: light or heavy', ['pool']),
  permits: gauge('places', 'Attempts that may be in progress at once, by pool', ['pool']),
  queued: gauge('queued', 'Attempts that wait for a permit, by pool', ['pool']),
  queueWait: histogram('queue_wait_seconds', 'Time an attempt waited for a permit', quick, [
    'pool',
  ]),
  slotLateness: histogram(
    'slot_lateness_seconds',
    'Time from a slot to when its run was started',
    quick,
  ),
  missedSlots: counter('missed_slots_total', 'Slots the agent did not run, by reason', ['reason']),
  retries: counter(
    'retries_total',
    'Retries by place: at this location, or rescheduled to another',
    ['where'],
  ),
  underLoad: counter(
    'runs_under_load_total',
    'Attempts of which it is undecided whether they broke a time limit, since the agent waited',
  ),
  voidAttempts: counter(
    'void_attempts_total',
    'Attempts that say nothing since the agent did not have their time, by cause: suspended or overloaded',
    ['cause'],
  ),
  overloaded: gauge('overloaded', '1 while the agent has too little CPU for its work'),
  cpuWait: gauge(
    'cpu_wait_ratio',
    'Share of the time in which the main thread wanted a CPU and had none, over the last minute',
  ),
  suspensions: counter('suspensions_total', 'Times the process was stopped or the machine slept'),
  suspendedTime: counter('suspended_seconds_total', 'Time the process was stopped or asleep'),
});

/** Results that wait, and files that were found damaged. */
const storageMetrics = ({ counter, gauge }: Declare) => ({
  outboxRecords: gauge('outbox_records', 'Results not yet delivered'),
  outboxBytes: gauge('outbox_bytes', 'Size of the results not yet delivered'),
  outboxMaxBytes: gauge('outbox_max_bytes', 'Room for results not yet delivered'),
  outboxOldest: gauge('outbox_oldest_age_seconds', 'Age of the oldest result not yet delivered'),
  logDropped: gauge('log_dropped_lines', 'Lines of the log that could not be written'),
  outboxDropped: gauge(
    'outbox_dropped_results',
    'Results that lost what they saw, since the outbox was made',
  ),
  damages: counter('damaged_files_total', "Files of the agent's own that were found damaged", [
    'file',
  ]),
  damagedRecords: counter(
    'damaged_records_lost_total',
    'Records that were lost with them, as far as they can be counted',
    ['file'],
  ),
});

/** Calls of the control plane. */
const linkMetrics = ({ counter, gauge }: Declare) => ({
  submissions: counter(
    'submissions_total',
    'Results submitted, by outcome: accepted, duplicate, late or refused',
    ['outcome'],
  ),
  submitFailures: counter(
    'submit_failures_total',
    'Batches of results that have to come again, by code',
    ['code'],
  ),
  lastSubmission: gauge(
    'last_submission_timestamp_seconds',
    'When the control plane last took results',
  ),
  checkIns: counter('check_ins_total', 'Check-ins: answered, or the code of what went wrong', [
    'outcome',
  ]),
  linkUp: gauge('link_up', '1 while the control plane answers check-ins'),
  lastCheckIn: gauge('last_check_in_timestamp_seconds', 'When a check-in was last answered'),
  clockOffset: gauge('clock_offset_seconds', 'Clock of the control plane minus that of the agent'),
  clockUncertainty: gauge(
    'clock_uncertainty_seconds',
    'How wrong that number can be: half of the time on the way',
  ),
});

/** The agent itself: what it runs and is able to. */
const agentMetrics = ({ counter, gauge }: Declare) => ({
  internalErrors: counter('internal_errors_total', 'Agent errors, by code', ['code']),
  errorReports: counter(
    'error_reports_total',
    'Reports of external error observability: sent, failed',
    ['outcome'],
  ),
  assignedChecks: gauge('assigned_checks', 'Checks this agent runs at the moment'),
  draining: gauge('draining', '1 from the signal to stop on'),
  abilities: gauge(
    'ability',
    '1 for what this agent can do, 0 for what it cannot: icmp, capture, traceroute, browser',
    ['ability'],
  ),
});

/** Browsers, and what is kept of runs besides the result. */
const evidenceMetrics = ({ counter, gauge }: Declare) => ({
  browserLaunches: counter('browser_launches_total', 'Browsers started to stay open'),
  browserEnds: counter(
    'browser_ends_total',
    'Browsers that were ended: served, aged, unclean, gone, memory, broken or stopping',
    ['reason'],
  ),
  scrubbed: counter(
    'scrubbed_texts_total',
    'Texts and files of results in which something secret was removed',
  ),
  captures: counter('captures_total', 'Failures in the network, by evidence: packets or events', [
    'kind',
  ]),
  traceroutes: counter(
    'traceroutes_total',
    'Failures in the network, by traceroute: made or missing',
    ['outcome'],
  ),
  artifactUploads: counter('artifact_uploads_total', 'Files of results, by outcome', ['outcome']),
  artifactUploadedBytes: counter(
    'artifact_uploaded_bytes_total',
    'Size of the files of results that were uploaded',
  ),
  artifactUploadFailures: counter(
    'artifact_upload_failures_total',
    'Uploads of files that have to come again, by code',
    ['code'],
  ),
  artifactSpoolFiles: gauge('artifact_spool_files', 'Files of results not yet uploaded'),
  artifactSpoolBytes: gauge('artifact_spool_bytes', 'Size of the files not yet uploaded'),
  artifactsDropped: gauge('artifacts_dropped', 'Files of results given up since the start'),
  probes: counter(
    'probes_total',
    'Requests to /probe: success, failure, error (an agent error), invalid or busy',
    ['prober', 'outcome'],
  ),
  spans: counter('spans_total', 'Spans of runs: exported, refused or dropped', ['outcome']),
});

/** Declares all metrics on a registry, those of the process and of Node under their usual names. */
export function createMetrics(registry: Registry, version: string) {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: lagPrecisionMs });
  // Gauges with the name of a counter; `nodejs_active_handles` and the others count the same by type.
  for (const what of ['handles', 'requests', 'resources']) {
    registry.removeSingleMetric(`nodejs_active_${what}_total`);
  }
  const declare = declareOn(registry);
  declare
    .gauge('build_info', 'Version of the agent; always 1', ['version', 'node'])
    .set({ version, node: process.versions.node }, 1);
  return {
    registry,
    ...runMetrics(declare),
    ...storageMetrics(declare),
    ...linkMetrics(declare),
    ...agentMetrics(declare),
    ...evidenceMetrics(declare),
  };
}
export type AgentMetrics = ReturnType<typeof createMetrics>;

/** Adds the room that is left where the agent writes; `folders` by the name they get as a label. */
export function measureDisks(registry: Registry, folders: Readonly<Record<string, string>>): void {
  const name = 'monitor_agent_disk';
  const size = new Gauge({
    name: `${name}_size_bytes`,
    help: 'Size of the disk, by folder: data (AGENT_DATA_DIR) or work (AGENT_WORK_DIR)',
    labelNames: ['folder'],
    registers: [registry],
  });
  new Gauge({
    name: `${name}_free_bytes`,
    help: 'Room that is left on the disk, by folder',
    labelNames: ['folder'],
    registers: [registry],
    async collect() {
      for (const [folder, path] of Object.entries(folders)) {
        const disk = await statfs(path).catch(() => null);
        if (disk === null) continue;
        this.set({ folder }, disk.bavail * disk.bsize);
        size.set({ folder }, disk.blocks * disk.bsize);
      }
    },
  });
}
