// Own process: the process remembers the runner of each type.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import fc from 'fast-check';
import { systemClock } from '@monitor/shared/clock.ts';
import { resultSubmission, type AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import {
  resultShapes,
  type NetworkDiagnostics,
  type ResultField,
} from '@monitor/shared/contract/check-result.ts';
import { checkTypes } from '@monitor/shared/contract/checks/index.ts';
import { WithoutCpuError } from '@monitor/shared/time-limit.ts';
import { AgentError } from '../../../agent/errors.ts';
import type { RunnerRegistry } from '../../../agent/runners/index.ts';
import type { Observation, Runner } from '../../../agent/runners/runner.ts';
import {
  makeAttempt,
  type Attempt,
  type AttemptTools,
  type VoidAttempt,
} from '../../../agent/worker/attempt.ts';
import { ProcessTime, type Measuring, type TimeFacts } from '../../../agent/worker/process-time.ts';
import { resultOf } from '../../support/fake-agent.ts';
import { grpcServer } from '../../support/grpc-server.ts';
import { tries } from '../../support/random.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';
import { assignedCheck } from '../../support/plain.ts';

const seen: Observation = {
  ...{ startedAt: 1, stoppedAt: 2, responseTime: 12.9, failure: null, request: {} },
  response: { status: 200, body: 'long text' },
};

const noFiles = {
  add: ({ name }: { name: string }) => Promise.resolve(`artifact:${name}`),
  finish: () => Promise.resolve([]),
  discard: () => Promise.resolve(),
};

// It keeps files open for the life of an agent: one serves all attempts.
const processTime = new ProcessTime({ clock: systemClock });

function attempt(
  type: string,
  definition: unknown,
  runner: Runner,
  { environment = [], proxyUrl = null }: Partial<AssignedCheck> = {},
  further: Partial<AttemptTools & Pick<Attempt, 'latestStart'>> = {},
) {
  const entry = { load: () => Promise.resolve(runner), pool: 'light' as const, timeoutMs: 1_000 };
  const runners: RunnerRegistry = { [type]: entry };
  const check = assignedCheck({
    ...{ type, proxyUrl, environment, definition: definition as Record<string, unknown> },
  });
  const tools = {
    ...{ clock: systemClock, runners: { ...runners }, network: runnerContext().network },
    ...{ processTime, scripting: null, scriptingProblem: null },
    artifactsOf: () => noFiles,
    ...further,
  };
  const { latestStart = Infinity } = further;
  return makeAttempt(
    { check, run: runnerContext().run, environmentUrl: null, latestStart },
    tools,
    new AbortController().signal,
  );
}

// Runners are remembered by type for the life of the process, so one stands for all these tests.
let next: () => Promise<Observation>;
const runner: Runner = () => next();
const definition = definitionOf('URL', { url: 'http://a.example' });

test('a clean pass of a monitor has null for its body and floors its time; a failure keeps the body', async () => {
  next = () => Promise.resolve(seen);
  const passed = await attempt('URL', definition, runner);
  assert.equal(passed.hasFailures, false);
  assert.equal(passed.responseTime, 12);
  assert.deepEqual(passed.apiCheckResult?.response, { status: 200, body: null });
  next = () => Promise.resolve({ ...seen, response: { status: 500, body: 'why' } });
  const failed = await attempt('URL', definition, runner);
  assert.equal(failed.hasFailures, true);
  assert.deepEqual(failed.apiCheckResult?.response, { status: 500, body: 'why' });
});

test('only a type that is degraded by rules of its own says why it is', async () => {
  const limits = { degradedResponseTime: 10, maxResponseTime: 100 };
  const url = definitionOf('URL', { url: 'http://a.example' }, limits);
  const icmp = definitionOf('ICMP', { hostname: 'a.example', pingCount: 1 });
  for (const [type, given, response, state, reason] of [
    ['URL', url, { status: 200 }, 'degraded', /^none$/],
    ['ICMP', icmp, { packetLoss: 15 }, 'degraded', /15.*loss|loss.*15/],
    ['ICMP', icmp, { packetLoss: 50 }, 'failed', /^none$/],
  ] as const) {
    next = () => Promise.resolve({ ...seen, response });
    const outcome = await attempt(type, given, runner);
    assert.equal(outcome.isDegraded ? 'degraded' : outcome.hasFailures && 'failed', state);
    const exchange = outcome[checkTypes[type].resultField as 'apiCheckResult'];
    assert.match(exchange?.degradedReason ?? 'none', reason, type);
  }
});

test('a gRPC check sends its secrets and shows none of them', async () => {
  const sent: string[] = [];
  await using server = await grpcServer({
    reflection: ['v1'],
    get({ request, metadata }, answer) {
      sent.push(request.orderId, String(metadata.get('x-token')[0]));
      answer(null, { orderId: `echo ${request.orderId}` });
    },
  });
  const grpc = definitionOf('GRPC', {
    ...{ url: 'localhost', port: server.port },
    grpcConfig: {
      ...{ tls: false, method: 'shop.v1.Orders/Get', message: '{"orderId":"{{SECRET}}"}' },
      metadata: [{ key: 'x-token', value: '{{SECRET}}' }],
    },
  });
  const value = 'hunter-22-hunter';
  const environment = [{ key: 'SECRET', value, secret: true }];
  const { runGrpc } = await import('../../../agent/runners/grpc.ts');
  const outcome = await attempt('GRPC', grpc, runGrpc as Runner, { environment });
  assert.equal(outcome.reason, null);
  assert.deepEqual(sent, [value, value]);
  assert.ok(!JSON.stringify(outcome).includes(value));
  assert.match(String(outcome.grpcCheckResult?.response?.['responseMessage']), /echo \*+/);
});

test('a clean pass of an API check keeps the beginning of its body, and no part of a secret', async () => {
  let response: Observation['response'] = { status: 200, body: '{"ok":true}', truncated: false };
  const observe: Runner = () => Promise.resolve({ ...seen, response });
  // Runners are remembered by type: this one stands for API checks of this file.
  const api = definitionOf('API', { method: 'GET', url: 'http://a.example' });
  const environment = [{ key: 'S', value: 'hunter-22-hunter', secret: true }];
  const keptOf = async () =>
    (await attempt('API', api, observe, { environment })).apiCheckResult?.response;
  assert.deepEqual(await keptOf(), response);

  response = {
    status: 200,
    body: `${'x'.repeat(8_184)}hunter-22-hunter and more`,
    truncated: false,
  };
  const long = await keptOf();
  assert.equal(long?.['body'], `${'x'.repeat(8_184)}********`);
  assert.equal(long['truncated'], true);

  const picture = { status: 200, body: 'A'.repeat(8_196), bodyEncoding: 'base64' };
  response = { ...picture, truncated: false };
  assert.deepEqual(await keptOf(), { status: 200, body: null, truncated: true });
  response = { ...picture, status: 500, truncated: false };
  assert.deepEqual(await keptOf(), response, 'a failure keeps all of it');
});

test('evidence is gathered when an attempt fails, and not when failing was asked for', async () => {
  const diagnostics: NetworkDiagnostics = {
    capture: { kind: 'packets', packets: 2, missing: null },
    events: [{ at: 1, phase: 'resolve', event: 'db.hunter-22.example is 10.0.0.1' }],
    traceroute: null,
    tracerouteMissing: 'switched off',
  };
  let gathered = 0;
  next = () =>
    Promise.resolve({
      ...seen,
      failure: { phase: 'connect', code: 'ECONNREFUSED', message: 'no', isNetworkError: true },
      response: null,
      evidence() {
        gathered += 1;
        return Promise.resolve({ diagnostics, pcapReference: 'artifact:capture.pcap' });
      },
    });
  const environment = [{ key: 'NAME', value: 'hunter-22', secret: true }];
  const failed = await attempt('URL', definition, runner, { environment });
  assert.equal(gathered, 1);
  assert.equal(failed.apiCheckResult?.pcapDataUrl, 'artifact:capture.pcap');
  const [event] = failed.apiCheckResult.networkDiagnostics?.events ?? [];
  assert.equal(event?.event, 'db.*********.example is 10.0.0.1');
  const target = { hostname: 'db.example', port: 5432 };
  const closed = definitionOf('TCP', target, { shouldFail: true });
  const expected = await attempt('TCP', closed, runner);
  assert.deepEqual([expected.hasFailures, gathered], [false, 1]);
  assert.equal(expected.apiCheckResult?.networkDiagnostics, null);
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

test('a secret in names, numbers and words of a result leaves it its shape', async () => {
  const step = {
    ...{ title: 'my test secret', category: 'test.step', startTime: 1_795_262_524_505 },
    ...{ durationMs: 1.1234567, error: null, requests: [], steps: [] },
  };
  const browserCheckResult = {
    type: 'PLAYWRIGHT_TEST',
    errors: [{ message: 'PLAYWRIGHT_TEST passed 123456', stack: null, title: 'test' }],
    ...{ startTime: 1_795_262_524_505, endTime: 1_795_262_524_506, runtimeVersion: 'builtin' },
    jobLog: [{ time: 1_795_262_524_505, msg: 'user test', level: 'INFO' }],
    ...{ jobAssets: [], playwrightTestTraces: [], playwrightTestJsonReportFile: null },
    tests: [
      {
        ...{ title: 'a test', file: 'a', project: '', tags: [], retries: 0, durationMs: 1 },
        ...{ status: 'passed' as const, outcome: 'expected' as const, errors: [] },
        steps: [{ ...step, steps: [step] }],
      },
    ],
    traceSummary: { consoleErrors: 0, networkErrors: 0, documentErrors: 0, userScriptErrors: 0 },
    pages: [
      {
        ...{ url: 'http://test/', title: '', console: [], network: [], screenshots: [] },
        webVitals: { LCP: { score: 'GOOD' as const, value: 3.123456 } },
      },
    ],
    playwrightTestVideos: [],
  };
  next = () =>
    Promise.resolve({
      ...seen,
      startedAt: 1_795_262_524_505,
      failure: {
        ...{ phase: 'script', code: 'X', message: 'user '.repeat(4_000), isNetworkError: false },
      },
      details: { browserCheckResult },
    });
  const values = ['test', 'user', 'passed', 'GOOD', 'Fail', '795262', '123456', 'reas'];
  const environment = values.map((value) => ({ key: `K_${value}`, value, secret: true }));
  const outcome = await attempt('URL', definition, runner, { environment });
  const { isNetworkError: _n, reason: _r, faultCode: _f, ...fields } = outcome;
  const parsed = resultSubmission.safeParse({ ...resultOf(randomUUID()), ...fields });
  assert.equal(parsed.error, undefined);
  const result = outcome.browserCheckResult;
  assert.ok(result !== null);
  assert.equal(outcome.hasFailures, true);
  assert.equal(outcome.startedAt, 1_795_262_524_505);
  assert.equal(result.tests[0]?.steps[0]?.steps[0]?.title, 'my ********* secret');
  assert.equal(result.jobLog[0]?.msg, '********* *********');
  assert.equal(result.pages[0]?.url, 'http://*********/');
  const texts = JSON.stringify([result.errors, outcome.errorMessages, outcome.reason]);
  for (const value of ['test', 'user', '123456']) assert.ok(!texts.includes(value), value);
});

test('what logs in to the proxy of a location is a secret of its runs', async () => {
  const body = 'through http://user:pass%2Fword@proxy, pass/word';
  next = () => Promise.resolve({ ...seen, response: { status: 500, body } });
  const outcome = await attempt('URL', definition, runner, {
    proxyUrl: 'http://user:pass%2Fword@proxy:3128',
  });
  assert.equal(
    outcome.apiCheckResult?.response?.['body'],
    'through http://*********@proxy, *********',
  );
});

test('an error has the shape of its type, with the reason in it', async () => {
  for (const [type, { resultField, judging }] of Object.entries(checkTypes)) {
    if (judging === null) continue;
    // Nothing of this can be understood, whatever the type.
    const outcome = await attempt(
      type,
      { request: 7, prompt: 7, script: 7, codeBundlePath: 7 },
      runner,
    );
    assert.equal(outcome.hasErrors, true, type);
    const given = Object.entries(resultShapes).filter(
      ([field]) => outcome[field as ResultField] !== null,
    );
    assert.deepEqual(
      given.map(([field]) => field),
      [resultField],
      type,
    );
    const shown = outcome[resultField];
    assert.deepEqual(resultShapes[resultField].safeParse(shown).error?.issues, undefined, type);
    assert.match(JSON.stringify(shown), /cannot be understood/, type);
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
    { numRuns: tries(10_000) },
  );
  assert.ok(errors > tries(9_000), `${errors} were refused`);
});

/** Attempts whose process did not have its time: `facts` of one after the other, the last for the rest. */
async function disturbed(
  observations: readonly (Observation | Error)[],
  facts: readonly Partial<TimeFacts>[],
  { limits = {}, latestStart = Infinity }: { limits?: object; latestStart?: number } = {},
) {
  let made = 0;
  next = () => {
    made += 1;
    const one = observations[Math.min(made, observations.length) - 1] ?? seen;
    return one instanceof Error ? Promise.reject(one) : Promise.resolve(one);
  };
  const calm: TimeFacts = {
    ...{ suspendedMs: 0, asleepMs: 0, waitedMs: 0, waitedWithin: () => 0 },
  };
  class Disturbed extends ProcessTime {
    override begin(): Measuring {
      const inner = super.begin();
      const mine = { ...calm, ...facts[Math.min(made, facts.length - 1)] };
      return { ...inner, facts: () => mine };
    }
  }
  const voided: Pick<VoidAttempt, 'cause' | 'isRepeated'>[] = [];
  const outcome = await attempt(
    'URL',
    { ...definition, ...limits },
    runner,
    {},
    {
      processTime: new Disturbed({ clock: systemClock }),
      onVoid: (_run, { cause, isRepeated }) => voided.push({ cause, isRepeated }),
      latestStart,
    },
  );
  return { outcome, made, voided };
}

const timedOut: Observation = {
  ...seen,
  ...{ responseTime: 131_081, stoppedAt: 131_082, response: null },
  failure: { phase: 'headers', code: 'TIMEOUT', message: 'no answer', isNetworkError: true },
};

test('an attempt that was open across a suspension is made again, and its second try counts', async () => {
  const { outcome, made, voided } = await disturbed(
    [timedOut, seen],
    [{ suspendedMs: 130_000 }, {}],
  );
  assert.equal(made, 2);
  assert.deepEqual(voided, [{ cause: 'suspended', isRepeated: true }]);
  assert.deepEqual(
    [outcome.hasFailures, outcome.hasErrors, outcome.agentWaitMs, outcome.responseTime],
    [false, false, 0, 12],
  );
});

test('when its slot is over it ends as an error of the agent that says for how long', async () => {
  const { outcome, made } = await disturbed([timedOut], [{ suspendedMs: 130_000 }], {
    latestStart: 0,
  });
  assert.equal(made, 1);
  assert.deepEqual(
    [outcome.hasFailures, outcome.hasErrors, outcome.faultCode, outcome.agentWaitMs],
    [false, true, 'AGENT_SUSPENDED', 130_000],
  );
  assert.match(outcome.reason ?? '', /for 130\.0 s/);
});

test('a slow answer across a suspension is no pass where it cannot be measured again', async () => {
  const slow = { ...seen, responseTime: 9_000 };
  const limits = { degradedResponseTime: 100, maxResponseTime: 200 };
  const { outcome } = await disturbed([slow], [{ suspendedMs: 8_900 }], { limits, latestStart: 0 });
  assert.deepEqual(
    [outcome.hasFailures, outcome.hasErrors, outcome.faultCode],
    [false, true, 'AGENT_SUSPENDED'],
  );
});

test('a limit that the target broke by itself is a failure; the wait of the agent is not mentioned', async () => {
  const limits = { degradedResponseTime: 100, maxResponseTime: 200 };
  const slow = { ...seen, responseTime: 412, unexplainedMs: 3 };
  const { outcome, made } = await disturbed([slow], [{ waitedMs: 380 }], { limits });
  assert.equal(made, 1);
  assert.deepEqual(
    [outcome.hasFailures, outcome.responseTime, outcome.agentWaitMs, outcome.underLoad],
    [true, 412, 0, false],
  );
});

test('where a wait of the agent cannot be separated from the target, the attempt is made again, then it is an error', async () => {
  const limits = { degradedResponseTime: 100, maxResponseTime: 200 };
  const slow = { ...seen, responseTime: 412 };
  const starved = { waitedMs: 300 };
  const { outcome, made, voided } = await disturbed([slow], [starved], { limits });
  assert.equal(made, 2);
  assert.deepEqual(
    voided.map(({ isRepeated }) => isRepeated),
    [true, false],
  );
  assert.deepEqual([outcome.hasErrors, outcome.faultCode], [true, 'AGENT_OVERLOADED']);
  const recovered = await disturbed([slow, seen], [starved], { limits });
  assert.deepEqual([recovered.outcome.hasErrors, recovered.outcome.isDegraded], [false, false]);
  const broken = { ...slow, response: { status: 500 } };
  const failed = await disturbed([broken], [starved], { limits });
  assert.deepEqual([failed.made, failed.outcome.hasFailures], [1, true]);
});

test('a search without a CPU is undecided: it is made again, then it is an error of the agent', async () => {
  const starved = new WithoutCpuError('the patterns were not searched');
  const again = await disturbed([starved, seen], [{ waitedMs: 9_000 }]);
  assert.deepEqual([again.made, again.outcome.hasErrors], [2, false]);
  const twice = await disturbed([starved], [{ waitedMs: 9_000 }]);
  assert.deepEqual([twice.made, twice.outcome.faultCode], [2, 'AGENT_OVERLOADED']);
  const broken = await disturbed([new Error('no')], [{ waitedMs: 9_000 }]);
  assert.deepEqual([broken.made, broken.outcome.faultCode], [1, 'RUNNER_BROKEN']);
});
