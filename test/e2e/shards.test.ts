// Own process: it starts programs and kills them.
/** A suite that agents share: whatever is killed on the way, each test counts once in one result. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import type { ScriptTest } from '@monitor/shared/contract/check-result.ts';
import type { Program } from '../../proof/program.ts';
import { isLong, seededRandom, testSeed } from '../support/random.ts';
import { httpServer } from '../support/servers.ts';
import { eventually, farFromNow, System, temporaryFolder } from '../support/system.ts';

/** Each start of an agent or of a suite costs seconds of CPU: the short tier has two of each, and one kill. */
const names = isLong ? ['one', 'two', 'three', 'four'] : ['one', 'two'];
const shards = names.length;
const files = isLong ? 12 : 4;
const testsOfFile = 10;
const total = files * testsOfFile;
/** They fail on each agent. */
const broken = [`test ${files - 2}-7`, `test ${files - 1}-0`];

interface Result {
  id: string;
  hasFailures: boolean;
  hasErrors: boolean;
  playwrightCheckResult: {
    tests: ScriptTest[];
    metrics: Record<string, number>;
    jobLog: { msg: string }[];
    errors: unknown[];
  };
}

/** Each test tells that it runs. */
const specOf = (file: number): string => `
  const { test, expect } = require('@playwright/test');
  for (let index = 0; index < ${testsOfFile}; index += 1) {
    const name = 'test ${file}-' + index;
    test(name, async ({ request }) => {
      await request.get(process.env.COUNTER + '/' + encodeURIComponent(name));
      expect(${JSON.stringify(broken)}).not.toContain(name);
    });
  }`;

/** Counts the tests that run, and calls back with each. */
async function openCounter(onTest: () => void) {
  return httpServer((_request, response) => {
    response.end('counted');
    onTest();
  });
}

test(`a suite of ${total} tests on ${shards} agents that are killed at random: each test counts once, and the result is one`, async (t) => {
  using folder = temporaryFolder();
  const seed = testSeed();
  t.diagnostic(`seed ${seed}`);
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  await using system = await System.start(folder.path);
  const key = await system.makeLocation('here');
  const startAgent = (name: string): Program =>
    system.startAgent(name, key, {
      ...{ LOG_LEVEL: 'DEBUG', JOB_CONCURRENCY: '1' },
      AGENT_WORK_DIR: join(folder.path, `runs-${name}`),
    });
  const agents = new Map(names.map((name) => [name, startAgent(name)]));
  for (const agent of agents.values()) await agent.log('checked in');

  const untilKill = (): number => 1 + below(total / 2);
  // The first run is made at once; the short tier has no other, and the long one kills in later ones.
  let killsLeft = isLong ? 0 : 1;
  let testsUntilKill = untilKill();
  let restarting: Promise<unknown> = Promise.resolve();
  const killOne = async (): Promise<void> => {
    const name = names[below(names.length)] ?? '';
    await agents.get(name)?.kill9();
    agents.set(name, startAgent(name));
  };
  await using counter = await openCounter(() => {
    testsUntilKill -= 1;
    if (testsUntilKill > 0 || killsLeft === 0) return;
    killsLeft -= 1;
    testsUntilKill = 10 + below(total / 2);
    restarting = restarting.then(killOne);
  });
  const specs = Object.fromEntries(
    Array.from({ length: files }, (_, file) => [`part-${file}.spec.js`, specOf(file)]),
  );
  const check = await system.api<{ id: string }>('POST', '/v1/checks/playwright', {
    ...{ name: 'suite', shards, browsers: [], privateLocations: ['here'], ...farFromNow() },
    environmentVariables: [{ key: 'COUNTER', value: counter.url }],
    ...(await system.uploadSuite(specs)),
  });
  const finals = () =>
    system.api<Result[]>('GET', `/v1/check-results/${check.id}?resultType=FINAL&limit=100`);

  const isWhole = ({ hasErrors, hasFailures, playwrightCheckResult }: Result): void => {
    const { tests, metrics, jobLog, errors } = playwrightCheckResult;
    const log = jobLog.map(({ msg }) => msg).join('\n');
    assert.deepEqual([hasFailures, hasErrors], [true, false], log);
    assert.equal(tests.length, total, log);
    assert.equal(new Set(tests.map(({ title }) => title)).size, total);
    const failed = tests.filter(({ outcome }) => outcome !== 'expected');
    assert.deepEqual(failed.map(({ title }) => title).toSorted(), broken);
    assert.equal(errors.length, broken.length);
    const { durationMs: _d, installMs: _i, cacheHit: _c, ...counts } = metrics;
    assert.deepEqual(counts, {
      ...{ total, passed: total - broken.length, failed: broken.length },
      ...{ flaky: 0, skipped: 0, retries: 0 },
    });
  };
  await eventually(
    async () => (await finals()).length === 1,
    () => 'the first run',
  );
  await restarting;
  assert.equal(killsLeft, 0);
  const [first] = await finals();
  assert.ok(first !== undefined);
  isWhole(first);
  const log = first.playwrightCheckResult.jobLog.map(({ msg }) => msg).join('\n');
  for (let shard = 1; shard <= shards; shard += 1) {
    const line = `^shard ${shard} of ${shards}: (passed|failed), ${total / shards} tests$`;
    assert.match(log, new RegExp(line, 'm'));
  }
  // On a slow machine it takes more of them than one; after a kill, others may have taken all.
  if (isLong) assert.match(log, /runs on this agent/);
  const assets = await system.assetsOf<{ name: string; state: string }>(check.id, first.id);
  assert.ok(assets.length >= total, 'the files of all shards belong to it');
  for (const { name, state } of assets) assert.equal(state, 'STORED', name);

  killsLeft = isLong ? 20 : 0;
  let runs = 1;
  while (killsLeft > 0) {
    testsUntilKill = untilKill();
    await system.api('POST', '/v2/check-sessions/trigger', { target: { checkId: [check.id] } });
    runs += 1;
    await eventually(
      async () => (await finals()).length === runs,
      () => `run ${runs} with its kills`,
    );
    await restarting;
  }
  for (const result of await finals()) isWhole(result);
  const stored = system.query<{ state: string; late_results: number }>(
    'select state, late_results from check_runs',
  );
  assert.deepEqual(
    stored.map((run) => [run.state, run.late_results]),
    Array.from({ length: runs }, () => ['FINAL', 0]),
  );
  await eventually(
    () => system.query('select id from run_shards where outcome_json is not null').length === 0,
    () => 'what shards came to is deleted with the result',
  );
});
