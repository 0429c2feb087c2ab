import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { Probe } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/Probe';
import { ScrapeConfig } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1alpha1/ScrapeConfig';
import { parse as parseCsv } from 'csv-parse/sync';
import { parse, stringify } from 'yaml';
import { readSources } from '../../../control-plane/app/commands/import-files.ts';
import type { SourceFile } from '../../../control-plane/movers/index.ts';
import { fixture, planOf, textOf } from '../../support/movers.ts';

type Path = (string | number)[];

/** Paths of all values that are no maps and no lists. */
function leavesOf(value: unknown, path: Path = []): Path[] {
  if (Array.isArray(value)) return value.flatMap((one, index) => leavesOf(one, [...path, index]));
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).flatMap(([key, one]) => leavesOf(one, [...path, key]));
  }
  return [path];
}

/** A copy with another value at a path. */
function changed(value: unknown, path: Path, change: (leaf: unknown) => unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return change(value);
  if (Array.isArray(value)) {
    return value.with(Number(key), changed(value[Number(key)], rest, change));
  }
  const record = value as Record<string, unknown>;
  return { ...record, [key]: changed(record[key], rest, change) };
}

/** A value that the source would take in the place of another. */
function otherValue(leaf: unknown): unknown {
  if (typeof leaf === 'boolean') return !leaf;
  if (typeof leaf === 'number') return leaf + 1;
  const text = String(leaf);
  if (/^\d{1,2}:\d{2}$/.test(text)) return '04:45';
  // A duration stays one.
  if (/^[\d.]+(ms|s|m|h)([\d.]+(ms|s|m|h))*$/.test(text)) return '7m';
  const weekdays = ['Monday', 'Thursday', 'Sunday'];
  if (weekdays.includes(text)) return 'Sunday';
  if (/^https?:\/\//.test(text)) return `${text}x`;
  return `${text}x`;
}

function fingerprint(files: readonly SourceFile[]): string {
  try {
    const plan = planOf(files);
    return JSON.stringify([
      plan.resources,
      plan.variables,
      plan.missing,
      plan.report().map((line) => ({ ...line, place: null })),
    ]);
  } catch (error) {
    // A file that is refused says so.
    return String(error);
  }
}

/**
 * Fields of a sample whose change neither changes what is created nor stands in the report. Names of
 * objects that were not created count as in the report.
 */
function lostIn(files: readonly SourceFile[], isWithoutMeaning: (path: Path) => boolean): string[] {
  const before = fingerprint(files);
  const said = textOf(planOf(files));
  const notCreated = planOf(files)
    .lines.filter(({ text }) => text.includes('Nothing was created'))
    .map(({ name }) => name);
  const lost = files.flatMap((file, index) => {
    const document: unknown = parse(file.text, { merge: true });
    return leavesOf(document)
      .filter((path) => !isWithoutMeaning(path))
      .filter((path) => {
        const text = stringify(changed(document, path, otherValue));
        if (fingerprint(files.with(index, { ...file, text })) !== before) return false;
        const names = path.filter((part) => typeof part === 'string');
        if (names.some((name) => said.includes(`\`${name}\``) || said.includes(`.${name}\``)))
          return false;
        return !ownersOf(document, path).some((owner) => notCreated.includes(owner));
      })
      .map((path) => `${file.path}: ${path.join('.')}`);
  });
  return lost.sort();
}

/** Names of the objects around a value. */
function ownersOf(document: unknown, path: Path): string[] {
  const found = path.filter((part) => typeof part === 'string');
  let value = document;
  for (const part of path) {
    value = (value as Record<string | number, unknown>)[part];
    const { name, job_name, alert } = (value ?? {}) as Record<string, unknown>;
    for (const one of [name, job_name, alert]) if (typeof one === 'string') found.push(one);
  }
  return found;
}

test('no field of Gatus is lost in silence', async () => {
  const files = await readSources(fixture('gatus/every-field.yaml'));
  assert.deepEqual(
    lostIn(files, (path) => path[0] === 'suites' || path[0] === 'announcements'),
    // It is switched off in any case, for its OAuth2.
    ['every-field.yaml: endpoints.8.enabled'],
  );
});

test('no field of Prometheus and blackbox modules is lost in silence', async () => {
  const files = await readSources(fixture('blackbox-rules'));
  assert.deepEqual(
    lostIn(files, (path) => path.includes('rule_files')),
    // Each says nothing beside what the rest of the sample says.
    [
      // The target is https, and redirects are not followed.
      'blackbox.yml: modules.http_body.http.fail_if_not_ssl',
      // The time limit of the module is shorter.
      'prometheus.yml: scrape_configs.0.scrape_timeout',
      // Without `instance`, a check has the name of its target.
      ...[0, 1, 2, 3].map(
        (job) =>
          `prometheus.yml: scrape_configs.${job}.relabel_configs.${job === 1 ? 2 : 1}.source_labels.0`,
      ),
      // No target of these jobs has the label.
      ...[2, 3].flatMap((job) =>
        ['source_labels.0', 'regex'].map(
          (field) => `prometheus.yml: scrape_configs.${job}.relabel_configs.3.${field}`,
        ),
      ),
      // The name of a group of rules.
      'rules.yml: groups.0.name',
      // Relabelling drops it.
      'targets-web.json: 1.targets.0',
    ].sort(),
  );
});

test('no field of OpenStatus is lost in silence', async () => {
  const [file] = await readSources(fixture('openstatus'));
  assert.ok(file);
  const text = stringify({
    shop: {
      ...{ name: 'Shop', description: 'The shop', frequency: '10m', active: true, public: true },
      ...{
        retry: 2,
        timeout: 5000,
        degradedAfter: 2000,
        regions: ['fra', 'private'],
        kind: 'http',
      },
      request: {
        ...{ url: 'https://shop.example/', method: 'POST', body: '{}' },
        headers: { Accept: 'application/json' },
      },
      assertions: [
        { kind: 'statusCode', compare: 'gte', target: 200 },
        { kind: 'header', compare: 'contains', key: 'Content-Type', target: 'json' },
        { kind: 'textBody', compare: 'not_empty', target: 'ignored' },
      ],
      openTelemetry: { endpoint: 'https://traces.example/', headers: { Authorization: 'canary' } },
    },
    port: {
      ...{ name: 'Port', frequency: '1h', regions: ['iad'], kind: 'tcp' },
      request: { host: 'db.example', port: 5432 },
    },
  });
  assert.deepEqual(
    lostIn([{ ...file, text }], () => false),
    [],
  );
  assert.doesNotMatch(textOf(planOf([{ ...file, text }])), /canary/);
  const nearest = textOf(planOf([{ ...file, text }], { locations: [] }));
  assert.match(nearest, /regions fra, private → .*, the nearest locations/);
});

test('monitors of OpenStatus that ask for records become DNS checks', () => {
  const monitor = (assertions: object[]) => ({
    path: 'a.yaml',
    tables: null,
    text: stringify({
      zone: {
        ...{ frequency: '10m', kind: 'dns', active: true },
        ...{ request: { host: 'a.example' }, assertions },
      },
    }),
  });
  const one = { kind: 'dnsRecord', key: 'MX', compare: 'eq', target: 'mail.example' };
  const [check] = planOf([monitor([one])]).resources;
  assert.deepEqual([check?.payload['checkType'], check?.payload['activated']], ['DNS', true]);
  const { recordType, assertions } = check?.payload['request'] as Record<string, unknown>;
  assert.deepEqual(
    [recordType, assertions],
    ['MX', [{ source: 'TEXT_ANSWER', comparison: 'CONTAINS', target: 'mail.example' }]],
  );
  const [both] = planOf([monitor([one, { ...one, key: 'A' }])]).resources;
  assert.equal(both?.payload['activated'], false);
  for (const [unknown, said] of [
    [{ ...one, compare: 'like' }, 'dnsRecord like'],
    [{ kind: 'dnsRecord', key: 'MX', target: 'mail.example' }, 'dnsRecord without compare'],
  ] as const) {
    const plan = planOf([monitor([one, unknown])]);
    const [partly] = plan.resources;
    assert.equal(partly?.payload['activated'], false, said);
    assert.equal(textOf(plan).includes(`assertion \`${said}\` has no counterpart`), true, said);
  }
});

const operatorModels = '@kubernetes-models/prometheus-operator';
const folderOfSchemas = new URL('_schemas/', import.meta.resolve(`${operatorModels}/package.json`));

/** Names of the fields in a published schema, which is there as a validator. */
function fieldsOfSchema(name: string): string[] {
  const prefix = 'ComGithubPrometheusOperatorPrometheusOperatorPkgApisMonitoring';
  const text = readFileSync(new URL(`${prefix}${name}.js`, folderOfSchemas), 'utf8');
  return [
    ...new Set(
      [...text.matchAll(/instancePath\+"\/(\w+)",parentData:data/g)].map(([, one = '']) => one),
    ),
  ];
}

function withField(
  record: object,
  [name = '', ...rest]: readonly string[],
  value: unknown,
): object {
  const inner = (record as Record<string, object>)[name] ?? {};
  return { ...record, [name]: rest.length === 0 ? value : withField(inner, rest, value) };
}

const probe = {
  ...{ module: 'http_2xx', prober: { url: 'blackbox:9115' } },
  targets: { staticConfig: { static: ['http://a.example'] } },
};
const scrapeConfig = {
  ...{ metricsPath: '/probe', params: { module: ['http_2xx'] } },
  staticConfigs: [{ targets: ['http://a.example'] }],
  relabelings: [
    { sourceLabels: ['__address__'], targetLabel: '__param_target' },
    { targetLabel: '__address__', replacement: 'blackbox:9115' },
  ],
};

for (const [kind, schema, spec, place] of [
  ['Probe', 'V1ProbeSpec', probe, []],
  ['Probe', 'V1ProberSpec', probe, ['prober']],
  ['Probe', 'V1ProbeTargets', probe, ['targets']],
  ['Probe', 'V1ProbeTargetStaticConfig', probe, ['targets', 'staticConfig']],
  ['ScrapeConfig', 'V1alpha1ScrapeConfigSpec', scrapeConfig, []],
] as const) {
  test(`no field of the published schema ${schema} is lost in silence`, () => {
    const model = { kind, metadata: { name: 'x' }, spec };
    const made = kind === 'Probe' ? new Probe(model as never) : new ScrapeConfig(model as never);
    made.validate();
    const shown = (changed: object) => {
      const text = JSON.stringify({ ...model, spec: changed });
      const plan = planOf([{ path: 'all.json', text, tables: null }], { from: 'prometheus' });
      return `${textOf(plan)}\n${JSON.stringify(plan.resources)}`;
    };
    const before = shown(spec);
    const values: Record<string, unknown> = {
      ...{ interval: '45s', scrapeInterval: '45s', scrapeTimeout: '3s', path: '/other/probe' },
      ...{ relabelings: [], relabelingConfigs: [{ action: 'drop' }], params: { given: ['x'] } },
      ...{ static: ['http://b.example'], staticConfig: {}, labels: { team: 'x' }, targets: {} },
      ...{ staticConfigs: [], fileSDConfigs: [{ files: ['x.json'] }] },
    };
    const names = fieldsOfSchema(schema);
    assert.ok(names.length > 1, schema);
    const lost = names.filter((name) => {
      const whole = withField(spec, [...place, name], values[name] ?? 'given');
      return shown(whole) === before;
    });
    // Where the exporter is: agents take its place.
    assert.deepEqual(
      lost.filter((name) => !['prober', 'url', 'path'].includes(name)),
      [],
    );
  });
}

test('what is true by default and switched off is not lost', () => {
  const text = (followRedirects: boolean) =>
    stringify({
      shop: {
        ...{ frequency: '10m', kind: 'http' },
        request: { url: 'https://shop.example/', followRedirects },
      },
    });
  for (const followRedirects of [true, false]) {
    const plan = planOf([{ path: 'a.yaml', text: text(followRedirects), tables: null }]);
    const [check] = plan.resources;
    assert.deepEqual(
      (check?.payload['request'] as Record<string, unknown>)['followRedirects'],
      followRedirects,
    );
  }
});

test('no cell of a CSV is lost in silence', async () => {
  const [file] = await readSources(fixture('checks.csv'));
  assert.ok(file);
  const before = fingerprint([file]);
  const rows = parseCsv(file.text);
  const written = (table: string[][]) =>
    table.map((row) => row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')).join('\n');
  assert.equal(fingerprint([{ ...file, text: written(rows) }]), before);
  const [header = []] = rows;
  const lost = rows.flatMap((row, index) =>
    row.flatMap((cell, column) => {
      // Of the last row nothing is created, which the report says.
      if (index === 0 || index === rows.length - 1 || cell === '') return [];
      const other = { yes: 'no', no: 'yes', '6': '4' }[cell] ?? otherValue(cell);
      const text = written(rows.with(index, row.with(column, String(other))));
      const isLost = fingerprint([{ ...file, text }]) === before;
      return isLost ? [`row ${index}: ${header[column] ?? ''}`] : [];
    }),
  );
  assert.deepEqual(lost, []);
});

test('a column of a CSV that is not known, or has no effect, is in the report', async () => {
  const text = 'target,owner,record_type\nhttps://shop.example/,ada,MX\n';
  const said = textOf(planOf([{ path: 'checks.csv', text, tables: null }]));
  assert.match(said, /column `owner` is not known/);
  assert.match(said, /`record_type` has no effect on this type/);
});

for (const name of ['gatus/every-field.yaml', 'blackbox-rules', 'checks.csv']) {
  test(`a plan for ${name} shows no credential`, async () => {
    const plan = planOf(await readSources(fixture(name)));
    assert.doesNotMatch(textOf(plan), /canary/);
    const checks = plan.resources.filter(({ type }) => type === 'check');
    assert.doesNotMatch(JSON.stringify(checks), /canary/);
  });
}
