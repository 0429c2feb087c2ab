/**
 * The metrics of a scrape under the names that existing dashboards and autoscalers ask for. The table is in
 * `README.md`. They come besides, so that dashboards can be moved one after the other.
 */
import type { Family, Sample } from '../core/metric-family.ts';

type Labels = Sample['labels'];

/** One metric under another name; `null` leaves a sample out. */
interface Renamed {
  from: string;
  name: string;
  type?: Family['type'];
  help: string;
  labels?: (labels: Labels) => Labels | null;
  value?: (value: number) => number;
}

function without(labels: Labels, ...names: string[]): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([name]) => !names.includes(name)));
}

const ofType =
  (...types: string[]) =>
  (labels: Labels): Labels | null =>
    types.includes(labels['check_type'] ?? '') ? labels : null;

/** Times of one check type: their `type` by the name of our metric. */
function timesOf(type: string, name: string, phases: Readonly<Record<string, string>>): Renamed {
  return {
    from: 'monitor_check_hour_seconds',
    name,
    type: 'histogram',
    help: 'Times since the hour began',
    labels(labels) {
      const phase = phases[labels['metric'] ?? ''];
      if (labels['check_type'] !== type || phase === undefined) return null;
      const rest = without(labels, 'metric');
      return phase === '' ? rest : { ...rest, type: phase };
    },
  };
}

const httpPhases = {
  ...{ responseTime: 'total', wait: 'wait', dns: 'dns', tcp: 'tcp' },
  ...{ firstByte: 'firstByte', download: 'download' },
};
const tcpPhases = { total: 'total', dns: 'dns', connection: 'connection', data: 'data' };
const icmpPhases = {
  ...{ latencyAvg: 'latency_avg', latencyMin: 'latency_min', latencyMax: 'latency_max' },
};
const vitals = { FCP: 'FCP', LCP: 'LCP', TBT: 'TBT', TTFB: 'TTFB' };

const renamed: readonly Renamed[] = [
  {
    from: 'monitor_check_status',
    name: 'checkly_check_status',
    help: '1 for the status that the check is in, 0 for the others',
  },
  {
    from: 'monitor_check_hour_results_total',
    name: 'checkly_check_result_total',
    type: 'counter',
    help: 'FINAL results since the hour began',
  },
  timesOf('api', 'checkly_api_check_timing_seconds', httpPhases),
  timesOf('url', 'checkly_url_monitor_timing_seconds', httpPhases),
  timesOf('tcp', 'checkly_tcp_monitor_timing_seconds', tcpPhases),
  timesOf('tcp', 'checkly_tcp_check_timing_seconds', tcpPhases),
  timesOf('dns', 'checkly_dns_monitor_timing_seconds', { total: 'total' }),
  timesOf('icmp', 'checkly_icmp_monitor_timing_seconds', icmpPhases),
  timesOf('browser', 'checkly_browser_check_duration_seconds', { responseTime: '' }),
  timesOf('multi_step', 'checkly_multistep_check_duration_seconds', { responseTime: '' }),
  timesOf('browser', 'checkly_browser_check_web_vitals_seconds', vitals),
  {
    from: 'monitor_check_packet_loss_ratio',
    name: 'checkly_icmp_monitor_packet_loss_ratio',
    help: 'Mean share of packets lost',
    labels: ofType('icmp'),
  },
  {
    from: 'monitor_heartbeat_last_ping_timestamp_seconds',
    name: 'checkly_heartbeat_last_success_timestamp_seconds',
    help: 'When a heartbeat monitor was last pinged',
  },
  {
    from: 'monitor_heartbeat_period_seconds',
    name: 'checkly_heartbeat_expected_interval_seconds',
    help: 'How often a heartbeat monitor expects a ping',
  },
  {
    from: 'monitor_ssl_days_remaining',
    name: 'checkly_time_to_ssl_expiry_seconds',
    help: 'Until the certificate expires, in whole days',
    value: (days) => days * 86_400,
  },
  {
    from: 'monitor_private_location_check_runs',
    name: 'checkly_private_location_check_runs',
    help: 'Runs that wait for an agent, and runs that agents report as running',
  },
  {
    from: 'monitor_private_location_check_runs',
    name: 'checkly_private_location_queue_size',
    help: 'Runs that wait for an agent',
    labels: (labels) => (labels['state'] === 'queued' ? without(labels, 'state') : null),
  },
  {
    from: 'monitor_private_location_oldest_queued_seconds',
    name: 'checkly_private_location_oldest_scheduled_check_run',
    help: 'Waiting time of the oldest waiting run',
  },
  {
    from: 'monitor_private_location_agents',
    name: 'checkly_private_location_agent_count',
    help: 'Agents that serve the location',
  },
];

const ownLabels = new Set([
  'check_id',
  'check_type',
  'name',
  'group',
  'tags',
  'muted',
  'activated',
]);
const maxTagLabels = 20;

/** Labels of a check that existing names carry; a tag `key:value` is a label of its own. */
function settingsOf({ labels }: Sample): Labels {
  const { activated = '', muted = '', group = '', tags = '' } = labels;
  const ofTags = tags.split(',').flatMap((tag): [string, string][] => {
    const [, key = '', value = ''] = /^([^:]+):(.+)$/.exec(tag) ?? [];
    const name = key
      .trim()
      .replaceAll(/[^a-zA-Z0-9_]/g, '_')
      .replace(/^(?=\d)/, '_');
    return name === '' || ownLabels.has(name) ? [] : [[name, value.trim()]];
  });
  return { activated, muted, group, tags, ...Object.fromEntries(ofTags.slice(0, maxTagLabels)) };
}

/** `families` under the existing names. */
export function withExistingNames(families: readonly Family[]): Family[] {
  const samplesOf = new Map(families.map(({ name, samples }) => [name, samples]));
  const settings = new Map(
    (samplesOf.get('monitor_check_info') ?? []).map((info) => [
      info.labels['check_id'],
      settingsOf(info),
    ]),
  );
  return renamed.map(({ from, name, type = 'gauge', help, labels, value }) => ({
    ...{ name, type, help },
    samples: (samplesOf.get(from) ?? []).flatMap((sample) => {
      const kept = labels === undefined ? sample.labels : labels(sample.labels);
      if (kept === null) return [];
      return [
        {
          ...sample,
          // Labels of the metric win over those of tags.
          labels: { ...settings.get(sample.labels['check_id']), ...kept },
          value: value?.(sample.value) ?? sample.value,
        },
      ];
    }),
  }));
}
