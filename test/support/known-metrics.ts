/** What can be asked for: the metrics of both processes, of checks and of probes, with their labels. */
import { Registry, type MetricObject } from 'prom-client';
import { systemClock } from '@monitor/shared/clock.ts';
import {
  createMetrics as createAgentMetrics,
  measureDisks,
} from '../../agent/observability/metrics.ts';
import { createMetrics } from '../../control-plane/observability/metrics.ts';
import { checkMetricNames } from '../../control-plane/analytics/prometheus/check-families.ts';
import { observeState } from '../../control-plane/app/observe-state.ts';

interface Declared {
  name: string;
  type: string;
  help: string;
  labels: readonly string[];
}

interface WithLabels extends MetricObject {
  labelNames?: readonly string[];
}

/** Of a registry, in the order of their declaration. */
function declaredIn(registry: Registry): Declared[] {
  return registry.getMetricsAsArray().map((metric) => {
    const { name, help, type, labelNames = [] } = metric as unknown as WithLabels;
    return { name, help, type: String(type), labels: labelNames };
  });
}

/** Everything an agent has in `/metrics`. */
export function agentMetrics(): Declared[] {
  const registry = new Registry();
  createAgentMetrics(registry, '');
  measureDisks(registry, {});
  return declaredIn(registry);
}

/** Everything a control plane has in `/metrics`; nothing is read from a database. */
export function controlPlaneMetrics(): Declared[] {
  const registry = new Registry();
  createMetrics(registry, '');
  const nobody = undefined as never;
  observeState(registry, { db: nobody, hub: nobody, clock: systemClock, databaseFile: 'file' });
  return declaredIn(registry);
}

const probe = (name: string, ...labels: string[]): Declared => ({
  ...{ name, labels, type: 'gauge', help: '' },
});

/** What `/probe` answers, as the blackbox exporter does. */
export const probeMetrics: readonly Declared[] = [
  ...['probe_success', 'probe_duration_seconds', 'probe_failed_due_to_regex'].map((name) =>
    probe(name),
  ),
  ...['probe_dns_lookup_time_seconds', 'probe_ip_protocol', 'probe_ip_addr_hash'].map((name) =>
    probe(name),
  ),
  ...[
    ...['status_code', 'content_length', 'uncompressed_body_length', 'redirects', 'ssl', 'version'],
    'last_modified_timestamp_seconds',
  ].map((tail) => probe(`probe_http_${tail}`)),
  probe('probe_http_duration_seconds', 'phase'),
  probe('probe_ssl_earliest_cert_expiry'),
  probe('probe_ssl_last_chain_expiry_timestamp_seconds'),
  probe(
    'probe_ssl_last_chain_info',
    ...['fingerprint_sha256', 'issuer', 'subject', 'subjectalternative'],
  ),
  probe('probe_tls_version_info', 'version'),
  ...['answer_rrs', 'authority_rrs', 'additional_rrs', 'query_succeeded', 'serial'].map((tail) =>
    probe(`probe_dns_${tail}`),
  ),
  probe('probe_dns_duration_seconds', 'phase'),
  probe('probe_icmp_duration_seconds', 'phase'),
  probe('probe_icmp_reply_hop_limit'),
];

const checkLabels = ['check_id', 'name', 'check_type', 'status', 'location', 'quantile', 'phase'];

/** What the control plane answers about the checks of an account. */
export const checkMetrics: readonly Declared[] = checkMetricNames.map((name) => ({
  ...{ name, labels: checkLabels, type: 'gauge', help: '' },
}));

/** Those of the process and of Node are the same everywhere and documented elsewhere. */
const isOurs = ({ name }: Declared): boolean => name.startsWith('monitor_');

/** The metrics as a table in Markdown, for the guide. */
export function metricsTable(declared: readonly Declared[]): string {
  const rows = declared.filter(isOurs).map(({ name, type, labels, help }) => {
    const shown = labels.map((label) => `\`${label}\``).join(', ');
    return `| \`${name}\` | ${type} | ${shown} | ${help} |`;
  });
  return ['| Metric | Type | Labels | Meaning |', '|---|---|---|---|', ...rows].join('\n');
}
