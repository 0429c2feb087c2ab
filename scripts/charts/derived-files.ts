/** What is written from the charts and the settings, so that nothing has to be kept the same by hand. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { describeSettings as agentSettings } from '../../agent/config.ts';
import { describeSettings as controlPlaneSettings } from '../../control-plane/core/config.ts';
import { loadChart } from './load-chart.ts';
import { renderChart, type Values } from './render-chart.ts';
import { valuesTable } from './values-table.ts';

const charts = 'deploy/charts';

/** Settings that have a value of their own in the chart, or come from Secrets. */
export const ownValues = {
  'monitor-agent': [
    ...['CONTROL_PLANE_URL', 'AGENT_HEALTH_PORT', 'AGENT_DATA_DIR', 'AGENT_WORK_DIR'],
    ...['DRAIN_TIMEOUT_SECONDS', 'NODE_EXTRA_CA_CERTS', 'NO_PROXY'],
  ],
  'monitor-control-plane': [
    ...['PORT', 'HOST', 'PUBLIC_URL', 'ENCRYPTION_KEY', 'SMTP_URL', 'PHONE_AUTH_TOKEN'],
    ...['DATABASE_FILE', 'DATABASE_URL', 'DATABASE_LISTEN_URL', 'DATABASE_READ_URL'],
    ...['DATABASE_FAILOVER_SECONDS', 'ARTIFACTS_S3_SECRET_ACCESS_KEY', 'ARTIFACTS_DIR'],
    'ARTIFACTS_SHARED',
  ],
} as const;

export type ChartName = keyof typeof ownValues;
export const chartNames = Object.keys(ownValues) as ChartName[];

/** What the plain manifests are rendered with: a control plane and agents beside it. */
export const plainValues: Readonly<Record<ChartName, Values>> = {
  'monitor-agent': {
    controlPlaneUrl: 'http://monitor-control-plane',
    apiKeySecret: { create: false, name: 'monitor-agent' },
  },
  'monitor-control-plane': {},
};

/** Settings of the process that go into `settings` of its chart. */
export function settingsOf(chart: ChartName): string[] {
  const all =
    chart === 'monitor-agent'
      ? agentSettings().flatMap(({ name, isSecret }) => (isSecret ? [] : [name]))
      : controlPlaneSettings().map(({ name }) => name);
  const own: readonly string[] = ownValues[chart];
  return all.filter((name) => !own.includes(name));
}

function schemaOf(chart: ChartName): string {
  const file = join(charts, chart, 'values.schema.json');
  const schema = JSON.parse(readFileSync(file, 'utf8')) as {
    properties: { settings: { properties: unknown } };
  };
  schema.properties.settings.properties = Object.fromEntries(
    settingsOf(chart).map((name) => [name, { type: ['string', 'integer', 'boolean'] }]),
  );
  return JSON.stringify(schema);
}

function readmeOf(chart: ChartName): string {
  const readme = readFileSync(join(charts, chart, 'README.md'), 'utf8');
  const table = valuesTable(readFileSync(join(charts, chart, 'values.yaml'), 'utf8'));
  return readme.replace(
    /(<!-- values: begin -->\n)[\s\S]*(<!-- values: end -->)/,
    (_match, begin: string, end: string) => `${begin}\n${table}\n\n${end}`,
  );
}

function manifestOf(chart: ChartName): string {
  const { texts } = renderChart(loadChart(join(charts, chart)), plainValues[chart], {
    service: 'kubectl',
  });
  const documents = [...texts.values()].map((text) =>
    text.replaceAll(/^ *helm\.sh\/chart: .*\n/gm, '').trim(),
  );
  const note = `# Rendered from ${charts}/${chart} by \`npm run charts\`; change it there.`;
  return `${note}\n${documents.join('\n---\n')}\n`;
}

/** The alerts of a chart: those about the control plane, or all others. */
function alertsOf(chart: ChartName): string {
  const { groups } = parse(readFileSync('deploy/prometheus/alerts.yaml', 'utf8')) as {
    groups: { name: string }[];
  };
  const isOfControlPlane = chart === 'monitor-control-plane';
  const own = groups.filter(({ name }) => name.includes('control-plane') === isOfControlPlane);
  return `# Copied from deploy/prometheus/alerts.yaml by \`npm run charts\`.\n${stringify({ groups: own })}`;
}

/** Path and content, as it should be, of every file that is derived. */
export function derivedFiles(): Map<string, string> {
  return new Map(
    chartNames.flatMap((chart): [string, string][] => [
      [join(charts, chart, 'values.schema.json'), schemaOf(chart)],
      [join(charts, chart, 'README.md'), readmeOf(chart)],
      [join(charts, chart, 'files/alerts.yaml'), alertsOf(chart)],
      [join('deploy/kubernetes', `${chart}.yaml`), manifestOf(chart)],
    ]),
  );
}

/** Files that are not as they should be. `format` is what the formatter makes of a text. */
export async function staleFiles(
  format: (text: string, file: string) => Promise<string>,
): Promise<Map<string, string>> {
  const stale = new Map<string, string>();
  for (const [file, content] of derivedFiles()) {
    const formatted = await format(content, file);
    if (!existsSync(file) || readFileSync(file, 'utf8') !== formatted) stale.set(file, formatted);
  }
  return stale;
}
