import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { probeDataFolder, probeFolder } from '../../../agent/status/probe-folder.ts';
import { temporaryFolder } from '../../support/system.ts';

test('a folder is tried, and left as it was', () => {
  using folder = temporaryFolder();
  assert.equal(probeFolder(join(folder.path, 'a', 'b')), null);
  assert.deepEqual(readdirSync(folder.path), []);
  const file = join(folder.path, 'file');
  writeFileSync(file, '');
  assert.equal(probeFolder(join(file, 'a', 'b'))?.code, 'ENOTDIR');
  assert.equal(probeFolder(file)?.code, 'EEXIST');
});

test('where folders cannot be made, what keeps the first of them from it is the reason', () => {
  const problem = probeFolder(`/proc/${process.pid}/a/b`);
  assert.match(problem?.message ?? '', /mkdir '\/proc\/\d+\/a'/, 'not that of all together');
});

test('an outbox that was removed beneath its agent is a problem of its folder', () => {
  using folder = temporaryFolder();
  const data = join(folder.path, 'data');
  mkdirSync(data);
  writeFileSync(join(data, 'outbox.db'), '');
  assert.equal(probeDataFolder(data), null);
  rmSync(join(data, 'outbox.db'));
  assert.match(probeDataFolder(data)?.message ?? '', /outbox\.db was removed/);
  rmSync(data, { recursive: true });
  assert.match(probeDataFolder(data)?.message ?? '', /outbox\.db was removed/);
  assert.equal(existsSync(data), false);
});
