import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { systemClock } from '@monitor/shared/clock.ts';
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import { AgentError } from '../../../agent/errors.ts';
import type { RunnerRegistry } from '../../../agent/runners/index.ts';
import type { Observation, Runner } from '../../../agent/runners/runner.ts';
import { makeAttempt } from '../../../agent/worker/attempt.ts';
import { LagMeter } from '../../../agent/worker/lag-meter.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';

const seen: Observation = {
  startedAt: 1,
  stoppedAt: 2,
  responseTime: 12.9,
  failure: null,
  request: {},
  response: { status: 200, body: 'long text' },
};

function attempt(type: string, definition: unknown, runner: Runner) {
  const entry = { load: () => Promise.resolve(runner), pool: 'light' as const, timeoutMs: 1_000 };
  const runners: RunnerRegistry = { [type]: entry };
  const check: AssignedCheck = {
    id: '6d1c2a34-58a4-4f0e-9b9e-2f1f6f1f0a01',
    revision: 1,
    type,
    name: 'a',
    frequency: 1,
    frequencyOffset: 1,
    runParallel: false,
    locations: ['here'],
    scheduleFrom: 0,
    retryStrategy: null,
    definition: definition as Record<string, unknown>,
    proxyUrl: null,
  };
  const tools = {
    clock: systemClock,
    runners: { ...runners },
    network: runnerContext().network,
    lagMeter: new LagMeter(),
  };
  return makeAttempt(check, tools, new AbortController().signal);
}

// Runners are remembered by type for the life of the process, so one stands for all these tests.
let next: () => Promise<Observation>;
const runner: Runner = () => next();
const definition = definitionOf('URL', { url: 'http://a.example' });

test('a clean pass keeps no body and floors its time; a failure keeps the body', async () => {
  next = () => Promise.resolve(seen);
  const passed = await attempt('URL', definition, runner);
  assert.equal(passed.hasFailures, false);
  assert.equal(passed.responseTime, 12);
  assert.deepEqual(passed.apiCheckResult?.response, { status: 200 });
  next = () => Promise.resolve({ ...seen, response: { status: 500, body: 'why' } });
  const failed = await attempt('URL', definition, runner);
  assert.equal(failed.hasFailures, true);
  assert.deepEqual(failed.apiCheckResult?.response, { status: 500, body: 'why' });
});

test('what breaks on our side is an error, never a failure', async () => {
  for (const error of [
    new AgentError('RESOLVER_UNAVAILABLE', 'no resolver answered'),
    new TypeError('cannot read properties of undefined'),
  ]) {
    next = () => Promise.reject(error);
    const outcome = await attempt('URL', definition, runner);
    assert.deepEqual(
      [outcome.hasErrors, outcome.hasFailures, outcome.isDegraded],
      [true, false, false],
    );
    assert.ok(outcome.apiCheckResult?.requestError?.includes(error.message));
  }
});

test('an unknown type is an error that says so', async () => {
  const outcome = await attempt('TELEPATHY', {}, runner);
  assert.equal(outcome.hasErrors, true);
  assert.match(outcome.reason ?? '', /cannot run checks of type TELEPATHY/);
});

test('no definition, however mangled, breaks the agent or counts against the target', async () => {
  next = () => Promise.resolve(seen);
  let errors = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.object({ maxDepth: 3 }),
        fc.record({
          ...Object.fromEntries(Object.keys(definition).map((key) => [key, fc.anything()])),
        }),
        fc.constantFrom({}, { request: null }, { request: { url: 7 } }),
      ),
      async (mangled) => {
        const outcome = await attempt('URL', mangled, runner);
        if (outcome.hasErrors) {
          errors += 1;
          assert.equal(outcome.hasFailures, false);
        }
      },
    ),
    { numRuns: 10_000 },
  );
  assert.ok(errors > 9_000, `${errors} of 10,000 were refused`);
});
