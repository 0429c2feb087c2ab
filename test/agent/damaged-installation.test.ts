import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { temporaryFolder } from '../support/system.ts';

const starter = join(import.meta.dirname, '..', '..', 'agent', 'monitor-agent.js');
const whole = 'export function part() {\n  return 1;\n}\n';

test('a file of the installation that was cut is named, and what users wrote is not taken for one', () => {
  using folder = temporaryFolder();
  const at = (name: string): string => join(folder.path, name);
  const write = (name: string, text: string): void => writeFileSync(at(name), text);
  const run = () => {
    const { status, stderr } = spawnSync(process.execPath, [at('monitor-agent.js')], {
      encoding: 'utf8',
    });
    return { status, stderr };
  };
  copyFileSync(starter, at('monitor-agent.js'));
  write('package.json', '{"type":"module"}');
  write('main.ts', "(await import('./part.js')).part();\n");
  write('other.js', whole);
  write('part.js', whole);
  assert.deepEqual(run(), { status: 0, stderr: '' });
  write('part.js', whole.slice(0, 20));
  const cut = run();
  assert.equal(cut.status, 70);
  assert.match(cut.stderr, /part\.js: Unexpected end of input\nInstall monitor-agent again\.\n$/);
  write('part.js', '');
  assert.match(run().stderr, /part is not a function/, 'a bug is shown as one');
  rmSync(at('part.js'));
  const missing = run();
  assert.equal(missing.status, 70);
  assert.match(missing.stderr, /Cannot find module '.*part\.js'.*\nInstall monitor-agent again/);
  write('part.js', 'export const part = () => JSON.parse("{");\n');
  const json = run();
  assert.equal(json.status, 1);
  assert.doesNotMatch(json.stderr, /Install monitor-agent again/);
});
