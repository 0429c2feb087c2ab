import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { readSources } from '../../../control-plane/app/commands/import-files.ts';
import { SourceError, type SourceFile } from '../../../control-plane/movers/index.ts';
import { refusalOf } from '../../../control-plane/movers/acceptable.ts';
import { textOf as textOfValue } from '../../../control-plane/movers/source-object.ts';
import { fillKumaDatabase, makeKumaDatabase } from '../../support/kuma-database.ts';
import { fixture, planOf, textOf } from '../../support/movers.ts';
import { testSeed, tries } from '../../support/random.ts';
import { temporaryFolder } from '../../support/system.ts';

/** What people write into fields, and what they never would. */
const value = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.double(),
  fc.constantFrom<unknown>(
    ...[null, '', '[]', '{}', '{', '["x"]', '{{a}}', -1, 0, 1, 1e12, Number.NaN, 'https://', 'a b'],
    ...['http://[', 'x'.repeat(5000), '__proto__', 'constructor', 'toString', '1-0', '99999', 'ä'],
    ...['http', 'keyword', 'json-query', 'port', 'ping', 'dns', 'push', 'group', 'real-browser'],
    ...['5m', '1h', '-5s', '25:99', 'Europe/Nowhere', '2030-99-99', '\u0000', '\ud800'],
  ),
  fc.jsonValue(),
);

/** Whatever stands in the files, what comes of it is accepted, or refused in a sentence. */
function assertUsable(
  files: readonly SourceFile[],
  from: 'kuma' | 'gatus' | 'prometheus' | 'openstatus' | 'csv',
): void {
  let plan;
  try {
    plan = planOf(files, { from });
  } catch (error) {
    assert.ok(
      error instanceof SourceError,
      error instanceof Error ? (error.stack ?? '') : String(error),
    );
    assert.doesNotMatch(error.message, /\n/);
    return;
  }
  const ids = new Set<string>();
  for (const { logicalId, type, payload } of plan.resources) {
    assert.equal(refusalOf(type, payload), null, logicalId);
    assert.equal(ids.has(logicalId), false, `${logicalId} is there twice`);
    ids.add(logicalId);
  }
  assert.ok(textOf(plan).length > 0);
}

test('a database of Uptime Kuma with any values becomes something acceptable', async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'kuma.db');
  const db = makeKumaDatabase(path, '2.5.3');
  fillKumaDatabase(db, '2.5.3');
  db.close();
  const [file] = await readSources(path);
  assert.ok(file?.tables);
  const { tables } = file;
  const places = Object.entries(tables).flatMap(([table, rows]) =>
    rows.flatMap((row, index) =>
      // The database keeps primary keys apart.
      Object.keys(row)
        .filter((column) => column !== 'id')
        .map((column) => ({ table, index, column })),
    ),
  );
  const change = fc.record({ place: fc.constantFrom(...places), value });
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 30 }), (changes) => {
      const changed: Record<string, Record<string, unknown>[]> = structuredClone(tables) as never;
      for (const { place, value: other } of changes) {
        const row = changed[place.table]?.[place.index];
        // A cell is a number, a text or nothing.
        const cell = typeof other === 'object' && other !== null ? JSON.stringify(other) : other;
        if (row !== undefined) row[place.column] = cell;
      }
      assertUsable([{ ...file, tables: changed }], 'kuma');
    }),
    { seed: testSeed(), numRuns: tries(1000) },
  );
});

const name = fc.constantFrom(
  ...['endpoints', 'external-endpoints', 'alerting', 'maintenance', 'scrape_configs', 'modules'],
  ...['groups', 'receivers', 'route', 'name', 'url', 'conditions', 'interval', 'client', 'alerts'],
  ...['type', 'dns', 'http', 'tcp', 'prober', 'static_configs', 'targets', 'relabel_configs'],
  ...['metrics_path', 'job_name', 'rules', 'expr', 'alert', 'kind', 'request', 'assertions'],
);
const tree = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    value,
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(name, tie('tree'), { maxKeys: 6 }),
  ),
})).tree;

for (const [format, sample] of [
  ['gatus', 'gatus/every-field.yaml'],
  ['prometheus', 'blackbox-rules'],
  ['openstatus', 'openstatus'],
] as const) {
  test(`files of ${format} with any values become something acceptable`, async () => {
    const samples = await readSources(fixture(sample));
    fc.assert(
      fc.property(fc.dictionary(name, tree), (document) => {
        const text = stringify(document);
        assertUsable([{ path: 'any.yaml', text, tables: null }], format);
      }),
      { seed: testSeed(), numRuns: tries(1000) },
    );
    // A line of a real file is missing, doubled, or at the wrong place.
    fc.assert(
      fc.property(
        fc.nat(),
        fc.nat(),
        fc.constantFrom('drop', 'double', 'move'),
        (first, second, how) => {
          const [file] = samples;
          assert.ok(file);
          const lines = file.text.split('\n');
          const at = first % lines.length;
          const line = lines[at] ?? '';
          if (how !== 'double') lines.splice(at, 1);
          if (how !== 'drop') lines.splice(second % lines.length, 0, line);
          assertUsable([{ ...file, text: lines.join('\n') }, ...samples.slice(1)], format);
        },
      ),
      { seed: testSeed(), numRuns: tries(1000) },
    );
  });
}

test('rows of a CSV with any values become something acceptable', () => {
  const columns = [
    'name',
    'target',
    'type',
    'interval',
    'status_codes',
    'retries',
    'tags',
    'headers',
  ];
  const cell = value.map((one) => `"${textOfValue(one).replaceAll('"', '""')}"`);
  fc.assert(
    fc.property(
      fc.array(fc.array(cell, { minLength: 8, maxLength: 8 }), { maxLength: 4 }),
      (rows) => {
        const text = [columns.join(','), ...rows.map((row) => row.join(','))].join('\n');
        assertUsable([{ path: 'any.csv', text, tables: null }], 'csv');
      },
    ),
    { seed: testSeed(), numRuns: tries(1000) },
  );
});

