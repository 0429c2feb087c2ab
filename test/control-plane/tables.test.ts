import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import test from 'node:test';

const sources = globSync('control-plane/**/*.ts', {
  exclude: (path) => /node_modules|baseline\.ts|control-plane\/(console|docs)/.test(path),
});
const moduleOf = (path: string): string => path.split('/')[1] ?? '';

/** A statement in SQL that writes a table, whose name it gives. */
const sqlWrite =
  /\b(?:(?:insert|replace)(?:\s+or\s+\w+)?\s+into|delete\s+from|update(?:\s+or\s+\w+)?)\s+["`]?(\w+)/gi;

/** Files that change columns of other modules, and why they may. */
const exceptions: Readonly<Record<string, string>> = {
  'control-plane/integrity/stored-credentials.ts': 'encrypts every credential, wherever it is',
  'control-plane/integrity/salvage.ts': 'leaves damaged rows out of the new database',
  'control-plane/db/delete-oldest.ts': 'writes the table that its caller names',
  'control-plane/db/own-rows.ts': 'writes the table that its caller names',
  'control-plane/resources/resource.ts': 'writes the table that a definition names',
  'control-plane/results/rename-future-runs.ts': 'gives a result another id, wherever it is named',
};

/** Which module declares each table, in its part of the type of the database. */
function declaredTables(): Map<string, string> {
  const owners = new Map<string, string>();
  for (const path of sources.filter((each) => each.endsWith('/tables.ts'))) {
    const [, body = '', indent = ''] =
      /interface Database \{\n(( +).*?)\n(?: {2})?\}\n/s.exec(readFileSync(path, 'utf8')) ?? [];
    for (const [, table = ''] of body.matchAll(
      new RegExp(`^${indent}(\\w+): (?:\\{|\\w+;)$`, 'gm'),
    )) {
      assert.equal(owners.get(table), undefined, `${table} is declared twice`);
      owners.set(table, moduleOf(path));
    }
  }
  return owners;
}

test('one module is the only writer of each table', () => {
  const owners = declaredTables();
  assert.ok(owners.size > 50, `${owners.size} tables`);
  const written = new Set<string>();
  for (const path of sources) {
    if (path in exceptions) continue;
    const text = readFileSync(path, 'utf8');
    for (const [, table = ''] of text.matchAll(
      /(?:\.(?:insertInto|replaceInto|mergeInto|updateTable|deleteFrom)\(|\bprepareInserts\(|\b(?:(?:delete|update)OwnRows|deleteOldest)\([^,]*,|\btable: (?='\w+', noun: ))\s*([^,)]*)/g,
    )) {
      const [, listed] =
        /(?:for \(const table of|const \w+Tables =) \[([^\]]*)\]/.exec(
          table === 'table' ? text : '',
        ) ?? [];
      const names = [...(listed ?? table).matchAll(/'(\w+)(?: as \w+)?'/g)].map(
        ([, each = '']) => each,
      );
      assert.ok(names.length > 0, `${path} writes a table whose name is not in the text: ${table}`);
      for (const name of names) {
        assert.equal(moduleOf(path), owners.get(name), `${path} writes ${name}`);
        if (name === 'jobs') assert.equal(path, 'control-plane/scheduling/jobs.ts');
        written.add(name);
      }
    }
    for (const [, name = ''] of text.matchAll(sqlWrite)) {
      if (owners.has(name))
        assert.equal(moduleOf(path), owners.get(name), `${path} writes ${name}`);
    }
  }
  assert.deepEqual(
    [...owners.keys()].filter((table) => !written.has(table)),
    [],
  );
});
