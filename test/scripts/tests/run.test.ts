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

test('a run in which all passes ends with 0, counts, and names skips and the slowest files', () => {
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
    /The slowest files:\n.*test\.ts\n.*test\.ts\n\n2 files, 3 tests, 0 failed, 1 skipped/,
  );
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
