import { graph, stat, type Dashboard } from './panels.ts';

const of = (metric: string, labels = ''): string =>
  `monitor_agent_${metric}{instance=~"$instance"${labels === '' ? '' : `,${labels}`}}`;
const quantile = (q: number, metric: string, by: string): string =>
  `histogram_quantile(${q}, sum by (${by}, le) (rate(${of(`${metric}_bucket`)}[$__rate_interval])))`;
const rate = (metric: string, by: string, labels = ''): string =>
  `sum by (${by}) (rate(${of(metric, labels)}[$__rate_interval]))`;

export const agentDashboard: Dashboard = {
  uid: 'monitor-agent',
  title: 'Monitor / Agents',
  description:
    'Agents: their link, their runs, what waits, and what they use. From /metrics on AGENT_HEALTH_PORT.',
  tags: ['monitor'],
  variables: [
    { name: 'instance', label: 'Agent', query: 'label_values(monitor_agent_build_info, instance)' },
  ],
  rows: [
    {
      title: 'At a glance',
      panels: [
        stat('Agents', 'Agents that are scraped', `count(${of('build_info')})`),
        stat(
          'Without link',
          'Agents whose last check-in failed; they go on by their schedule',
          `count(${of('link_up')} == 0) or vector(0)`,
          { thresholds: [1, 1] },
        ),
        stat('Checks', 'Checks the agents run at the moment', `sum(${of('assigned_checks')})`),
        stat('Runs', 'Attempts a second', `sum(rate(${of('runs_total')}[$__rate_interval]))`, {
          unit: 'ops',
        }),
        stat('Waiting results', 'Results not yet delivered', `sum(${of('outbox_records')})`, {
          thresholds: [500, 5000],
        }),
        stat(
          'Faults of ours, 1 h',
          'Runs that ended in an error of the agent rather than of the target',
          `sum(increase(${of('internal_errors_total')}[1h]))`,
          { thresholds: [1, 20] },
        ),
      ],
    },
    {
      title: 'Link',
      panels: [
        graph('Link', '1 while the control plane answers check-ins', [
          { expr: of('link_up'), legend: '{{instance}}' },
        ]),
        graph(
          'Since the last check-in',
          'A check-in is answered after 25 s at the latest',
          [{ expr: `time() - ${of('last_check_in_timestamp_seconds')}`, legend: '{{instance}}' }],
          { unit: 's', thresholds: [60, 180] },
        ),
        graph(
          'Check-ins',
          'Answered, or the code of what went wrong',
          [{ expr: rate('check_ins_total', 'outcome'), legend: '{{outcome}}' }],
          { unit: 'ops' },
        ),
        graph(
          'Clock',
          'Clock of the control plane minus that of the agent; beyond 2 s slots follow the control plane',
          [{ expr: of('clock_offset_seconds'), legend: '{{instance}}' }],
          { unit: 's' },
        ),
      ],
    },
    {
      title: 'Runs',
      panels: [
        graph(
          'Attempts by type',
          'Attempts a second',
          [{ expr: rate('runs_total', 'check_type'), legend: '{{check_type}}' }],
          { unit: 'ops', isStacked: true },
        ),
        graph(
          'Attempts by outcome',
          'passed and failed are about targets, error is about us',
          [{ expr: rate('runs_total', 'outcome'), legend: '{{outcome}}' }],
          { unit: 'ops', isStacked: true },
        ),
        graph(
          'Duration, 95 %',
          'From the start of an attempt to its verdict',
          [
            {
              expr: quantile(0.95, 'run_duration_seconds', 'check_type'),
              legend: '{{check_type}}',
            },
          ],
          { unit: 's' },
        ),
        graph(
          'Lateness of slots',
          'Time from a slot to the start of its run',
          [
            {
              expr: quantile(0.5, 'slot_lateness_seconds', 'instance'),
              legend: '{{instance}} 50 %',
            },
            {
              expr: quantile(0.99, 'slot_lateness_seconds', 'instance'),
              legend: '{{instance}} 99 %',
            },
          ],
          { unit: 's' },
        ),
        graph(
          'Places in use',
          'Attempts in progress, as a share of the places of their pool',
          [{ expr: `${of('running')} / ${of('places')}`, legend: '{{instance}} {{pool}}' }],
          { unit: 'percentunit' },
        ),
        graph(
          'Wait for a place, 95 %',
          'Raise JOB_CONCURRENCY or UPTIME_CONCURRENCY, or add an agent',
          [{ expr: quantile(0.95, 'queue_wait_seconds', 'pool'), legend: '{{pool}}' }],
          { unit: 's' },
        ),
        graph(
          'Slots not run',
          'Slots this agent had to leave out, by reason',
          [{ expr: rate('missed_slots_total', 'reason'), legend: '{{reason}}' }],
          { unit: 'ops' },
        ),
        graph(
          'Faults of ours',
          'By code; see the log of the agent',
          [{ expr: rate('internal_errors_total', 'code'), legend: '{{code}}' }],
          { unit: 'ops' },
        ),
      ],
    },
    {
      title: 'Results and files on their way',
      panels: [
        graph(
          'Outbox',
          'Share of OUTBOX_MAX_BYTES that is in use',
          [{ expr: `${of('outbox_bytes')} / ${of('outbox_max_bytes')}`, legend: '{{instance}}' }],
          { unit: 'percentunit' },
        ),
        graph(
          'Oldest waiting result',
          'Grows while the control plane takes nothing',
          [{ expr: of('outbox_oldest_age_seconds'), legend: '{{instance}}' }],
          { unit: 's' },
        ),
        graph(
          'Handed in',
          'Results by what the control plane made of them',
          [{ expr: rate('submissions_total', 'outcome'), legend: '{{outcome}}' }],
          { unit: 'ops' },
        ),
        graph('Given up', 'Results and files that were dropped for want of room or for their age', [
          { expr: of('outbox_dropped_results'), legend: '{{instance}} results' },
          { expr: of('artifacts_dropped'), legend: '{{instance}} files' },
        ]),
        graph(
          'Files waiting',
          'Traces, screenshots and captures not yet uploaded',
          [{ expr: of('artifact_spool_bytes'), legend: '{{instance}}' }],
          { unit: 'bytes' },
        ),
        graph(
          'Uploads',
          'Bytes a second, and uploads that have to come again',
          [
            { expr: rate('artifact_uploaded_bytes_total', 'instance'), legend: '{{instance}}' },
            { expr: rate('artifact_upload_failures_total', 'code'), legend: 'failed: {{code}}' },
          ],
          { unit: 'Bps' },
        ),
      ],
    },
    {
      title: 'Evidence and secrets',
      panels: [
        graph(
          'Failures in the network',
          'What was kept as evidence: packets, or what the socket saw',
          [
            { expr: rate('captures_total', 'kind'), legend: '{{kind}}' },
            { expr: rate('traceroutes_total', 'outcome'), legend: 'traceroute {{outcome}}' },
          ],
          { unit: 'ops' },
        ),
        graph(
          'Secrets removed',
          'Texts and files of results in which something secret was found',
          [{ expr: rate('scrubbed_texts_total', 'instance'), legend: '{{instance}}' }],
          { unit: 'ops' },
        ),
        graph(
          'Browsers',
          'Started, and ended by reason',
          [
            { expr: rate('browser_launches_total', 'instance'), legend: 'started {{instance}}' },
            { expr: rate('browser_ends_total', 'reason'), legend: 'ended: {{reason}}' },
          ],
          { unit: 'ops' },
        ),
        graph(
          'Probes and spans',
          'Requests to /probe, and spans sent to OpenTelemetry',
          [
            { expr: rate('probes_total', 'outcome'), legend: 'probe {{outcome}}' },
            { expr: rate('spans_total', 'outcome'), legend: 'spans {{outcome}}' },
          ],
          { unit: 'ops' },
        ),
      ],
    },
    {
      title: 'Machine',
      panels: [
        graph('CPU', 'Cores in use', [
          {
            expr: 'rate(process_cpu_seconds_total{instance=~"$instance"}[$__rate_interval]) and on (instance) monitor_agent_build_info',
            legend: '{{instance}}',
          },
        ]),
        graph(
          'Memory',
          'Of the agent process, without the children that run scripts and browsers',
          [
            {
              expr: 'process_resident_memory_bytes{instance=~"$instance"} and on (instance) monitor_agent_build_info',
              legend: '{{instance}}',
            },
          ],
          { unit: 'bytes' },
        ),
        graph(
          'Event loop lag, 99 %',
          'Above 20 ms results say that they were measured under load',
          [
            {
              expr: 'nodejs_eventloop_lag_p99_seconds{instance=~"$instance"} and on (instance) monitor_agent_build_info',
              legend: '{{instance}}',
            },
          ],
          { unit: 's' },
        ),
        graph(
          'File descriptors',
          'Share of the limit',
          [
            {
              expr: '(process_open_fds{instance=~"$instance"} / process_max_fds{instance=~"$instance"}) and on (instance) monitor_agent_build_info',
              legend: '{{instance}}',
            },
          ],
          { unit: 'percentunit' },
        ),
        graph(
          'Disk',
          'Room that is left where the agent writes',
          [
            {
              expr: `${of('disk_free_bytes')} / ${of('disk_size_bytes')}`,
              legend: '{{instance}} {{folder}}',
            },
          ],
          { unit: 'percentunit' },
        ),
        graph(
          'Under load',
          'Attempts whose times are too long because the machine was busy',
          [{ expr: rate('runs_under_load_total', 'instance'), legend: '{{instance}}' }],
          { unit: 'ops' },
        ),
      ],
    },
  ],
};
