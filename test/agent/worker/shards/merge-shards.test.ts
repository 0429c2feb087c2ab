import assert from 'node:assert/strict';
import test from 'node:test';
import { shardOutcome, type ShardOutcome } from '@monitor/shared/contract/agent-protocol.ts';
import type { ScriptTest } from '@monitor/shared/contract/check-result.ts';
import {
  decideShards,
  fittedOutcome,
  lineOfShard,
  mergeShards,
} from '../../../../agent/worker/shards/merge-shards.ts';

function testOf(title: string, fields: Partial<ScriptTest> = {}): ScriptTest {
  return {
    ...{ title, file: 'a.spec.ts', project: '', tags: [], status: 'passed', outcome: 'expected' },
    ...{ retries: 0, durationMs: 1, errors: [], steps: [] },
    ...fields,
  } as ScriptTest;
}

const error = (message: string) => ({ message, stack: null, title: null });
const failing = (title: string, message = `${title} broke`): ScriptTest =>
  testOf(title, { status: 'failed', outcome: 'unexpected', errors: [error(message)] });

function shardOf(tests: readonly ScriptTest[], fields: Partial<ShardOutcome> = {}): ShardOutcome {
  const count = (outcome: ScriptTest['outcome']) =>
    tests.filter((one) => one.outcome === outcome).length;
  const failed = tests.filter(({ outcome }) => outcome === 'unexpected');
  return {
    ...{ startedAt: 10, stoppedAt: 20, responseTime: 5, hasErrors: false, isDegraded: false },
    hasFailures: failed.length > 0,
    ...{ overMaxResponseTime: false, underLoad: false, artifacts: [] },
    errorMessages: failed.map(({ title, errors }) => `${title}: ${errors[0]?.message ?? ''}`),
    reason: failed.length > 0 ? `${failed.length} tests failed` : null,
    playwrightCheckResult: {
      errors: failed.flatMap(({ errors }) => errors),
      ...{ startTime: 10, endTime: 20, runtimeVersion: 'Playwright 1.60', jobAssets: [] },
      jobLog: [{ time: 11, msg: 'test: done', level: 'INFO' }],
      ...{ playwrightTestTraces: [], playwrightTestJsonReportFile: null, tests: [...tests] },
      ...{ playwrightTestVideos: [], playwrightTraceFiles: [] },
      metrics: {
        ...{ total: tests.length, passed: count('expected'), failed: failed.length },
        ...{ flaky: count('flaky'), skipped: count('skipped') },
        retries: tests.reduce((sum, { retries }) => sum + retries, 0),
        ...{ durationMs: 5, installMs: 2, cacheHit: true },
      },
    },
    ...fields,
  };
}

const broken = (reason = 'no room', faultCode = 'DISK_UNUSABLE'): ShardOutcome =>
  shardOf([], { hasErrors: true, reason, faultCode });
const whole = { startedAt: 1, stoppedAt: 30, log: [{ time: 1, msg: 'shared', level: 'INFO' }] };
const merge = (...shards: (ShardOutcome | null)[]) => mergeShards(shards, whole);

