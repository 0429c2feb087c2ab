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

test('a folder that another user could change is refused with the reason, and nothing is written there', async () => {
  using folder = temporaryFolder();
  const at = (name: string): string => join(folder.path, name);
  for (const name of ['open', 'target', 'foreign']) mkdirSync(at(name));
  chmodSync(at('open'), 0o777);
  symlinkSync(at('target'), at('link'));
  writeFileSync(at('file'), '');
  const rows: [string, RegExp][] = [
    ['open', /others may write to it \(mode 777\)/],
    ['link', /it is a symbolic link/],
    ['file', /file already exists/],
  ];
  if (uid === 0) {
    chownSync(at('foreign'), 65_534, 65_534);
    rows.push(['foreign', /it belongs to the user with the id 65534; this is 0/]);
  }
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
  assert.deepEqual(
    ['open', 'target', 'foreign'].flatMap((name) => readdirSync(at(name))),
    [],
  );
  assert.equal(distrustOf(folder.path), null);
});
