import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';

const root = join(import.meta.dirname, '../..');
const scripts = globSync('scripts/**/*.ts', { cwd: root })
  .map((file) => [file, readFileSync(join(root, file), 'utf8')] as const)
  .filter(([, source]) => /from '\.{1,2}\/options\.ts'/.test(source));

test('scripts with options are found', () => {
  assert.ok(scripts.length >= 10, `${scripts.length}`);
});

for (const [file, source] of scripts) {
  test(`${file} says in one line that it does not know an option`, () => {
    assert.doesNotMatch(source, /\bparseArgs\b/);
    const run = spawnSync(process.execPath, [file, '--unheard-of'], {
      cwd: root,
      encoding: 'utf8',
    });
    assert.equal(run.status, 2, run.stderr);
    assert.match(run.stderr, /^Unknown option '--unheard-of'[^\n]*\n$/);
  });
}