test('the verdict of a run by its shards: no failure of the target and no agent error hides the other', () => {
  const pass = shardOf([testOf('a')]);
  const fail = shardOf([failing('b')]);
  const degraded = shardOf([testOf('c')], { isDegraded: true, reason: 'slow' });
  const none = shardOf([]);
  const rows: [(ShardOutcome | null)[], string, string | null, RegExp | null][] = [
    [[pass, pass], 'passed', null, null],
    [[pass, none], 'passed', null, null],
    [[none, none], 'failed', null, /ran no tests in any shard/],
    [[none, shardOf([], { playwrightCheckResult: null })], 'passed', null, null],
    [[pass, degraded], 'degraded', null, /^shard 2 of 2: slow$/],
    [[pass, fail], 'failed', null, /^1 of 2 tests failed: b: b broke$/],
    [[fail, degraded], 'failed', null, /^1 of 2 tests/],
    [[pass, broken()], 'agent-error', 'DISK_UNUSABLE', /^shard 2 of 2: no room$/],
    [[broken(), pass], 'agent-error', 'DISK_UNUSABLE', /^shard 1 of 2: no room$/],
    [[degraded, broken()], 'agent-error', 'DISK_UNUSABLE', /no room/],
    [[broken(), none], 'agent-error', 'DISK_UNUSABLE', /no room/],
    [[fail, broken()], 'failed', null, /^1 of 1 tests/],
    [[broken(), fail], 'failed', null, /^1 of 1 tests/],
    [[pass, null, null], 'agent-error', 'SHARDS_UNFINISHED', /^shards 2, 3 of 3 did not end/],
    [[null, pass], 'agent-error', 'SHARDS_UNFINISHED', /^shard 1 of 2 did not end/],
    [[null, fail], 'failed', null, /^1 of 1 tests/],
    [[null, broken()], 'agent-error', 'DISK_UNUSABLE', /^shard 2 of 2: no room$/],
    [
      [pass, shardOf([], { hasFailures: true, reason: 'bundle not found' })],
      'failed',
      null,
      /^shard 2 of 2: bundle not found$/,
    ],
  ];
  for (const [shards, kind, faultCode, reason] of rows) {
    const tests = shards.flatMap((shard) => shard?.playwrightCheckResult?.tests ?? []);
    const decision = decideShards(shards, tests);
    assert.deepEqual([decision.kind, decision.faultCode], [kind, faultCode]);
    if (reason === null) assert.equal(decision.reason, null);
    else assert.match(decision.reason ?? '', reason);
    const merged = merge(...shards);
    assert.deepEqual(
      [merged.hasFailures, merged.hasErrors, merged.isDegraded],
      [kind === 'failed', kind === 'agent-error', kind === 'degraded'],
    );
    assert.equal(merged.errorMessages.length > 0, kind === 'failed');
  }
});

test('all shards together are one result: tests, numbers, logs and files', () => {
  const first = shardOf([testOf('a'), testOf('b', { outcome: 'flaky', retries: 1 })], {
    responseTime: 9,
    agentWaitMs: 3,
  });
  const second = shardOf([testOf('c', { status: 'skipped', outcome: 'skipped' }), failing('d')], {
    underLoad: true,
    artifacts: [
      { name: 'traces/shard-2-d.zip', type: 'trace', contentType: 'application/zip', size: 1 },
    ].map((file) => ({ ...file, type: 'trace' as const, withheld: null })),
  });
  const merged = merge(first, second);
  const details = merged.playwrightCheckResult;
  assert.deepEqual(
    details?.tests.map(({ title }) => title),
    ['d', 'b', 'a', 'c'],
  );
  assert.deepEqual(details.metrics, {
    ...{ total: 4, passed: 1, failed: 1, flaky: 1, skipped: 1, retries: 1 },
    ...{ durationMs: 5, installMs: 2, cacheHit: true },
  });
  assert.deepEqual(
    details.jobLog.map(({ msg }) => msg),
    ['shared', '[shard 1] test: done', '[shard 2] test: done'],
  );
  assert.deepEqual([merged.responseTime, merged.agentWaitMs, merged.underLoad], [9, 3, true]);
  assert.deepEqual([merged.startedAt, merged.stoppedAt, details.endTime], [1, 30, 30]);
  assert.deepEqual(
    merged.artifacts.map(({ name }) => name),
    ['traces/shard-2-d.zip'],
  );
});

