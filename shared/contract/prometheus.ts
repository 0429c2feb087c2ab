/** The Prometheus endpoints of an account. */
import { z } from 'zod';
import { defineRoutes, get } from './route.ts';

const metricNames = [
  '`monitor_check_info` (name, type, group, tags, activated, muted)',
  '`monitor_check_status` (1 for the `status` that the check is in: passing, degraded, failing)',
  '`monitor_check_degraded`',
  '`monitor_check_last_run_timestamp_seconds`',
  '`monitor_check_results` (FINAL results of the last 24 hours by `status` and `location`)',
  '`monitor_check_success_ratio` (of the last 24 hours, 0 to 1; of heartbeats the share of time)',
  '`monitor_check_response_time_seconds` (summary of the last one to two hours)',
  '`monitor_check_phase_seconds` (mean of the same time, by `phase`)',
  '`monitor_check_packet_loss_ratio` (mean of the same time)',
  '`monitor_ssl_days_remaining`',
  '`monitor_heartbeat_last_ping_timestamp_seconds` and `monitor_heartbeat_period_seconds`',
  '`monitor_private_location_check_runs` (by `state`: queued, inflight)',
  '`monitor_private_location_oldest_queued_seconds`',
  '`monitor_private_location_agents`',
];

const ofAccount = {
  description: `Text format 0.0.4, at most a minute old. Metrics of checks carry \`check_id\`, \`name\` and \`check_type\`, those of locations \`private_location_id\`, \`private_location_name\` and \`private_location_slug_name\`. ${metricNames.join('; ')}.`,
  rateLimit: { requests: 50, seconds: 60 },
  contentType: 'text/plain; version=0.0.4',
  response: z.string(),
} as const;

export const prometheusRoutes = defineRoutes('Metrics', {
  getPrometheusMetrics: get(
    '/v1/prometheus/metrics',
    'Checks and private locations as metrics for Prometheus',
    ofAccount,
  ),
  /** compatibility: the path of existing scrape configurations. */
  getPrometheusMetricsOfAccount: get(
    '/accounts/{accountId}/v2/prometheus/metrics',
    'The same, under the path of existing scrape configurations',
    { ...ofAccount, params: z.object({ accountId: z.string() }) },
  ),
});
