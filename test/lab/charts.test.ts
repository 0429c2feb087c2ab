/** Our renderer against Go's own templates with sprig, as Helm has them. Needs Debian packages. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import test, { before } from 'node:test';
import type { Chart } from '../../scripts/charts/load-chart.ts';
import {
  contextOf,
  mergeValues,
  objectsOf,
  renderChart,
  type Values,
} from '../../scripts/charts/render-chart.ts';
import {
  agentChart,
  agentCombinations,
  controlPlaneChart,
  controlPlaneCombinations,
  neededByAgent,
} from '../support/charts.ts';

const sources = '/usr/share/gocode';

before(() => {
  const hasAll =
    existsSync(`${sources}/src/github.com/Masterminds/sprig`) &&
    existsSync(`${sources}/src/gopkg.in/yaml.v3`);
  assert.ok(
    hasAll,
    'needs Debian packages: apt-get install golang-go golang-github-masterminds-sprig-dev golang-gopkg-yaml.v3-dev',
  );
});

interface Case {
  values: Values;
  apiVersions: readonly string[];
}

interface Output {
  texts?: Record<string, string>;
  error?: string;
}

function renderWithGo(chart: Chart, cases: readonly Case[]): Output[] {
  const templates = Object.fromEntries(
    [...chart.templates].map(([path, text]) => [`${chart.metadata.Name}/${path}`, text]),
  );
  const input = JSON.stringify({
    templates,
    cases: cases.map(({ values, apiVersions }) => ({
      context: contextOf(chart, mergeValues(chart.values, values), {}),
      apiVersions,
      files: Object.fromEntries(chart.files),
    })),
  });
  const answer = execFileSync('go', ['run', 'test/lab/go-charts/main.go'], {
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    env: { ...process.env, GOPATH: sources, GO111MODULE: 'off', GOFLAGS: '-mod=mod' },
  });
  return JSON.parse(answer) as Output[];
}

for (const [chart, combinations] of [
  [agentChart, agentCombinations],
  [controlPlaneChart, controlPlaneCombinations],
] as const) {
  test(`${chart.metadata.Name}: every combination is what Go makes of it`, () => {
    const cases = combinations.flatMap((values) =>
      [[], ['security.openshift.io/v1']].map((apiVersions) => ({ values, apiVersions })),
    );
    const outputs = renderWithGo(chart, cases);
    assert.equal(outputs.length, cases.length);
    for (const [index, { texts, error }] of outputs.entries()) {
      const { values, apiVersions } = cases[index] ?? { values: {}, apiVersions: [] };
      const what = JSON.stringify(values);
      assert.equal(error, undefined, what);
      const ours = renderChart(chart, values, { apiVersions });
      for (const [path, text] of Object.entries(texts ?? {})) {
        const short = path.slice(chart.metadata.Name.length + 1);
        if (short.endsWith('NOTES.txt')) {
          assert.equal(ours.notes, text, what);
          continue;
        }
        const mine = ours.texts.get(short) ?? '';
        assert.deepEqual(objectsOf(mine), objectsOf(text), `${short} with ${what}`);
      }
    }
  });
}

test('what our templates refuse, Go refuses with the same sentence', () => {
  const refused = [
    { controlPlaneUrl: '' },
    { apiKeySecret: { apiKey: '' } },
    { apiKeySecret: { create: false } },
    { keda: { enabled: true } },
    { networkPolicy: { targets: 'listed' } },
  ].map((values) => ({ values: mergeValues(neededByAgent, values), apiVersions: [] }));
  for (const [index, { error = '' }] of renderWithGo(agentChart, refused).entries()) {
    const values = refused[index]?.values;
    assert.throws(
      () => renderChart(agentChart, values),
      ({ message }: Error) => error.endsWith(message.split(': ').slice(-1)[0] ?? 'nothing'),
      JSON.stringify(values),
    );
  }
});

test('systemd finds nothing wrong with the units, and little that they could do', () => {
  const units = ['monitor-agent.service', 'monitor-control-plane.service'];
  const paths = units.map((unit) => `deploy/systemd/${unit}`);
  const verified = spawnSync('systemd-analyze', ['verify', ...paths], { encoding: 'utf8' });
  assert.equal(verified.error, undefined, 'needs the Debian package systemd');
  // Programs that are not installed on this machine are none of the units' faults.
  const problems = verified.stderr
    .split('\n')
    .filter((line) => line !== '' && !line.includes('is not executable'));
  assert.deepEqual(problems, []);
  for (const path of paths) {
    const judged = spawnSync(
      'systemd-analyze',
      ['security', '--offline=true', '--threshold=22', path],
      { encoding: 'utf8' },
    );
    assert.equal(judged.status, 0, judged.stdout.split('\n').slice(-2).join('\n'));
  }
});
