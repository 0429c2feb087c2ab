import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import test from 'node:test';
import { temporaryFolder } from '../../support/system.ts';

const rootFolder = join(import.meta.dirname, '..', '..', '..');

function run(files: Record<string, string>): { code: number | null; out: string } {
  using folder = temporaryFolder();
  for (const [name, source] of Object.entries(files)) {
    const imports = "import assert from 'node:assert/strict';\nimport test from 'node:test';\n";
    writeFileSync(join(folder.path, name), `${imports}${source}`);
  }
  const glob = join(relative(rootFolder, folder.path), '*.test.ts');
  const { status, stdout } = spawnSync(process.execPath, ['scripts/test.ts', glob], {
    cwd: rootFolder,
    encoding: 'utf8',
  });
  return { code: status, out: stdout };
}

test('a run in which all passes ends with 0, counts, and names skips and the files that took the most time and CPU', () => {
  const { code, out } = run({
    'a.test.ts': "test('one', () => {}); test('two', { skip: 'no browser here' }, () => {});",
    'b.test.ts': "test('three', (t) => t.diagnostic('seed 7'));",
  });
  assert.equal(code, 0, out);
  assert.match(out, /1\/2 ✔ .*a\.test\.ts {2}2 tests/);
  assert.match(out, /skipped: two: no browser here/);
  assert.match(out, /2\/2 ✔ .*b\.test\.ts {2}1 tests.*\n {4}seed 7/);
  assert.match(
    out,
    /The slowest files:\n.*test\.ts\n.*test\.ts\n\nThe files that used the most CPU:\n.*test\.ts\n.*test\.ts\n\n2 files, 3 tests, 0 failed, 1 skipped/,
  );
});

test('tests of the long tier are counted, and nothing is missing for want of them', () => {
  const { code, out } = run({
    'a.test.ts':
      "test('one', () => {}); test('two', { skip: 'long tier: TEST_LONG=1' }, () => {});",
  });
  assert.equal(code, 0, out);
  assert.match(
    out,
    /1\/1 ✔ .*a\.test\.ts {2}1 tests, [\d.]+ s, [\d.]+ s of CPU, 1 more in the long tier\n/,
  );
  assert.match(out, /1 tests, 0 failed, 0 skipped.*\n1 tests of the long tier were not run/);
});

test('what fails is shown with its place and its reason, and the others of its process run', () => {
  const { code, out } = run({
    'a.test.ts': "test('outer', (t) => t.test('inner', () => assert.equal(1, 2)));",
    'b.test.ts': "test('fine', () => {});",
  });
  assert.equal(code, 1);
  assert.match(out, /\n✖ inner\n.*a\.test\.ts:3\n[\s\S]*1 !== 2/);
  assert.match(out, /✔ .*b\.test\.ts/);
  assert.match(out, /2 files, 3 tests, 1 failed/);
});

test('an error that nobody catches fails the run, and is shown', () => {
  const { code, out } = run({
    'a.test.ts': `
      const pause = () => new Promise((resolve) => setTimeout(resolve, 50));
      test('throws', async () => {
        setImmediate(() => { throw new Error('nobody caught it'); });
        await pause();
      });
      test('rejects', async () => {
        void Promise.reject(new Error('nobody waited for it'));
        await pause();
      });`,
  });
  assert.equal(code, 1);
  assert.match(out, /nobody caught it/);
  assert.match(out, /nobody waited for it/);
});

test('tests and hooks belong to the suite in which they are written', () => {
  const { code, out } = run({
    'a.test.ts': `
      import { before, beforeEach, describe } from 'node:test';
      for (const name of ['one', 'two']) {
        describe(name, () => {
          let seen = [];
          before(() => { seen.push(name); });
          beforeEach(() => { seen.push('each'); });
          test('has its own', () => assert.deepEqual(seen, [name, 'each']));
          describe('inner', () => {
            test('and those around it', () => assert.deepEqual(seen, [name, 'each', 'each']));
          });
        });
      }`,
  });
  assert.equal(code, 0, out);
});

test('a process that dies, and a file without tests, are failures', () => {
  const died = run({
    'a.test.ts': "test('kills itself', () => process.kill(process.pid, 'SIGKILL'));",
  });
  assert.equal(died.code, 1);
  assert.match(died.out, /No test of this file was reported/);
  const empty = run({ 'a.test.ts': 'assert.ok(true);' });
  assert.equal(empty.code, 1);
  const thrown = run({ 'a.test.ts': "test('fine', () => {}); throw new Error('at its end');" });
  assert.equal(thrown.code, 1);
  assert.match(thrown.out, /at its end/);
});
