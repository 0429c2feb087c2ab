/**
 * Writes the dashboards of `deploy/grafana` and prints the tables of metrics of the READMEs (with
 * `--tables`); with `--check` it only compares and fails when a dashboard is stale.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { format } from 'prettier';
import { agentDashboard } from './observability/agent-dashboard.ts';
import { checksDashboard } from './observability/checks-dashboard.ts';
import { controlPlaneDashboard } from './observability/control-plane-dashboard.ts';
import { agentMetrics, controlPlaneMetrics, metricsTable } from './observability/known-metrics.ts';
import { dashboardJson } from './observability/panels.ts';

const dashboards = {
  'deploy/grafana/agent.json': agentDashboard,
  'deploy/grafana/control-plane.json': controlPlaneDashboard,
  'deploy/grafana/checks.json': checksDashboard,
};

if (process.argv.includes('--tables')) {
  console.log(metricsTable(agentMetrics()));
  console.log();
  console.log(metricsTable(controlPlaneMetrics()));
} else {
  for (const [file, dashboard] of Object.entries(dashboards)) {
    const json = JSON.stringify(dashboardJson(dashboard));
    const fresh = await format(json, { parser: 'json', printWidth: 100 });
    if (!process.argv.includes('--check')) {
      writeFileSync(file, fresh);
    } else if (readFileSync(file, 'utf8') !== fresh) {
      console.error(`${file} is stale; run "node scripts/dashboards.ts" and commit it`);
      process.exitCode = 1;
    }
  }
}