test('one object that cannot exist here keeps no other from being imported', () => {
  const text = `endpoints:
  - name: good
    url: https://shop.example/
    conditions: ['[STATUS] == 200']
  - name: bad
    url: 192.0.2.53
    dns: { query-name: ${'a'.repeat(300)}, query-type: A }
    conditions: ['[DNS_RCODE] == NOERROR']
    alerts: [{ type: email }]
alerting:
  email:
    to: no-address
`;
  const plan = planOf([{ path: 'config.yaml', text, tables: null }]);
  assert.deepEqual(
    plan.resources.map(({ logicalId }) => logicalId),
    ['endpoint-good'],
  );
  assert.match(
    textOf(plan),
    /«bad» \(endpoint-bad\): `request\.query` is not accepted\. Nothing was created\./,
  );
  assert.match(textOf(plan), /`config\.address` is not accepted\. Nothing was created\./);
  const refused = plan.lines.filter(({ text }) => text.includes('is not accepted'));
  assert.deepEqual(
    refused.map(({ object, place }) => [object, place]),
    [
      ['endpoint bad', 'config.yaml:5'],
      ['alerting alert-email', 'config.yaml:12'],
    ],
  );
});

test('a page in the place of a file is refused by name', () => {
  for (const [path, text, isPage] of [
    ['config.yaml', '<!DOCTYPE html>\n<html><body>Sign in</body></html>', true],
    ['config.json', '\uFEFF\n <html lang="en">', true],
    ['config.yaml', 'endpoints: [] # <html>', false],
  ] as const) {
    const plan = () => planOf([{ path, text, tables: null }], { from: 'gatus' });
    if (isPage)
      assert.throws(plan, { message: /^config\.\w+ is an HTML page, and no configuration/ });
    else assert.throws(plan, { message: /there is nothing of Gatus in the files/ });
  }
});

test('credentials in a URL that are not encoded keep no other from being imported', () => {
  const text = 'name,target\nodd,https://a%zz:b@a.example/\nfine,https://b.example/\n';
  const plan = planOf([{ path: 'checks.csv', text, tables: null }]);
  assert.equal(plan.resources.filter(({ type }) => type === 'check').length, 2);
  const semicolons = text.replaceAll(',', ';');
  const same = planOf([{ path: 'checks.csv', text: semicolons, tables: null }]);
  assert.deepEqual(same.resources, plan.resources);
});

test('a value that is neither read nor reported is refused with its name', () => {
  const csv = (columns: string, row: string) => [
    {
      path: 'checks.csv',
      text: `name,target,${columns}\na,https://a.example/,${row}\n`,
      tables: null,
    },
  ];
  const gatus = (fields: string) => [
    {
      path: 'gatus.yaml',
      text: `endpoints:\n  - name: a\n    url: https://a.example/\n    ${fields.startsWith('interval') ? '' : 'interval: 1m\n    '}${fields}\n    conditions: ["[STATUS] == 200"]\n`,
      tables: null,
    },
  ];
  for (const [files, problem] of [
    [csv('active', 'WAHR'), /row 1 .*`active` is neither true nor false: WAHR/],
    [csv('ip_family', 'dual'), /`ip_family` is neither 4 nor 6: dual/],
    [csv('retries', 'many'), /`retries` is not a number: many/],
    [csv('interval', '0'), /`interval` is not a number of seconds: 0/],
    [csv('Target', 'https://b.example/'), /there are two columns `target`/],
    [gatus('enabled: maybe'), /gatus\.yaml:2: `enabled` is neither true nor false: maybe/],
  ] as const) {
    assert.throws(() => planOf(files), problem);
  }
  // Programs in Go take these words of YAML 1.1 for a field that is true or false.
  for (const [word, isOn] of [
    ['yes', true],
    ['On', true],
    ['y', true],
    ['no', false],
    ['off', false],
  ] as const) {
    const [check] = planOf(gatus(`enabled: ${word}`)).resources;
    assert.equal(check?.payload['activated'], isOn, word);
  }
  // A variable is read like what stands in the file.
  const filled = (fields: string, value: string) =>
    planOf(gatus(fields), { environment: { V: value } });
  for (const [value, isOn] of [
    ['TRUE', true],
    ['Yes', true],
    ['OFF', false],
  ] as const) {
    const [check] = filled('enabled: ${V}', value).resources;
    assert.equal(check?.payload['activated'], isOn, value);
  }
  assert.throws(() => filled('enabled: ${V}', 'hush'), /`enabled` comes from a variable that is/);
  const text = (plan: ReturnType<typeof planOf>): string =>
    plan.lines.map((line) => line.text).join();
  assert.match(text(planOf(gatus('interval: soon'))), /`interval` is not a time → 1 minute/);
});

test('what was not created is not exact, and leaves no credential behind', () => {
  const text =
    'name,target,username,password,record_type,type\na,https://a.example/,ada,secret,,\nb,b.example,,,NONE,dns\n';
  const plan = planOf([{ path: 'checks.csv', text, tables: null }]);
  assert.equal(plan.counts().EXACT, 1);
  assert.deepEqual([plan.variables.length, plan.findings], [1, 1]);
  const refused = planOf([
    {
      path: 'checks.csv',
      text: `${text.replace('https://a', `https://${'a'.repeat(3000)}`)}`,
      tables: null,
    },
  ]);
  assert.deepEqual([refused.counts().EXACT, refused.variables.length], [0, 0]);
});
