import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { parse } from 'yaml';
import {
  agentMetrics,
  checkMetrics,
  controlPlaneMetrics,
  metricsTable,
  probeMetrics,
} from '../support/known-metrics.ts';
import { readExpression } from '../support/promql.ts';

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: Record<string, string>;
}

const rules = (): Rule[] => {
  const { groups } = parse(readFileSync('deploy/prometheus/alerts.yaml', 'utf8')) as {
    groups: { rules: Rule[] }[];
  };
  return groups.flatMap((group) => group.rules);
};

interface Panel {
  title: string;
  type: string;
  description?: string;
  fieldConfig?: { defaults: { unit: string } };
  targets?: { expr: string }[];
  gridPos: { x: number; y: number; w: number; h: number };
}

const dashboards = (): { file: string; panels: Panel[]; queries: string[] }[] =>
  readdirSync('deploy/grafana').map((file) => {
    const json = JSON.parse(readFileSync(join('deploy/grafana', file), 'utf8')) as {
      panels: Panel[];
      templating: { list: { type: string; query: string | { query: string } }[] };
    };
    const queries = json.templating.list.flatMap(({ query }) =>
      typeof query === 'string' ? [] : [query.query],
    );
    return { file, panels: json.panels, queries };
  });

/** What a scrape adds, and what the suffixes of a type add. */
const everywhere = ['job', 'instance'];

function knownMetrics(): Map<string, readonly string[]> {
  const known = new Map<string, readonly string[]>([['up', []]]);
  for (const { name, type, labels } of [
    ...agentMetrics(),
    ...controlPlaneMetrics(),
    ...probeMetrics,
    ...checkMetrics,
  ]) {
    if (type !== 'histogram') known.set(name, labels);
    else {
      known.set(`${name}_bucket`, [...labels, 'le']);
      known.set(`${name}_sum`, labels);
      known.set(`${name}_count`, labels);
    }
  }
  return known;
}

test('every expression of dashboards and rules asks for metrics and labels that exist', () => {
  const known = knownMetrics();
  const expressions = [
    ...rules().map(({ alert, expr }) => ({ where: alert, expr })),
    ...dashboards().flatMap(({ file, panels }) =>
      panels.flatMap(({ title, targets = [] }) =>
        targets.map(({ expr }) => ({ where: `${file}: ${title}`, expr })),
      ),
    ),
  ];
  assert.ok(expressions.length > 100);
  for (const { where, expr } of expressions) {
    const { asked, grouped } = readExpression(expr);
    assert.ok(asked.length > 0, `${where} asks for nothing`);
    const labels = new Set(everywhere);
    for (const { metric, labels: used } of asked) {
      const offered = known.get(metric);
      assert.ok(offered, `${where}: there is no metric ${metric}`);
      for (const label of offered) labels.add(label);
      for (const label of used) {
        assert.ok(
          [...offered, ...everywhere].includes(label),
          `${where}: ${metric} has no label ${label}`,
        );
      }
    }
    for (const label of grouped) assert.ok(labels.has(label), `${where}: no label ${label}`);
  }
  for (const { file, queries } of dashboards()) {
    for (const query of queries) {
      const [, metric = '', label = ''] =
        /^label_values\((\w+)(?:\{.*\})?, (\w+)\)$/.exec(query) ?? [];
      const offered = known.get(metric);
      assert.ok(offered, `${file}: ${query}`);
      assert.ok([...offered, ...everywhere].includes(label), `${file}: ${query}`);
    }
  }
});

test('an expression that does not parse, or asks for nothing known, is noticed', () => {
  assert.throws(() => readExpression('sum(rate(a[5m])'));
  assert.deepEqual(readExpression('sum by (x, y) (rate(a{b="1",c=~"2"}[5m]))'), {
    asked: [{ metric: 'a', labels: ['b', 'c'] }],
    grouped: ['x', 'y'],
  });
});

test('every alert has a severity, and says what it is, what it means and what to do', () => {
  const names = rules().map(({ alert }) => alert);
  assert.equal(new Set(names).size, names.length);
  for (const { alert, labels, annotations } of rules()) {
    assert.match(labels.severity, /^(critical|warning|info)$/, alert);
    for (const part of ['summary', 'description', 'runbook']) {
      assert.ok((annotations[part] ?? '').length > 10, `${alert} has no ${part}`);
    }
  }
});

test('every panel says what it shows, has a unit, and overlaps no other', () => {
  for (const { file, panels } of dashboards()) {
    const taken = new Set<string>();
    for (const { title, type, description, fieldConfig, gridPos } of panels) {
      if (type !== 'row') {
        assert.ok((description ?? '').length > 5, `${file}: ${title}`);
        assert.ok(fieldConfig?.defaults.unit, `${file}: ${title}`);
      }
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          assert.ok(x < 24 && !taken.has(`${x},${y}`), `${file}: ${title} overlaps`);
          taken.add(`${x},${y}`);
        }
      }
    }
  }
});

function cells(markdown: string): string[][] {
  return markdown
    .trim()
    .split('\n')
    .filter((line) => !/^\|[\s|:-]+\|$/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()));
}

test('the guide lists the metrics of both processes as they are', () => {
  for (const [file, table] of [
    ['docs/agent-metrics.md', metricsTable(agentMetrics())],
    ['docs/control-plane-metrics.md', metricsTable(controlPlaneMetrics())],
  ] as const) {
    const [, shown = ''] =
      /<!-- metrics: begin -->\n([\s\S]*?)<!-- metrics: end -->/.exec(readFileSync(file, 'utf8')) ??
      [];
    assert.deepEqual(cells(shown), cells(table), file);
  }
});
