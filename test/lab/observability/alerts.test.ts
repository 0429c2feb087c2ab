/** Each alert fires when it should and is silent when it should be, as Prometheus itself sees it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { before, test } from 'node:test';
import { parse, stringify } from 'yaml';

const promtool = '/usr/bin/promtool';
const rulesFile = resolve('deploy/prometheus/alerts.yaml');

/** `series values`, in the notation of promtool: one value a minute. */
type Series = readonly [series: string, values: string];

interface Case {
  fires: readonly Series[];
  silent: readonly Series[];
}

const agent = 'instance="a:8081",job="monitor-agent"';
const build: Series = [`monitor_agent_build_info{${agent}}`, '1x40'];
const plane = 'instance="c:9464"';
const ours: Series = [`monitor_control_plane_build_info{${plane}}`, '1x40'];

const ofAgent = (metric: string, values: string, labels = ''): Series => [
  `${metric}{${agent}${labels === '' ? '' : `,${labels}`}}`,
  values,
];
const ofPlane = (metric: string, values: string, labels = ''): Series => [
  `monitor_control_plane_${metric}{${plane}${labels === '' ? '' : `,${labels}`}}`,
  values,
];
const simple = (series: (values: string) => Series, fires: string, silent: string): Case => ({
  fires: [series(fires)],
  silent: [series(silent)],
});
/** A histogram of which all values are in the bucket up to `le`, or beyond all. */
const histogram = (series: (values: string, labels: string) => Series, slow: boolean): Series[] => [
  series(slow ? '0x40' : '0+60x40', 'le="0.1"'),
  series('0+60x40', 'le="5"'),
  series('0+60x40', 'le="+Inf"'),
];

