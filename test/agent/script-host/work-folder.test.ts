/** The folder for the files of runs: one for each user, and none that another user could write to. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { readConfig } from '../../../agent/config.ts';
import { distrustOf, openWorkFolder } from '../../../agent/script-host/work-folder.ts';
import { temporaryFolder } from '../../support/system.ts';

const uid = process.getuid?.() ?? 0;
const nothingToSweep = () => Promise.resolve();
const modeOf = (path: string): number => statSync(path).mode & 0o777;

test('by default each user has a folder of their own, which others can neither read nor write', async () => {
  const environment = { API_KEY: 'pl_0123456789abcdef0123' };
  const { AGENT_WORK_DIR: own } = readConfig({ environment }).config;
  assert.equal(own, join(tmpdir(), `monitor-agent-runs-${uid}`));
  using folder = temporaryFolder();
  const shared = join(folder.path, 'runs');
  {
    await using opened = await openWorkFolder(shared, nothingToSweep);
    assert.deepEqual(readdirSync(shared), [opened.path.slice(shared.length + 1)]);
    // Runs that root starts have users of their own, who go through it and cannot list it.
    assert.equal(modeOf(shared), uid === 0 ? 0o711 : 0o700);
  }
  assert.deepEqual(readdirSync(shared), []);
});

test('a folder that another user made where all may is refused, and nothing is written there', async () => {
  using folder = temporaryFolder();
  const at = (name: string): string => join(folder.path, name);
  for (const name of ['foreign', 'target']) mkdirSync(at(name));
  symlinkSync(at('target'), at('link'));
  writeFileSync(at('file'), '');
  const rows: [string, RegExp][] = [
    ['file', /file already exists/],
    ['link', /it is a symbolic link/],
  ];
  if (uid === 0) {
    chownSync(at('foreign'), 65_534, 65_534);
    rows.push(['foreign', /it belongs to the user with the id 65534; this is 0/]);
  }
  chmodSync(folder.path, 0o1777);
  for (const [name, reason] of rows) {
    await assert.rejects(
      openWorkFolder(at(name), nothingToSweep),
      ({ code, message }: Error & { code: string }) =>
        code === 'SCRIPTING_UNAVAILABLE' &&
        reason.test(message) &&
        message.includes('Set AGENT_WORK_DIR to a folder of this user alone'),
      name,
    );
  }
  assert.deepEqual([...readdirSync(at('foreign')), ...readdirSync(at('target'))], []);
  // Outside of such a folder, somebody named it.
  chmodSync(folder.path, 0o755);
  assert.equal(distrustOf(at('foreign')), null);
});

test('volumes that all may write to are used, and what the agent owns is closed to others', async () => {
  using folder = temporaryFolder();
  const shared = join(folder.path, 'volume');
  mkdirSync(shared);
  chmodSync(shared, 0o777);
  await using opened = await openWorkFolder(shared, nothingToSweep);
  assert.deepEqual(readdirSync(shared), [opened.path.slice(shared.length + 1)]);
  assert.equal(modeOf(shared), uid === 0 ? 0o711 : 0o700);
});
