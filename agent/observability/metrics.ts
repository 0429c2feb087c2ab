/** Every metric of the agent. Base units; no target, URL or error text is ever a label. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface AgentMetrics {
  registry: Registry;
  runs: Counter<'check_type' | 'outcome'>;
  running: Gauge<'pool'>;
  queued: Gauge<'pool'>;
  slotLateness: Histogram;
  missedSlots: Counter<'reason'>;
  outboxRecords: Gauge;
  outboxBytes: Gauge;
  outboxOldest: Gauge;
  outboxDropped: Gauge;
  submissions: Counter<'outcome'>;
  submitFailures: Counter<'code'>;
  checkIns: Counter<'outcome'>;
  clockOffset: Gauge;
  internalErrors: Counter<'code'>;
  assignedChecks: Gauge;
  artifactUploads: Counter<'outcome'>;
  artifactUploadedBytes: Counter;
  artifactUploadFailures: Counter<'code'>;
  artifactSpoolFiles: Gauge;
  artifactSpoolBytes: Gauge;
  artifactsDropped: Gauge;
}

/** Declares all metrics on a registry. */
export function createMetrics(registry: Registry, version: string): AgentMetrics {
  const registers = [registry];
  const name = (tail: string) => `monitor_agent_${tail}`;
  const counter = <L extends string>(tail: string, help: string, labelNames: L[] = []) =>
    new Counter<L>({ name: name(tail), help, labelNames, registers });
  const gauge = <L extends string>(tail: string, help: string, labelNames: L[] = []) =>
    new Gauge<L>({ name: name(tail), help, labelNames, registers });
  new Gauge({
    name: name('build_info'),
    help: 'Version of the agent; always 1',
    labelNames: ['version', 'node'],
    registers,
  }).set({ version, node: process.versions.node }, 1);
  new Gauge({
    name: name('resident_memory_bytes'),
    help: 'Memory of the agent process',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  return {
    registry,
    runs: counter('runs_total', 'Attempts made, by check type and outcome', [
      'check_type',
      'outcome',
    ]),
    running: gauge('running', 'Runs in progress, by pool', ['pool']),
    queued: gauge('queued', 'Runs that wait for a free place, by pool', ['pool']),
    slotLateness: new Histogram({
      name: name('slot_lateness_seconds'),
      help: 'Time from a slot to the start of its run',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers,
    }),
    missedSlots: counter('missed_slots_total', 'Slots the agent did not run, by reason', [
      'reason',
    ]),
    outboxRecords: gauge('outbox_records', 'Results not yet delivered'),
    outboxBytes: gauge('outbox_bytes', 'Size of the results not yet delivered'),
    outboxOldest: gauge('outbox_oldest_age_seconds', 'Age of the oldest result not yet delivered'),
    outboxDropped: gauge('outbox_dropped_results', 'Results given up since the outbox was made'),
    submissions: counter('submissions_total', 'Results handed in, by outcome', ['outcome']),
    submitFailures: counter('submit_failures_total', 'Batches that could not be handed in', [
      'code',
    ]),
    checkIns: counter('check_ins_total', 'Check-ins, by outcome', ['outcome']),
    clockOffset: gauge('clock_offset_seconds', 'Clock of the control plane minus ours'),
    internalErrors: counter('internal_errors_total', 'Faults of our own, by code', ['code']),
    assignedChecks: gauge('assigned_checks', 'Checks this agent runs at the moment'),
    artifactUploads: counter('artifact_uploads_total', 'Files of results, by outcome', ['outcome']),
    artifactUploadedBytes: counter(
      'artifact_uploaded_bytes_total',
      'Size of the files of results that were uploaded',
    ),
    artifactUploadFailures: counter(
      'artifact_upload_failures_total',
      'Uploads of files that have to come again',
      ['code'],
    ),
    artifactSpoolFiles: gauge('artifact_spool_files', 'Files of results not yet uploaded'),
    artifactSpoolBytes: gauge('artifact_spool_bytes', 'Size of the files not yet uploaded'),
    artifactsDropped: gauge('artifacts_dropped', 'Files of results given up since the start'),
  };
}
