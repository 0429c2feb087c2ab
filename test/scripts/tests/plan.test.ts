import assert from 'node:assert/strict';
import test from 'node:test';
import {
  filesForPostgres,
  filesForSqlite,
  planGroups,
  type Load,
} from '../../../scripts/tests/plan.ts';

const shared = "import test from 'node:test';\n";

test('a file that says why it needs a process has one, and each of e2e', () => {
  const sources = new Map([
    ['test/agent/b.test.ts', shared],
    ['test/agent/c.test.ts', `// Own process: it starts browsers.\n${shared}`],
    ['test/agent/a.test.ts', shared],
    // Its hook would run for the tests of the others.
    ['test/agent/d.test.ts', `${shared}afterEach(() => {});\n`],
    ['test/e2e/z.test.ts', shared],
  ]);
  assert.deepEqual(
    planGroups(sources).map(({ files }) => files),
    [
      ['test/agent/a.test.ts', 'test/agent/b.test.ts'],
      ['test/agent/c.test.ts'],
      ['test/agent/d.test.ts'],
      ['test/e2e/z.test.ts'],
    ],
  );
});

test('files of e2e wait, and those that give it as their reason; others burn', () => {
  const reasons = {
    a: 'it waits for time-outs.',
    b: 'it starts browsers.',
    d: 'it burns every processor.',
  };
  const sources = new Map(
    Object.entries(reasons).flatMap(([name, reason]) =>
      ['agent', 'e2e'].map((area) => [
        `test/${area}/${name}.test.ts`,
        `// Own process: ${reason}\n${shared}`,
      ]),
    ),
  );
  sources.set('test/e2e/c.test.ts', shared);
  const byLoad = Object.groupBy(planGroups(sources), ({ load }) => load);
  const filesOf = (load: Load) => byLoad[load]?.flatMap(({ files }) => files);
  assert.deepEqual(filesOf('waits'), [
    'test/agent/a.test.ts',
    'test/e2e/a.test.ts',
    'test/e2e/c.test.ts',
  ]);
  assert.deepEqual(filesOf('burns'), ['test/agent/d.test.ts', 'test/e2e/d.test.ts']);
  assert.deepEqual(filesOf('computes'), ['test/agent/b.test.ts', 'test/e2e/b.test.ts']);
});

test('no file is left out, none runs twice, and a process has files of one area', () => {
  const files = ['agent', 'control-plane', 'shared'].flatMap((area) =>
    Array.from({ length: 90 }, (_file, index) => `test/${area}/${index}.test.ts`),
  );
  const groups = planGroups(new Map(files.map((file) => [file, shared])));
  assert.deepEqual(groups.flatMap((group) => group.files).sort(), files.toSorted());
  for (const group of groups) {
    assert.equal(new Set(group.files.map((file) => file.split('/')[1])).size, 1);
    assert.ok(group.files.length <= 60);
  }
});

test('six files that start what is slow share a process, and not with others', () => {
  const files = Array.from({ length: 8 }, (_file, index) => `test/control-plane/${index}.test.ts`);
  const slow = `// Few share a process: it opens a browser.\n${shared}`;
  const sources = new Map(files.map((file, index) => [file, index === 0 ? shared : slow]));
  const groups = planGroups(sources);
  assert.deepEqual(
    groups.map((group) => group.files),
    [files.slice(0, 1), files.slice(1, 7), files.slice(7)],
  );
});

test('a reason is asked for', () => {
  const sources = new Map([
    ['test/agent/a.test.ts', `// Own process:\n${shared}`],
    ['test/agent/b.test.ts', shared],
  ]);
  assert.equal(planGroups(sources).length, 1);
});

test('a file whose statements others run on PostgreSQL runs there in the long tier alone', () => {
  const start = "import { start } from '../support/control-plane.ts';\n";
  const reason = '// PostgreSQL in the long tier:';
  const sources = new Map([
    ['test/control-plane/a.test.ts', `${reason} checks.test.ts runs its statements.\n${start}`],
    ['test/control-plane/b.test.ts', `${reason}\n${start}`],
  ]);
  const [often, ...rest] = [false, true].map((isLong) =>
    filesForPostgres(sources, () => '', isLong),
  );
  assert.deepEqual(often, ['test/control-plane/b.test.ts']);
  assert.deepEqual(rest, [[...sources.keys()]]);
  assert.deepEqual(filesForSqlite(sources), [...sources.keys()]);
});

test('files that start a control plane and no browser in their process run on PostgreSQL too, unless they say why not', () => {
  const world = 'test/support/world.ts';
  const sources = new Map([
    ['test/control-plane/a.test.ts', "import { start } from '../support/control-plane.ts';\n"],
    ['test/control-plane/b.test.ts', "import {\n  a,\n} from '../support/world.ts';\n"],
    ['test/control-plane/c.test.ts', "import { a } from '../support/clock.ts';\n"],
    [
      'test/control-plane/d.test.ts',
      "// SQLite only: it fills the file.\nimport { start } from '../support/control-plane.ts';\n",
    ],
    [
      'test/control-plane/f.test.ts',
      "import { start } from '../support/control-plane.ts';\nimport { launchBrowser } from '../support/found-browser.ts';\n",
    ],
    ['test/agent/e.test.ts', "import { start } from '../support/control-plane.ts';\n"],
    ['test/control-plane/g.test.ts', '// PostgreSQL only: it starts replicas.\n'],
    ['test/control-plane/h.test.ts', '// PostgreSQL only:\n'],
  ]);
  const support = new Map([
    [world, "import { start } from './control-plane.ts';\n"],
    ['test/support/clock.ts', ''],
    ['test/support/found-browser.ts', ''],
  ]);
  assert.deepEqual(
    filesForPostgres(sources, (file) => support.get(file) ?? ''),
    ['a', 'b', 'g'].map((name) => `test/control-plane/${name}.test.ts`),
  );
  assert.deepEqual(
    filesForSqlite(sources),
    [...sources.keys()].filter((file) => !file.endsWith('/g.test.ts')),
  );
});