test('pages that several shards visited are measured together', () => {
  const visited = (visits: number, lcp: number, fields: object = {}): ShardOutcome => {
    const shard = shardOf([testOf(`t${visits}`)]);
    const details = shard.playwrightCheckResult;
    assert.ok(details !== null);
    const page = { url: 'https://shop.example/', visits, requests: 10, bytes: 100 };
    const webVitals = { LCP: { value: lcp, score: 'GOOD' as const } };
    return {
      ...shard,
      playwrightCheckResult: {
        ...details,
        pages: [{ ...page, webVitals, ...fields }],
        metrics: { ...details.metrics, requests: 10, bytes: 100, browserStartMs: visits },
      },
    };
  };
  const merged = merge(visited(1, 5), visited(3, 7), shardOf([])).playwrightCheckResult;
  assert.deepEqual(merged?.pages, [
    {
      ...{ url: 'https://shop.example/', visits: 4, requests: 20, bytes: 200 },
      webVitals: { LCP: { value: 7, score: 'GOOD' } },
    },
  ]);
  const { requests, bytes, browserStartMs } = merged.metrics;
  assert.deepEqual([requests, bytes, browserStartMs], [20, 200, 3]);
  assert.equal(merge(shardOf([])).playwrightCheckResult?.metrics.requests, undefined);
  const uncounted = visited(2, 6);
  delete uncounted.playwrightCheckResult?.metrics.bytes;
  const { metrics } = merge(visited(1, 5), uncounted).playwrightCheckResult ?? {};
  assert.deepEqual(
    [metrics?.requests, metrics !== undefined && 'bytes' in metrics],
    [20, false],
    'a sum of some shards would be too small',
  );
});

test('a test that each shard ran counts once, as it went worst', () => {
  const setUp = testOf('log in', { project: 'setup' });
  const broke = failing('log in', 'refused');
  const merged = merge(
    shardOf([setUp, testOf('a')]),
    shardOf([{ ...broke, project: 'setup' }]),
    shardOf([setUp, testOf('b')]),
    shardOf([{ ...broke, project: 'setup' }]),
  );
  const details = merged.playwrightCheckResult;
  assert.deepEqual(
    details?.tests.map(({ title, outcome }) => `${title} ${outcome}`),
    ['log in unexpected', 'a expected', 'b expected'],
  );
  assert.deepEqual(details.errors, [error('refused')]);
  const { total, passed, failed } = details.metrics;
  assert.deepEqual([total, passed, failed], [3, 2, 1]);
  assert.deepEqual(merged.errorMessages, ['log in: refused']);
  const twice = merge(shardOf([testOf('same'), testOf('same')]), shardOf([testOf('other')]));
  assert.equal(twice.playwrightCheckResult?.tests.length, 3, 'two of a name in one suite are two');
});

test('tests that are all skipped make the run degraded, those of one shard do not', () => {
  const skipped = testOf('s', { status: 'skipped', outcome: 'skipped' });
  assert.equal(merge(shardOf([skipped]), shardOf([testOf('a')])).isDegraded, false);
  const all = merge(shardOf([skipped]), shardOf([{ ...skipped, title: 't' }]));
  assert.deepEqual(
    [all.isDegraded, all.reason],
    [true, '0 of 2 tests ran: all of them are skipped'],
  );
});

test('a result carries 200 files, those of failed shards first, and has no link to others', () => {
  const filesOf = (shard: number) =>
    Array.from({ length: 150 }, (_, index) => `traces/shard-${shard}-${index}.zip`);
  const withFiles = (outcome: ShardOutcome, names: string[]): ShardOutcome => ({
    ...outcome,
    artifacts: names.map((name) => ({
      ...{ name, type: 'trace', contentType: 'application/zip', size: 1, withheld: null },
    })),
    playwrightCheckResult: outcome.playwrightCheckResult && {
      ...outcome.playwrightCheckResult,
      jobAssets: names.map((name) => `artifact:${name}`),
    },
  });
  const merged = merge(
    withFiles(shardOf([testOf('a')]), filesOf(1)),
    withFiles(shardOf([failing('b')]), filesOf(2)),
  );
  assert.equal(merged.artifacts.length, 200);
  assert.equal(merged.artifacts[149]?.name, 'traces/shard-2-149.zip');
  assert.equal(merged.playwrightCheckResult?.jobAssets.length, 200);
  const log = merged.playwrightCheckResult.jobLog.map(({ msg }) => msg);
  assert.ok(log.includes('100 files are not kept: a result carries 200'));
});