const cases: Readonly<Record<string, Case>> = {
  MonitorAgentDown: simple((values) => ofAgent('up', values), '0x40', '1x40'),
  MonitorAgentLinkDown: {
    fires: [ofAgent('monitor_agent_link_up', '0x40'), ofAgent('monitor_agent_draining', '0x40')],
    // One that drains has said goodbye.
    silent: [ofAgent('monitor_agent_link_up', '0x40'), ofAgent('monitor_agent_draining', '1x40')],
  },
  MonitorAgentKeyRefused: {
    fires: [
      ofAgent('monitor_agent_check_ins_total', '0+1x40', 'outcome="KEY_REFUSED"'),
      ofAgent('monitor_agent_link_up', '0x40'),
    ],
    silent: [
      ofAgent('monitor_agent_check_ins_total', '0+1x40', 'outcome="answered"'),
      ofAgent('monitor_agent_link_up', '1x40'),
    ],
  },
  MonitorAgentResultsWaiting: simple(
    (values) => ofAgent('monitor_agent_outbox_oldest_age_seconds', values),
    '0+60x40',
    '200x40',
  ),
  MonitorAgentOutboxFilling: {
    fires: [
      ofAgent('monitor_agent_outbox_bytes', '80x40'),
      ofAgent('monitor_agent_outbox_max_bytes', '100x40'),
    ],
    silent: [
      ofAgent('monitor_agent_outbox_bytes', '60x40'),
      ofAgent('monitor_agent_outbox_max_bytes', '100x40'),
    ],
  },
  MonitorAgentResultsDropped: simple(
    (values) => ofAgent('monitor_agent_outbox_dropped_results', values),
    '7x20 12x20',
    '7x40',
  ),
  MonitorAgentClockOff: simple(
    (values) => ofAgent('monitor_agent_clock_offset_seconds', values),
    '-3x40',
    '-1x40',
  ),
  MonitorAgentEventLoopLag: {
    fires: [build, ofAgent('nodejs_eventloop_lag_p99_seconds', '0.2x40')],
    // Of some other process.
    silent: [ofAgent('nodejs_eventloop_lag_p99_seconds', '0.2x40')],
  },
  MonitorAgentSaturated: {
    fires: histogram(
      (values, labels) =>
        ofAgent('monitor_agent_queue_wait_seconds_bucket', values, `${labels},pool="heavy"`),
      true,
    ),
    silent: histogram(
      (values, labels) =>
        ofAgent('monitor_agent_queue_wait_seconds_bucket', values, `${labels},pool="heavy"`),
      false,
    ),
  },
  MonitorAgentSlotsMissed: simple(
    (values) => ofAgent('monitor_agent_missed_slots_total', values, 'reason="agent-overloaded"'),
    '0+1x40',
    '5x40',
  ),
  MonitorAgentInternalErrors: simple(
    (values) => ofAgent('monitor_agent_internal_errors_total', values, 'code="BROWSER_MISSING"'),
    '0+1x40',
    '0x20 2x20',
  ),
  MonitorAgentDiskFull: {
    fires: [
      ofAgent('monitor_agent_disk_free_bytes', '5x40', 'folder="data"'),
      ofAgent('monitor_agent_disk_size_bytes', '100x40', 'folder="data"'),
    ],
    silent: [
      ofAgent('monitor_agent_disk_free_bytes', '50x40', 'folder="data"'),
      ofAgent('monitor_agent_disk_size_bytes', '100x40', 'folder="data"'),
    ],
  },
  MonitorAgentUploadsFailing: {
    fires: [
      ofAgent('monitor_agent_artifact_upload_failures_total', '0+1x40', 'code="X"'),
      ofAgent('monitor_agent_artifact_spool_files', '3x40'),
    ],
    silent: [
      ofAgent('monitor_agent_artifact_upload_failures_total', '0+1x40', 'code="X"'),
      ofAgent('monitor_agent_artifact_spool_files', '0x40'),
    ],
  },
  MonitorAgentFilesDropped: simple(
    (values) => ofAgent('monitor_agent_artifacts_dropped', values),
    '0x20 3x20',
    '3x40',
  ),
  MonitorAgentFileDescriptors: {
    fires: [build, ofAgent('process_open_fds', '90x40'), ofAgent('process_max_fds', '100x40')],
    silent: [build, ofAgent('process_open_fds', '50x40'), ofAgent('process_max_fds', '100x40')],
  },
  MonitorAgentBrowsersKilled: {
    fires: [ofAgent('monitor_agent_browser_ends_total', '0+1x40', 'reason="memory"')],
    silent: [ofAgent('monitor_agent_browser_ends_total', '0+1x40', 'reason="served"')],
  },
  MonitorAgentTracesDropped: {
    fires: [ofAgent('monitor_agent_spans_total', '0+9x40', 'outcome="dropped"')],
    silent: [ofAgent('monitor_agent_spans_total', '0+9x40', 'outcome="exported"')],
  },
  MonitorControlPlaneDown: {
    fires: [[`up{${plane},job="monitor-control-plane"}`, '0x40']],
    silent: [[`up{${plane},job="monitor-control-plane"}`, '1x40']],
  },
  MonitorControlPlaneErrors: {
    fires: [
      ofPlane('http_requests_total', '0+10x40', 'status="500",route="a"'),
      ofPlane('http_requests_total', '0+100x40', 'status="200",route="a"'),
    ],
    silent: [
      ofPlane('http_requests_total', '0+1x40', 'status="404",route="a"'),
      ofPlane('http_requests_total', '0+100x40', 'status="200",route="a"'),
    ],
  },
  MonitorLocationWithoutAgent: simple(
    (values) => ofPlane('location_unserved_seconds', values, 'location="office"'),
    '0+60x40',
    '0x40',
  ),
  MonitorQueueStuck: simple(
    (values) => ofPlane('location_oldest_queued_seconds', values, 'location="office"'),
    '0+60x40',
    '30x40',
  ),
  MonitorSlotsMissed: {
    fires: [ofPlane('missed_slots_total', '0+1x40', 'reason="no-agent"')],
    silent: [ofPlane('missed_slots_total', '0+1x40', 'reason="maintenance"')],
  },
  MonitorDeliveriesStuck: simple(
    (values) => ofPlane('deliveries_oldest_seconds', values),
    '0+60x40',
    '20x40',
  ),
  MonitorDeliveriesFailing: {
    fires: [ofPlane('deliveries_total', '0+1x40', 'outcome="failure"')],
    silent: [ofPlane('deliveries_total', '0+1x40', 'outcome="success"')],
  },
  MonitorIngestSlow: {
    fires: histogram(
      (values, labels) => ofPlane('ingest_duration_seconds_bucket', values, labels),
      true,
    ),
    silent: histogram(
      (values, labels) => ofPlane('ingest_duration_seconds_bucket', values, labels),
      false,
    ),
  },
  MonitorCommitsFailing: simple(
    (values) => ofPlane('commit_failures_total', values),
    '0+1x40',
    '3x40',
  ),
  MonitorTimersFailing: simple(
    (values) => ofPlane('timer_failures_total', values, 'operation="roll-up"'),
    '0+1x40',
    '0x20 1x20',
  ),
  MonitorDatabaseLogGrowing: {
    fires: [ofPlane('database_size_bytes', '2000000000x40', 'file="wal"')],
    silent: [ofPlane('database_size_bytes', '2000000000x40', 'file="main"')],
  },
  MonitorControlPlaneLag: {
    fires: [ours, [`nodejs_eventloop_lag_p99_seconds{${plane}}`, '0.7x40']],
    silent: [ours, [`nodejs_eventloop_lag_p99_seconds{${plane}}`, '0.1x40']],
  },
  ProbeFailing: {
    fires: [['probe_success{instance="x",job="probe-http"}', '0x40']],
    silent: [['probe_success{instance="x",job="probe-http"}', '1x40']],
  },
  ProbeCertificateExpiring: {
    // The test begins at 0 of Unix time.
    fires: [['probe_ssl_earliest_cert_expiry{instance="x",job="p"}', '600000x120']],
    silent: [['probe_ssl_earliest_cert_expiry{instance="x",job="p"}', '9000000x120']],
  },
};

function testOf(alert: string, series: readonly Series[], count: number): object {
  return {
    interval: '1m',
    input_series: series.map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        expr: `count(ALERTS{alertname="${alert}",alertstate="firing"})`,
        eval_time: alert === 'ProbeCertificateExpiring' ? '90m' : '30m',
        exp_samples: count === 0 ? [] : [{ labels: '{}', value: count }],
      },
    ],
  };
}

before(() => {
  assert.ok(existsSync(promtool), 'install the Debian package prometheus, which has promtool');
});

test('promtool accepts the rules', () => {
  const said = execFileSync(promtool, ['check', 'rules', rulesFile], { encoding: 'utf8' });
  assert.match(said, /SUCCESS/);
});

test('every alert has a case here', () => {
  const { groups } = parse(readFileSync(rulesFile, 'utf8')) as {
    groups: { rules: { alert: string }[] }[];
  };
  const names = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
  assert.deepEqual(Object.keys(cases).sort(), names.sort());
});

for (const [alert, { fires, silent }] of Object.entries(cases)) {
  test(`${alert} fires when it should, and only then`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'monitor-alerts-'));
    try {
      const file = join(folder, 'test.yaml');
      writeFileSync(
        file,
        stringify({
          rule_files: [rulesFile],
          evaluation_interval: '1m',
          tests: [testOf(alert, fires, 1), testOf(alert, silent, 0)],
        }),
      );
      execFileSync(promtool, ['test', 'rules', file], { encoding: 'utf8', stdio: 'pipe' });
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
      assert.fail(`${stdout}\n${stderr}`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
