// Own process: it measures the memory of programs.
/** Files that are made to cost: a sentence with the place, in the memory and the time of a small file. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { planImport } from '../../../control-plane/movers/index.ts';
import { readSources } from '../../../control-plane/app/commands/import-files.ts';
import { insertRow, makeKumaDatabase } from '../../support/kuma-database.ts';
import { Operator } from '../../support/control-plane-command.ts';
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
    db.exec('update monitor set description = zeroblob(100000000)');
    db.close();
  });
  assert.match(huge, /its tables hold more than 67108864 bytes/);
});

test('as many monitors as nobody has are refused by number, and a chain of groups by its depth', async () => {
  const fill = (count: number, parentOf: (id: number) => number | null) => (path: string) => {
    const db = makeKumaDatabase(path, '2.5.3');
    db.exec('begin');
    for (let id = 1; id <= count; id += 1) {
      insertRow(db, 'monitor', {
        id,
        name: `m${id}`,
        type: 'group',
        parent: parentOf(id),
        interval: 60,
      });
    }
    db.exec('commit');
    db.close();
  };
  const many = await refusalOf(
    'kuma.db',
    fill(30_000, (id) => id - 1),
  );
  assert.match(many, /its table monitor has 30000 rows, at most 20000 are read/);
  const deep = await refusalOf(
    'kuma.db',
    fill(19_000, (id) => (id === 1 ? null : id - 1)),
  );
  assert.match(deep, /monitor 52 is in groups that are nested deeper than 50/);
});

test('twenty thousand links of each kind are worked through one by one', async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'kuma.db');
  const db = makeKumaDatabase(path, '2.5.3');
  db.exec('begin');
  insertRow(db, 'tag', { id: 1, name: 'tag', color: '#fff' });
  for (let id = 1; id <= 19_000; id += 1) {
    insertRow(db, 'monitor', {
      ...{ id, name: `m${id}`, type: 'http', url: 'https://a.example/', interval: 60 },
      ...{ basic_auth_user: 'u', basic_auth_pass: `p${id}`, auth_method: 'basic', user_id: 1 },
    });
    insertRow(db, 'monitor_tag', { id, monitor_id: 1, tag_id: 1, value: String(id) });
  }
  db.exec('commit');
  db.close();
  const plan = planImport(await readSources(path), {
    ...{ from: null, project: null, locations: [], privateLocations: ['office'] },
    ...{ prefersLonger: true, environment: {} },
  });
  assert.equal(plan.variables.length, 19_000);
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