test('an outcome fits into its part, without what explains least, and stays one that is accepted', () => {
  const step = { title: 'x'.repeat(900), category: 'pw:api', startTime: 1, durationMs: 1 };
  const steps = Array.from({ length: 50 }, () => ({
    ...step,
    error: null,
    steps: [],
    requests: [],
  }));
  const many = Array.from({ length: 100 }, (_, index) => testOf(`t${index}`, { steps }));
  const outcome = shardOf([...many, { ...failing('broke'), steps }]);
  const all = JSON.stringify(outcome).length;
  assert.equal(fittedOutcome(outcome, all), outcome);
  const half = fittedOutcome(outcome, all / 2).playwrightCheckResult?.tests ?? [];
  assert.deepEqual([half[0]?.steps.length, half.at(-1)?.steps.length], [0, 50]);
  for (const part of [2, 10, 100, 500]) {
    const fitted = fittedOutcome(outcome, all / part);
    assert.ok(JSON.stringify(fitted).length <= all / part, String(part));
    assert.deepEqual(fitted.playwrightCheckResult?.metrics, outcome.playwrightCheckResult?.metrics);
    assert.equal(shardOutcome.safeParse(fitted).success, true);
    const last = fitted.playwrightCheckResult?.jobLog.at(-1);
    assert.equal(last?.level, 'WARN', 'the log says what is missing');
    assert.match(last.msg, /^too much for one shard, left out: .*(steps|tests)/);
  }
  assert.equal(fittedOutcome(outcome, 300).playwrightCheckResult, null);
});

test('the line of a shard says how it went', () => {
  const one = shardOf([testOf('a')]);
  for (const [outcome, line] of [
    [one, 'passed, 1 tests'],
    [{ ...one, isDegraded: true }, 'degraded, 1 tests'],
    [shardOf([failing('b')]), 'failed, 1 tests'],
    [broken(), 'agent error: no room'],
    [{ ...one, playwrightCheckResult: null }, 'passed, its details had no room'],
  ] as const) {
    assert.equal(lineOfShard(2, 3, outcome), `shard 2 of 3: ${line}`);
  }
});

test('compared images are kept first, then files of failed, degraded and passed shards', () => {
  const nameOf = (shard: number, index: number) => `files/shard-${shard}-${index}.png`;
  const having = (outcome: ShardOutcome, shard: number, compared: number): ShardOutcome => {
    const details = outcome.playwrightCheckResult;
    assert.ok(details !== null);
    return {
      ...outcome,
      artifacts: Array.from({ length: 120 }, (_, index) => ({
        ...{ name: nameOf(shard, index), type: 'file', contentType: 'image/png', size: 1 },
        withheld: null,
      })),
      playwrightCheckResult: {
        ...details,
        // The last files of the shard.
        screenshotComparisons: Array.from({ length: compared }, (_, index) => ({
          ...{ path: `${shard}-${index}.png`, project: '', platform: 'linux-x64' },
          ...{ outcome: 'DIFFERENT', deployedDigest: null, diff: null },
          actual: `artifact:${nameOf(shard, 119 - 2 * index)}`,
          expected: `artifact:${nameOf(shard, 118 - 2 * index)}`,
        })),
      },
    };
  };
  const passed = shardOf([testOf('a')]);
  const degraded = shardOf([testOf('b')], { isDegraded: true, reason: 'slow' });
  const few = merge(
    having(passed, 1, 5),
    having(degraded, 2, 0),
    having(shardOf([failing('c')]), 3, 0),
  );
  const count = (shard: number) =>
    few.artifacts.filter(({ name }) => name.includes(`shard-${shard}-`)).length;
  assert.deepEqual([count(1), count(2), count(3)], [10, 70, 120]);
  assert.equal(few.playwrightCheckResult?.screenshotComparisons?.length, 5);
  // 240 images of 120 comparisons, of which a result has 100: all their images are there.
  const many = merge(having(passed, 1, 60), having(passed, 2, 60));
  const kept = new Set(many.artifacts.map(({ name }) => `artifact:${name}`));
  const compared = many.playwrightCheckResult?.screenshotComparisons ?? [];
  assert.equal(compared.length, 100);
  assert.ok(compared.every(({ actual, expected }) => kept.has(actual) && kept.has(expected ?? '')));
});
