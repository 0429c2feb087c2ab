import { graph, stat, states, table, type Dashboard } from './panels.ts';

const probe = (metric: string): string => `probe_${metric}{job=~"$job",instance=~"$target"}`;
const check = (metric: string, labels = ''): string =>
  `monitor_check_${metric}{name=~"$check"${labels === '' ? '' : `,${labels}`}}`;
const one = '{{instance}}';

export const checksDashboard: Dashboard = {
  uid: 'monitor-checks',
  title: 'Monitor / Checks',
  description:
    'Checks of the control plane (/v1/prometheus/metrics), and targets probed by /probe of an agent or by a blackbox exporter.',
  tags: ['monitor'],
  variables: [
    { name: 'check', label: 'Check', query: 'label_values(monitor_check_info, name)' },
    { name: 'job', label: 'Probe job', query: 'label_values(probe_success, job)' },
    {
      name: 'target',
      label: 'Target',
      query: 'label_values(probe_success{job=~"$job"}, instance)',
    },
  ],
  rows: [
    {
      title: 'Checks',
      panels: [
        stat('Passing', 'Checks that pass', `sum(${check('status', 'status="passing"')})`),
        stat(
          'Degraded',
          'Checks that pass but are too slow',
          `sum(${check('status', 'status="degraded"')})`,
          { thresholds: [1, 10] },
        ),
        stat('Failing', 'Checks that fail', `sum(${check('status', 'status="failing"')})`, {
          thresholds: [1, 1],
        }),
        stat(
          'Success',
          'Share of results of 24 hours that did not fail',
          `avg(${check('success_ratio')})`,
          { unit: 'percentunit', thresholds: [0.999, 0.99] },
        ),
        stat(
          'Next certificate',
          'Days until the first certificate expires',
          'min(monitor_ssl_days_remaining{name=~"$check"})',
          { unit: 'd', thresholds: [30, 7] },
        ),
        stat(
          'Oldest run',
          'How long ago the check that was not run for longest was run',
          `max(time() - ${check('last_run_timestamp_seconds')})`,
          { unit: 's' },
        ),
        states(
          'Status',
          '1 while a check fails',
          [{ expr: `max by (name) (${check('status', 'status="failing"')})`, legend: '{{name}}' }],
          { thresholds: [1, 1] },
        ),
        graph(
          'Response time, 95 %',
          'Of this hour and the one before',
          [{ expr: check('response_time_seconds', 'quantile="0.95"'), legend: '{{name}}' }],
          { unit: 's' },
        ),
        graph(
          'Phases',
          'Mean length of each phase',
          [{ expr: `avg by (phase) (${check('phase_seconds')})`, legend: '{{phase}}' }],
          { unit: 's', isStacked: true },
        ),
        graph(
          'Success',
          'Share of results of 24 hours that did not fail',
          [{ expr: check('success_ratio'), legend: '{{name}}' }],
          { unit: 'percentunit' },
        ),
        graph(
          'Packet loss',
          'Of ICMP monitors',
          [{ expr: check('packet_loss_ratio'), legend: '{{name}}' }],
          { unit: 'percentunit' },
        ),
      ],
    },
    {
      title: 'Probes',
      panels: [
        stat('Up', 'Targets whose last probe succeeded', `sum(${probe('success')})`),
        stat(
          'Down',
          'Targets whose last probe failed',
          `count(${probe('success')} == 0) or vector(0)`,
          { thresholds: [1, 1] },
        ),
        stat('Slowest', 'Longest last probe', `max(${probe('duration_seconds')})`, {
          unit: 's',
          thresholds: [2, 5],
        }),
        stat(
          'Next certificate',
          'Time until the first certificate expires',
          `min(${probe('ssl_earliest_cert_expiry')}) - time()`,
          { unit: 's', thresholds: [2_592_000, 604_800] },
        ),
        stat('By TLS', 'Targets whose last request was TLS', `sum(${probe('http_ssl')})`),
        stat(
          'Failed by pattern',
          'Targets that failed because of a pattern',
          `sum(${probe('failed_due_to_regex')})`,
          { thresholds: [1, 1] },
        ),
        states('Success', '1 while a target is up', [{ expr: probe('success'), legend: one }], {
          thresholds: [1, 0.5],
        }),
        graph(
          'Duration',
          'Of the whole probe',
          [{ expr: probe('duration_seconds'), legend: one }],
          { unit: 's' },
        ),
        graph(
          'HTTP phases',
          'Mean of all targets',
          [{ expr: `avg by (phase) (${probe('http_duration_seconds')})`, legend: '{{phase}}' }],
          { unit: 's', isStacked: true },
        ),
        graph(
          'HTTP status',
          'Of the last response',
          [{ expr: probe('http_status_code'), legend: one }],
          { unit: 'none' },
        ),
        graph(
          'Certificates',
          'Time until the first of the chain expires',
          [{ expr: `${probe('ssl_earliest_cert_expiry')} - time()`, legend: one }],
          { unit: 's' },
        ),
        graph(
          'DNS lookup',
          'Time to an address',
          [{ expr: probe('dns_lookup_time_seconds'), legend: one }],
          { unit: 's' },
        ),
        graph(
          'ICMP',
          'Round trip',
          [
            {
              expr: `probe_icmp_duration_seconds{job=~"$job",instance=~"$target",phase="rtt"}`,
              legend: one,
            },
          ],
          { unit: 's' },
        ),
        table(
          'TLS versions',
          'What targets speak',
          [{ expr: `count by (version) (${probe('tls_version_info')})` }],
          { height: 6 },
        ),
      ],
    },
  ],
};
