import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { planHtml } from '../../../control-plane/app/commands/import-page.ts';
import { readSources } from '../../../control-plane/app/commands/import-files.ts';
import { planText, planToWire, type Plan } from '../../../control-plane/movers/index.ts';
import { fillKumaDatabase, kumaVersions, makeKumaDatabase } from '../../support/kuma-database.ts';
import { fixture, planOf } from '../../support/movers.ts';
import { temporaryFolder } from '../../support/system.ts';

/** The plan is that of `plans/<name>.txt`; `UPDATE_PLANS=1` writes it anew. */
function assertAsKept(name: string, plan: Plan): void {
  const path = fixture(join('plans', `${name}.txt`));
  const text = `${planText(plan).join('\n')}\n`;
  if (process.env['UPDATE_PLANS'] === '1') writeFileSync(path, text);
  assert.equal(text, readFileSync(path, 'utf8'));
  // Every object is counted, and every line stands in a class.
  const { counts, report } = planToWire(plan);
  const lines = Object.entries(counts).filter(([kind]) => kind !== 'EXACT');
  assert.equal(
    lines.reduce((sum, [, count]) => sum + count, 0),
    report.length,
  );
}

for (const version of kumaVersions) {
  test(`the plan for a database of Uptime Kuma ${version} is the kept one`, async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, 'kuma.db');
    const db = makeKumaDatabase(path, version);
    fillKumaDatabase(db, version);
    db.close();
    assertAsKept(`uptime-kuma-${version}`, planOf(await readSources(path)));
  });
}

for (const [name, sample] of [
  ['gatus', 'gatus/config.yaml'],
  ['gatus-kubernetes', 'gatus/kubernetes.yaml'],
  ['gatus-mattermost', 'gatus/mattermost.yaml'],
  ['gatus-mtls', 'gatus/mtls.yaml'],
  ['gatus-folder', 'gatus-folder'],
  ['gatus-every-field', 'gatus/every-field.yaml'],
  ['blackbox', 'blackbox'],
  ['blackbox-rules', 'blackbox-rules'],
  ['openstatus', 'openstatus'],
  ['csv', 'checks.csv'],
] as const) {
  test(`the plan for ${sample} is the kept one`, async () => {
    assertAsKept(name, planOf(await readSources(fixture(sample))));
  });
}

test('the page of a plan has every name, file and line, and none of it as markup', () => {
  const endpoint = (name: string) =>
    `  - { name: '${name}', url: 'https://a.example', ui: { hide-url: true }, conditions: ['[STATUS] == 200'] }\n`;
  const names = ['<b>one', 'two & three', 'four', 'five', 'six'];
  const text = `endpoints:\n${names.map(endpoint).join('')}`;
  const page = planHtml(planOf([{ path: 'gatus.yaml', text, tables: null }]));
  assert.match(page, /<details><summary>5 objects: /);
  assert.match(page, /<li>«&lt;b&gt;one» \(gatus\.yaml:2\)/);
  assert.match(page, /<li>«six» \(gatus\.yaml:6\)/);
  assert.doesNotMatch(page, /<b>|three & /);
});

test('every module of the exporter’s examples is converted or reported', async () => {
  const files = await readSources(fixture('blackbox-example'));
  const modules = files.flatMap(({ text }) =>
    [...text.matchAll(/^ {2}(\w+):$/gm)].map(([, name]) => name),
  );
  assert.ok(modules.length > 25);
  const jobs = modules
    .map(
      (name) => `
  - job_name: ${name ?? ''}
    metrics_path: /probe
    params: { module: [${name ?? ''}] }
    static_configs: [{ targets: ['https://a.example', 'b.example:443'] }]
    relabel_configs:
      - { source_labels: [__address__], target_label: __param_target }`,
    )
    .join('');
  const plan = planOf([
    ...files,
    { path: 'prometheus.yml', text: `scrape_configs:${jobs}\n`, tables: null },
  ]);
  assertAsKept('blackbox-modules', plan);
  for (const name of modules) {
    const checks = plan.resources.filter(({ logicalId }) =>
      logicalId.startsWith(`target-${name ?? ''}-${name ?? ''}-`),
    );
    const said = plan.lines.some((line) => line.name === name);
    assert.ok(checks.length > 0 || said, name);
  }
});

test('modules without targets, and targets in files that are not there, are missing', async () => {
  const modules = planOf(await readSources(fixture('blackbox-example')));
  assert.match(modules.missing.join(), /the targets: add the configuration of Prometheus/);
  const files = await readSources(fixture('blackbox-rules'));
  const without = (...paths: string[]) => planOf(files.filter(({ path }) => !paths.includes(path)));
  assert.match(
    without('targets-web.json').missing.join(),
    /the targets in `\/etc\/prometheus\/targets-\*\.json`, which job `web` names/,
  );
  assert.match(without('blackbox.yml').missing.join(), /the module `http_body` of the/);
});
