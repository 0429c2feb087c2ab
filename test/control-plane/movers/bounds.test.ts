/** Files that are made to cost: a sentence with the place, in the memory and the time of a small file. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { planImport } from '../../../control-plane/movers/index.ts';
import { yamlValues } from '../../../control-plane/movers/yaml-files.ts';
import { readSources } from '../../../control-plane/app/commands/import-files.ts';
import { insertRow, makeKumaDatabase } from '../../support/kuma-database.ts';
import { Operator } from '../../support/control-plane-command.ts';
import { isLong } from '../../support/random.ts';
import { temporaryFolder } from '../../support/system.ts';

async function refusalOf(name: string, write: (path: string) => void): Promise<string> {
  using folder = temporaryFolder();
  const path = join(folder.path, name);
  write(path);
  const { code, error } = await new Operator(folder.path).run(
    'import',
    path,
    '--location',
    'office',
  );
  assert.notEqual(code, 0);
  assert.doesNotMatch(error, /\n\s+at |call stack|circular|heap/i);
  return error.replaceAll(/\s+/g, ' ');
}

/** A table of SQL with the numbers from 1. */
const numbers = (count: number): string =>
  `(with recursive counted(value) as
     (select 1 union all select value + 1 from counted where value < ${count})
    select value from counted)`;

test('a column that is computed, and a row that is larger than any monitor, are not read', async () => {
  const generated = await refusalOf('kuma.db', (path) => {
    const db = new DatabaseSync(path);
    db.exec(`create table setting (key text, value text);
      create table monitor (id integer, name text as (hex(zeroblob(200000000))));
      insert into monitor (id) values (1), (2), (3), (4);`);
    db.close();
  });
  assert.match(generated, /kuma\.db: its table monitor computes the column name/);
  const huge = await refusalOf('kuma.db', (path) => {
    const db = makeKumaDatabase(path, '2.5.3');
    insertRow(db, 'monitor', { id: 1, name: 'a', type: 'http' });
    db.exec('update monitor set description = zeroblob(68000000)');
    db.close();
  });
  assert.match(huge, /its tables hold more than 67108864 bytes/);
});

test('as many monitors as nobody has are refused by number, and a chain of groups by its depth', async () => {
  const fill = (count: number) => (path: string) => {
    const db = makeKumaDatabase(path, '2.5.3');
    db.exec(
      `insert into monitor (id, name, type, parent, interval)
       select value, 'm' || value, 'group', nullif(value - 1, 0), 60 from ${numbers(count)}`,
    );
    db.close();
  };
  const many = await refusalOf('kuma.db', fill(20_001));
  assert.match(many, /its table monitor has 20001 rows, at most 20000 are read/);
  const deep = await refusalOf('kuma.db', fill(19_000));
  assert.match(deep, /monitor 52 is in groups that are nested deeper than 50/);
});

/** Their plan takes seconds of CPU for the most that is read. */
const links = isLong ? 19_000 : 4_000;

test(`${links} links of each kind are worked through one by one`, async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'kuma.db');
  const db = makeKumaDatabase(path, '2.5.3');
  insertRow(db, 'tag', { id: 1, name: 'tag', color: '#fff' });
  db.exec(
    `insert into monitor
       (id, name, type, url, interval, basic_auth_user, basic_auth_pass, auth_method, user_id)
     select value, 'm' || value, 'http', 'https://a.example/', 60, 'u', 'p' || value, 'basic', 1
     from ${numbers(links)};
     insert into monitor_tag (id, monitor_id, tag_id, value)
     select value, 1, 1, value from ${numbers(links)}`,
  );
  db.close();
  const plan = planImport(await readSources(path), {
    ...{ from: null, project: null, locations: [], privateLocations: ['office'] },
    ...{ prefersLonger: true, environment: {} },
  });
  assert.equal(plan.variables.length, links);
});

test('YAML that refers to itself, and YAML that is deeper than any, are named by file and line', async () => {
  const self = await refusalOf('config.yaml', (path) => {
    writeFileSync(path, 'endpoints:\n  - &self\n    name: shop\n    url: [*self]\n');
  });
  assert.match(self, /config\.yaml, line 4 is not usable YAML: \*self refers to what it stands in/);
  const deep = await refusalOf('config.yaml', (path) => {
    writeFileSync(path, `endpoints: ${'['.repeat(200_000)}`);
  });
  assert.match(deep, /config\.yaml is not (usable|valid) YAML/);
  const read = (text: string) => yamlValues({ path: 'config.yaml', text });
  const deepMap = `a: b\nc: ${'{ c: '.repeat(400)}${'}'.repeat(400)}\n`;
  for (const text of [deepMap, `a: b\nc: ${'['.repeat(400)}${']'.repeat(400)}\n`])
    assert.throws(() => read(text), /config\.yaml, line 2 is not usable YAML: nested too deeply$/);
  assert.throws(() => read('a: b\na: c\n'), /config\.yaml, line 2 .*: Map keys must be unique$/);
  const [named] = read('__proto__: { polluted: true }\n');
  assert.deepEqual(
    [Object.keys(named ?? {}), Object.getPrototypeOf(named)],
    [['__proto__'], Object.prototype],
  );
  assert.deepEqual(read('<<: { a: b }\n<<: { c: d }\n'), [{ a: 'b', c: 'd' }]);
  // What merely is used twice is fine.
  using folder = temporaryFolder();
  const path = join(folder.path, 'config.yaml');
  const shop =
    '{ name: shop, url: "https://a.example/", conditions: ["[STATUS] == 200"], headers: *h }';
  writeFileSync(
    path,
    `h: &h { a: b }\nendpoints:\n  - ${shop}\n  - ${shop.replace('shop', 'b')}\n`,
  );
  const plan = planImport(await readSources(path), {
    ...{ from: 'gatus', project: null, locations: [], privateLocations: ['office'] },
    ...{ prefersLonger: true, environment: {} },
  });
  assert.equal(plan.resources.filter(({ type }) => type === 'check').length, 2);
});
