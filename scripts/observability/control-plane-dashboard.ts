import { graph, stat, type Dashboard } from './panels.ts';

const of = (metric: string, labels = ''): string =>
  `monitor_control_plane_${metric}{instance=~"$instance"${labels === '' ? '' : `,${labels}`}}`;
const rate = (metric: string, by: string, labels = ''): string =>
  `sum by (${by}) (rate(${of(metric, labels)}[$__rate_interval]))`;
const quantile = (q: number, metric: string, by?: string): string =>
  `histogram_quantile(${q}, sum by (${by === undefined ? 'le' : `${by}, le`}) (rate(${of(`${metric}_bucket`)}[$__rate_interval])))`;
const both = (metric: string) => [
  { expr: quantile(0.5, metric), legend: '50 %' },
  { expr: quantile(0.99, metric), legend: '99 %' },
];

export const controlPlaneDashboard: Dashboard = {
  uid: 'monitor-control-plane',
  title: 'Monitor / Control plane',
  description:
    'The control plane: results, locations, notifications, requests and its database. From /metrics on METRICS_PORT.',
  tags: ['monitor'],
  variables: [
    {
      name: 'instance',
      label: 'Process',
      query: 'label_values(monitor_control_plane_build_info, instance)',
    },
    {
      name: 'location',
      label: 'Location',
      query: 'label_values(monitor_control_plane_location_agents, location)',
    },
  ],
  rows: [
    {
      title: 'At a glance',
      panels: [
        stat('Agents', 'Agents that serve a location now', `sum(${of('location_agents')})`),
        stat(
          'Locations without agent',
          'Locations that once had an agent and have none',
          `count(${of('location_unserved_seconds')} > 0) or vector(0)`,
          { thresholds: [1, 1] },
        ),
        stat(
          'Results',
          'Results a second',
          `sum(rate(${of('ingested_items_total', 'kind="result"')}[$__rate_interval]))`,
          { unit: 'ops' },
        ),
        stat(
          'Slots missed, 1 h',
          'Slots that nobody ran, maintenance left out',
          `sum(increase(${of('missed_slots_total', 'reason!="maintenance"')}[1h]))`,
          { thresholds: [1, 20] },
        ),
        stat(
          'To be delivered',
          'Notifications that are still to be delivered',
          `sum(${of('deliveries_pending')})`,
          { thresholds: [50, 500] },
        ),
        stat(
          'Answers of 5xx',
          'Share of requests that failed by our fault',
          `(sum(rate(${of('http_requests_total', 'status=~"5.."')}[$__rate_interval])) or vector(0)) / sum(rate(${of('http_requests_total')}[$__rate_interval]))`,
          { unit: 'percentunit', thresholds: [0.001, 0.01] },
        ),
      ],
    },
    {
      title: 'Results',
      panels: [
        graph(
          'What agents hand in',
          'By kind and outcome; late and duplicate are harmless, refused is not',
          [{ expr: rate('ingested_items_total', 'kind, outcome'), legend: '{{kind}} {{outcome}}' }],
          { unit: 'ops' },
        ),
        graph(
          'Batch to durable commit',
          'What an agent waits for',
          both('ingest_duration_seconds'),
          { unit: 's' },
        ),
        graph(
          'Lag of results',
          'From the end of an attempt to its arrival; grows when agents replay what an outage left',
          both('result_lag_seconds'),
          { unit: 's' },
        ),
        graph(
          'Slots missed',
          'By reason',
          [{ expr: rate('missed_slots_total', 'reason'), legend: '{{reason}}' }],
          { unit: 'ops', isStacked: true },
        ),
      ],
    },
    {
      title: 'Locations',
      panels: [
        graph('Agents by location', 'Agents that serve a location now', [
          { expr: of('location_agents', 'location=~"$location"'), legend: '{{location}}' },
        ]),
        graph(
          'Jobs by location',
          'Triggered runs and retries from elsewhere: queued, or inflight',
          [
            {
              expr: `sum by (location, state) (${of('location_runs', 'location=~"$location"')})`,
              legend: '{{location}} {{state}}',
            },
          ],
        ),
        graph(
          'Oldest queued job',
          'How long the job that waits longest has been waiting',
          [
            {
              expr: of('location_oldest_queued_seconds', 'location=~"$location"'),
              legend: '{{location}}',
            },
          ],
          { unit: 's' },
        ),
        graph(
          'Faults reported by agents',
          'External error observability, by code',
          [{ expr: rate('agent_errors_total', 'code'), legend: '{{code}}' }],
          { unit: 'ops' },
        ),
      ],
    },
    {
      title: 'Notifications',
      panels: [
        graph(
          'Deliveries',
          'Attempts, by what came of them',
          [{ expr: rate('deliveries_total', 'outcome'), legend: '{{outcome}}' }],
          { unit: 'ops' },
        ),
        graph('Still to be delivered', 'All, and those that failed at least once', [
          { expr: of('deliveries_pending'), legend: 'pending' },
          { expr: of('deliveries_retrying'), legend: 'retrying' },
        ]),
        graph(
          'Oldest notification',
          'Age of the oldest that is still to be delivered',
          of('deliveries_oldest_seconds'),
          { unit: 's' },
        ),
        graph(
          'Checks',
          'By type',
          [
            {
              expr: `sum by (check_type) (${of('checks', 'activated="true"')})`,
              legend: '{{check_type}}',
            },
          ],
          { isStacked: true },
        ),
      ],
    },
    {
      title: 'Requests',
      panels: [
        graph(
          'Requests by status',
          'Requests a second',
          [{ expr: rate('http_requests_total', 'status'), legend: '{{status}}' }],
          { unit: 'ops', isStacked: true },
        ),
        graph(
          'Busiest operations',
          'Requests a second of the ten busiest',
          [{ expr: `topk(10, ${rate('http_requests_total', 'route')})`, legend: '{{route}}' }],
          { unit: 'ops' },
        ),
        graph(
          'Slowest operations, 95 %',
          'Check-ins of agents are left out: they wait for news',
          [
            {
              expr: `topk(10, ${quantile(0.95, 'http_request_duration_seconds', 'route').replace('{instance=~"$instance"}', '{instance=~"$instance",route!="agentCheckIn"}')})`,
              legend: '{{route}}',
            },
          ],
          { unit: 's' },
        ),
        graph(
          'Failing operations',
          'Answers of 5xx',
          [
            {
              expr: rate('http_requests_total', 'route, status', 'status=~"5.."'),
              legend: '{{route}} {{status}}',
            },
          ],
          { unit: 'ops' },
        ),
      ],
    },
    {
      title: 'Database and process',
      panels: [
        graph('Commits', 'Time of a durable commit', both('commit_duration_seconds'), {
          unit: 's',
        }),
        graph(
          'Database',
          'Its file and its log; the log shrinks when nobody reads',
          [{ expr: of('database_size_bytes'), legend: '{{file}}' }],
          { unit: 'bytes' },
        ),
        graph(
          'Repeated operations, 95 %',
          'Sweeps, roll-ups, pruning',
          [
            {
              expr: quantile(0.95, 'timer_duration_seconds', 'operation'),
              legend: '{{operation}}',
            },
          ],
          { unit: 's' },
        ),
        graph(
          'Repeated operations that failed',
          'They are tried again at their next turn; see the log',
          [{ expr: rate('timer_failures_total', 'operation'), legend: '{{operation}}' }],
          { unit: 'ops' },
        ),
        graph(
          'CPU',
          'Cores in use',
          'rate(process_cpu_seconds_total{instance=~"$instance"}[$__rate_interval]) and on (instance) monitor_control_plane_build_info',
        ),
        graph(
          'Memory',
          'Of the process',
          'process_resident_memory_bytes{instance=~"$instance"} and on (instance) monitor_control_plane_build_info',
          { unit: 'bytes' },
        ),
        graph(
          'Event loop lag, 99 %',
          'One thread does everything: what blocks it delays all requests',
          'nodejs_eventloop_lag_p99_seconds{instance=~"$instance"} and on (instance) monitor_control_plane_build_info',
          { unit: 's' },
        ),
        graph(
          'File descriptors',
          'Share of the limit',
          '(process_open_fds{instance=~"$instance"} / process_max_fds{instance=~"$instance"}) and on (instance) monitor_control_plane_build_info',
          { unit: 'percentunit' },
        ),
      ],
    },
  ],
};
