import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { InstalledRuntime } from '../../../agent/runtimes/installed-runtime.ts';
import { builtinRuntime } from '../../../agent/runtimes/builtin-runtime.ts';
import { AgentError } from '../../../agent/errors.ts';
import { fetchMissing } from '../../../agent/runtimes/fetch-missing.ts';
import type { Installation } from '../../../agent/runtimes/install-runtime.ts';
import { substituteNote } from '../../../agent/runtimes/installed-runtime.ts';
import { chooseRuntime } from '../../../agent/runtimes/runtime-choice.ts';
import { temporaryFolder } from '../../support/system.ts';

const runtime = (id: string): InstalledRuntime => ({
  ...{ id, folder: `/runtimes/${id}`, nodePath: '/node', packages: {} },
});
const installed = [runtime('2025.04'), runtime('2026.04'), runtime('2022.10')];
const builtin = runtime('builtin');

test('a check gets the runtime it names, or the newest, or what the agent came with', () => {
  assert.equal(chooseRuntime('2025.04', installed, builtin).id, '2025.04');
  assert.equal(chooseRuntime(null, installed, builtin).id, '2026.04');
  assert.equal(chooseRuntime(null, [], builtin).id, 'builtin');
});

test('unless it is strict, an agent replaces a missing runtime by its own packages, and says so', () => {
  const chosen = chooseRuntime('2024.09', installed, builtin, false);
  assert.equal(chosen.id, 'builtin');
  assert.match(
    substituteNote('2024.09', chosen) ?? '',
    /2024\.09 is not on this agent: .*RUNTIME_POLICY/,
  );
  const named = chooseRuntime('2025.04', installed, builtin, false);
  assert.equal(named.id, '2025.04');
  assert.deepEqual([substituteNote('2025.04', named), substituteNote(null, chosen)], [null, null]);
  assert.throws(() => chooseRuntime('2024.09', installed, null, false), {
    code: 'RUNTIME_MISSING',
  });
});

test('a runtime that is missing is fetched once at a time, if it is locked, and failures are no warnings', async () => {
  const events: string[] = [];
  let clock = 0;
  const stopping = new AbortController();
  const isOffline = new Set(['2025.04']);
  const ask = fetchMissing({
    ...{ directory: '/runtimes', environment: {}, now: () => clock, signal: stopping.signal },
    onFetched: (id) => events.push(`fetched ${id}`),
    onFailed: (id, reason) => events.push(`${id}: ${reason}`),
    install: ({ plan: { id } }) => {
      events.push(`installs ${id}`);
      return isOffline.has(id)
        ? Promise.reject(new AgentError('RUNTIME_BROKEN', 'no registry'))
        : Promise.resolve({ isNew: true } as Installation);
    },
  });
  for (const id of ['2025.04', '2026.04', '2025.04', 'builtin', '1999.01']) ask(id);
  await setImmediate();
  const first = ['installs 2025.04', '2025.04: no registry', 'installs 2026.04', 'fetched 2026.04'];
  assert.deepEqual(events, first);
  // Not with each run: after a minute, then two, and so on up to hours.
  const asked = async (afterMs: number): Promise<string[]> => {
    const { length } = events;
    clock += afterMs;
    ask('2025.04');
    await setImmediate();
    return events.slice(length);
  };
  for (const pauseMs of [60_000, 120_000, 240_000]) {
    assert.deepEqual(await asked(pauseMs - 1), []);
    assert.deepEqual(await asked(1), ['installs 2025.04', '2025.04: no registry']);
  }
  for (let tries = 0; tries < 20; tries += 1) await asked(6 * 3_600_000);
  assert.deepEqual(await asked(6 * 3_600_000 - 1), []);
  isOffline.clear();
  assert.deepEqual(await asked(1), ['installs 2025.04', 'fetched 2025.04']);
  assert.deepEqual(await asked(3_600_000), []);
  const { length } = events;
  stopping.abort();
  ask('2024.09');
  await setImmediate();
  assert.equal(events.length, length);
});

test('a runtime that is being fetched for minutes is not asked for again', async () => {
  let clock = 0;
  let begun = 0;
  const ask = fetchMissing({
    ...{ directory: '/runtimes', environment: {}, now: () => clock, onFetched() {}, onFailed() {} },
    signal: new AbortController().signal,
    install: async () => {
      begun += 1;
      for (; clock < 600_000; clock += 60_000) ask('2025.04');
      await setImmediate();
      return { isNew: true } as Installation;
    },
  });
  ask('2025.04');
  for (let turn = 0; turn < 5; turn += 1) await setImmediate();
  assert.equal(begun, 1);
});

test('a strict agent never replaces a runtime that is not there by another', () => {
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
