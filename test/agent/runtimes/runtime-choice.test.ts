import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import type { InstalledRuntime } from '../../../agent/runtimes/installed-runtime.ts';
import { builtinRuntime } from '../../../agent/runtimes/builtin-runtime.ts';
import { chooseRuntime } from '../../../agent/runtimes/runtime-choice.ts';
import { temporaryFolder } from '../../support/system.ts';

const runtime = (id: string): InstalledRuntime => ({
  id,
  folder: `/runtimes/${id}`,
  nodePath: '/node',
  packages: {},
});
const installed = [runtime('2025.04'), runtime('2026.04'), runtime('2022.10')];
const builtin = runtime('builtin');

test('a check gets the runtime it names, or the newest, or what the agent came with', () => {
  assert.equal(chooseRuntime('2025.04', installed, builtin).id, '2025.04');
  assert.equal(chooseRuntime(null, installed, builtin).id, '2026.04');
  assert.equal(chooseRuntime(null, [], builtin).id, 'builtin');
});

test('a runtime that is not there is never replaced by another', () => {
  assert.throws(() => chooseRuntime('2024.09', installed, builtin), {
    code: 'RUNTIME_MISSING',
    message: /monitor-agent runtime install 2024\.09/,
  });
  assert.throws(() => chooseRuntime(null, [], null), {
    code: 'RUNTIME_MISSING',
    message: /monitor-agent runtime install/,
  });
});

test('the agent offers the Playwright it came with, and none where it came without', () => {
  const found = builtinRuntime();
  assert.ok(found !== null);
  assert.equal(found.nodePath, process.execPath);
  assert.equal(found.packages['playwright'], found.packages['@playwright/test']);
  assert.match(found.packages['playwright'] ?? '', /^\d+\.\d+\.\d+$/);
  using folder = temporaryFolder();
  assert.equal(builtinRuntime(join(folder.path, 'agent.ts')), null);
});
