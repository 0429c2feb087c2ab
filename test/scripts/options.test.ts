import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';

const root = join(import.meta.dirname, '../..');
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};
/** What `npm run` starts, by its file; a part of another script is asked for by that one. */
const started = Object.values(scripts).flatMap(
  (command) => command.match(/(?<=\bnode )[\w./-]+\.ts/g) ?? [],
);
const withOptions = [...new Set(started)]
  .map((file) => [file, readFileSync(join(root, file), 'utf8')] as const)
  .filter(([, source]) => /\b(?:readOptions|readArguments|parseArgs)\(/.test(source));

test('scripts with options are found', () => {
  assert.ok(withOptions.length >= 12, `${withOptions.length}`);
});

for (const [file, source] of withOptions) {
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
