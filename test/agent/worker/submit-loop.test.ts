import assert from 'node:assert/strict';
import type { Clock } from '@monitor/shared/clock.ts';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { buffer } from 'node:stream/consumers';
import test from 'node:test';
import { brotliDecompressSync } from 'node:zlib';
import type { ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import { ControlPlaneClient } from '../../../agent/link/control-plane-client.ts';
import { createDispatcher } from '../../../agent/link/dispatcher.ts';
import { createMetrics } from '../../../agent/observability/metrics.ts';
import { Outbox } from '../../../agent/worker/outbox.ts';
import { SubmitLoop } from '../../../agent/worker/submit-loop.ts';
import { resultOf } from '../../support/fake-agent.ts';
import { scaledClock } from '../../support/scaled-clock.ts';
import { httpServer } from '../../support/servers.ts';
import { eventually, temporaryFolder } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';
import type { IncomingMessage } from 'node:http';

const logger = pino({ level: 'silent' });
const checkId = '7c8a0f3e-58c9-4b44-9a2c-2d0e1f3a4b5c';

const clientOf = (baseUrl: string, dispatcher: ReturnType<typeof createDispatcher>) =>
  new ControlPlaneClient({
    ...{ baseUrl, apiKey: { reveal: () => 'pl_key' }, dispatcher, agentId: checkId, version: '1' },
  });
const outboxIn = (directory: string, clock: Clock): Outbox =>
  new Outbox({ directory, maxBytes: 1e9, maxAgeMs: 1e12, clock, logger });

async function itemsOf(request: IncomingMessage): Promise<ResultSubmission[]> {
  const body = await buffer(request);
  const isZipped = request.headers['content-encoding'] === 'br';
  const text = (isZipped ? brotliDecompressSync(body) : body).toString();
  return (JSON.parse(text) as { items: ResultSubmission[] }).items;
}

interface Refusal {
  status: number;
  headers?: Record<string, string>;
  attributes: object;
}

/** A result in an outbox whose control plane refuses it so often. */
async function submitted(refusal: Refusal, refusals: number) {
  using folder = temporaryFolder();
  const clock = scaledClock(2_000);
  const settled = Promise.withResolvers<number>();
  let calls = 0;
  /** How long the loop paused before each call, in ms. */
  const pauses: number[] = [];
  let pausedMs = 0;
  let wasRefused = false;
  await using server = await httpServer((_request, response) => {
    calls += 1;
    pauses.push(pausedMs);
    pausedMs = 0;
    const isRefused = calls <= refusals;
    const { status, headers, attributes } = refusal;
    const refused = { statusCode: status, error: 'Refused', message: 'no', attributes };
    const taken = { items: [{ id: result.id, outcome: 'accepted' }] };
    response.writeHead(isRefused ? status : 200, {
      'content-type': 'application/json',
      ...(isRefused ? headers : {}),
    });
    response.end(JSON.stringify(isRefused ? refused : taken));
  });
  const result = resultOf(checkId);
  await using outbox = outboxIn(folder.path, clock);
  const dispatcher = createDispatcher({});
  const client = clientOf(server.url, dispatcher);
  const metrics = createMetrics(new Registry(), '1');
  const counting: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after(delayMs, callback) {
      pausedMs += delayMs;
      wasRefused ||= loop.isRefused;
      return clock.after(delayMs, callback);
    },
  };
  const loop = new SubmitLoop({
    ...{ outbox, client, clock: counting, random: () => 0.999, logger, metrics },
  });
  await outbox.put({ submission: result });
  const watching = setInterval(() => {
    if (outbox.state().depth === 0) settled.resolve(calls);
  }, 5);
  try {
    loop.start();
    const made = await settled.promise;
    const isDelivered = loop.lastDeliveredAt !== null;
    return { calls: made, pauses, isDelivered, wasRefused, isRefused: loop.isRefused };
  } finally {
    clearInterval(watching);
    await loop.flush(0);
    await dispatcher.destroy();
  }
}

const invalid = (source: 'headers' | 'payload'): Refusal => ({
  status: 400,
  attributes: { code: 'VALIDATION', source, keys: ['agent-protocol'] },
});

test('what is refused for a header, which something in between changed, is kept until it is taken', async () => {
  const { pauses: _, ...outcome } = await submitted(invalid('headers'), 8);
  const is = { isDelivered: true, wasRefused: false, isRefused: false };
  assert.deepEqual(outcome, { calls: 9, ...is });
  const withoutKey = await submitted({ status: 401, attributes: { code: 'BAD_TOKEN' } }, 2);
  assert.deepEqual([withoutKey.wasRefused, withoutKey.isRefused], [true, false]);
});

test('what is refused for itself is set aside, so that others get through', async () => {
  const { pauses: _, ...outcome } = await submitted(invalid('payload'), 8);
  const is = { isDelivered: false, wasRefused: false, isRefused: false };
  assert.deepEqual(outcome, { calls: 3, ...is });
});

test('results are tried again within five seconds while a control plane waits for its database', async () => {
  const away = { status: 503, attributes: { code: 'UNAVAILABLE' } };
  const asked = await submitted({ ...away, headers: { 'retry-after': '1' } }, 8);
  assert.deepEqual([asked.calls, asked.wasRefused], [9, false], 'an agent that stops waits for it');
  for (const pause of asked.pauses) assert.ok(pause <= 5_000, String(asked.pauses));
  const unasked = await submitted(away, 8);
  assert.ok(Math.max(...unasked.pauses) > 20_000, String(unasked.pauses));
});

/** What stands in between answers instead of the control plane, as it does it. */
const page = (status: number, headers: object = {}) => ({
  status,
  headers: { 'content-type': 'text/html', ...headers },
  text: `<html><title>${status}</title><body>Blocked by <b>gate</b></body></html>`,
});
const ownRefusal = (status: number, attributes: object) => ({
  status,
  headers: { 'content-type': 'application/json' },
  text: JSON.stringify({ statusCode: status, error: 'Refused', message: 'no', attributes }),
});
const jsonOfGateway = { ...page(413), text: '{"message":"Request Too Long"}' };
const errorOfAnother = ownRefusal(400, { code: 'VALIDATION' });
const invalidPayload = ownRefusal(400, { code: 'VALIDATION', source: 'payload' });
const tooLarge = ownRefusal(413, { code: 'PAYLOAD_TOO_LARGE' });

type Answer = ReturnType<typeof page>;
type Refuses = (names: readonly string[], calls: number) => Answer | 'all but one' | null;

const always =
  (answer: Answer): Refuses =>
  (_names, calls) =>
    calls <= 40 ? answer : null;
const bad =
  (answer: Answer, until = Infinity): Refuses =>
  (names, calls) =>
    names.includes('bad') && calls <= until ? answer : null;

/** Which of ten results, one of them bad, are delivered and which are set aside in the end. */
const answers: [name: string, refuses: Refuses, setAside: string[]][] = [
  ...[302, 400, 401, 403, 404, 409, 413, 418, 422].map((status): (typeof answers)[number] => [
    `a page with ${status} for everything`,
    always(page(status, { location: '/login' })),
    [],
  ]),
  ['JSON of a gateway', always(jsonOfGateway), []],
  ['an error that says another status', always({ ...errorOfAnother, status: 422 }), []],
  ['a page with 413 for more than three', (names) => (names.length > 3 ? page(413) : null), []],
  ['a page with 403 for one of them, for a while', bad(page(403), 30), []],
  ['the control plane refuses one of them', bad(invalidPayload), ['bad']],
  ['the control plane finds one of them too large', bad(tooLarge), ['bad']],
  ['the control plane takes all but one of them', () => 'all but one', ['bad']],
];

/** An outbox with ten results and its loop, behind what answers so. */
async function tenResults(refuses: Refuses) {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(temporaryFolder());
  const clock = scaledClock(20_000);
  const outbox = stack.use(outboxIn(folder.path, clock));
  const names = ['1', '2', '3', '4', 'bad', '6', '7', '8', '9', '10'];
  for (const [at, each] of names.entries()) {
    void outbox.put({ submission: resultOf(checkId, { name: each, scheduledFor: at }) });
  }
  outbox.commit();
  const seen = { calls: 0, delivered: [] as string[] };
  const server = stack.use(
    await httpServer((request, response) => {
      void itemsOf(request).then((items) => {
        const given = items.map((item) => item.name);
        seen.calls += 1;
        const answer = refuses(given, seen.calls);
        const isRefused = (name: string) => name === 'bad' && answer === 'all but one';
        const refusal = answer === 'all but one' ? null : answer;
        if (refusal === null) seen.delivered.push(...given.filter((name) => !isRefused(name)));
        const outcomes = items.map(({ id, name }) =>
          isRefused(name)
            ? { id, outcome: 'refused', reason: 'not this one' }
            : { id, outcome: 'accepted' },
        );
        const { status, headers } = refusal ?? { status: 200, headers: {} };
        response.writeHead(status, { 'content-type': 'application/json', ...headers });
        response.end(refusal?.text ?? JSON.stringify({ items: outcomes }));
      });
    }),
  );
  const dispatcher = createDispatcher({});
  stack.defer(() => dispatcher.destroy());
  const client = clientOf(server.url, dispatcher);
  const metrics = createMetrics(new Registry(), '1');
  const loopWith = (by: Clock) =>
    new SubmitLoop({ outbox, client, clock: by, random: () => 0.5, logger, metrics });
  return {
    ...{ outbox, loopWith, clock, names, seen },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

for (const [name, refuses, setAside] of answers) {
  test(`an answer decides about a record only where it is the control plane's: ${name}`, async () => {
    await using ten = await tenResults(refuses);
    const { outbox, names, seen } = ten;
    const loop = ten.loopWith(ten.clock);
    loop.start();
    await eventually(
      () => outbox.state().depth === 0,
      () => `${seen.calls} calls, ${outbox.state().depth} left`,
    );
    await loop.flush(0);
    assert.deepEqual(
      seen.delivered.toSorted(),
      names.filter((each) => !setAside.includes(each)).toSorted(),
    );
    assert.deepEqual(
      outbox.deadLetters().map(({ payload }) => (JSON.parse(payload) as ResultSubmission).name),
      setAside,
    );
    assert.equal(outbox.state().setAsideTotal, setAside.length);
  });
}

const lastTries: [name: string, refuses: Refuses, left: number][] = [
  ['something in between refuses one of them for ever', bad(page(403)), 1],
  ['something in between refuses all of them', () => page(403), 10],
  ['something in between refuses all of them for a while', always(page(403)), 0],
  ['the control plane is away for a while', always(page(503, { 'retry-after': '300' })), 0],
  ['the control plane refuses one of them', bad(invalidPayload), 0],
];

for (const [name, refuses, left] of lastTries) {
  test(`at the shutdown all goes that can go, and a refusal makes no storm of calls: ${name}`, async () => {
    await using ten = await tenResults(refuses);
    // Time stands still: each try may take as long as it likes.
    const loop = ten.loopWith(new TestClock(1_000));
    const passes = 50;
    let waiting = 10;
    for (let pass = 0; pass < passes && waiting > 0; pass += 1) waiting = await loop.flush(500);
    assert.equal(waiting, left, String(ten.seen.delivered));
    assert.equal(new Set(ten.seen.delivered).size, ten.seen.delivered.length);
    assert.ok(ten.seen.calls <= 2 * passes, `${ten.seen.calls} calls`);
  });
}

test('a page is named by its first words', async () => {
  await using server = await httpServer((_request, response) => {
    response.writeHead(413).end(page(413).text);
  });
  const dispatcher = createDispatcher({});
  const client = clientOf(server.url, dispatcher);
  await assert.rejects(client.submit(['{}']), {
    code: 'CONTROL_PLANE_ANSWER',
    message: `${server.url}/v1/agent/results answered 413 with a page: "413 Blocked by gate", not as a control plane does; let the proxy or gateway in between pass it`,
  });
  await dispatcher.destroy();
});

/** Takes every batch; calls back with the names in each, and adds what that gives to the outbox. */
async function deliver(
  seed: ResultSubmission[],
  isDone: (outbox: Outbox) => boolean,
  onBatch: (names: string[], outbox: Outbox) => void,
): Promise<void> {
  using folder = temporaryFolder();
  const clock = scaledClock(50);
  await using outbox = outboxIn(folder.path, clock);
  for (const submission of seed) void outbox.put({ submission });
  outbox.commit();
  const ended = Promise.withResolvers<undefined>();
  await using server = await httpServer((request, response) => {
    void itemsOf(request).then((items) => {
      onBatch(
        items.map(({ name, attempt }) => (attempt > 1 ? `${name}#${attempt}` : name)),
        outbox,
      );
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ items: items.map(({ id }) => ({ id, outcome: 'accepted' })) }));
      if (isDone(outbox)) ended.resolve(undefined);
    });
  });
  const dispatcher = createDispatcher({});
  const client = clientOf(server.url, dispatcher);
  const metrics = createMetrics(new Registry(), '1');
  const loop = new SubmitLoop({ outbox, client, clock, random: () => 0, logger, metrics });
  loop.start();
  await ended.promise;
  await loop.flush(0);
  await dispatcher.destroy();
}

test('beside more new results than a batch takes, a quarter of it is backlog, oldest first', async () => {
  const backlog = Array.from({ length: 1_000 }, (_, index) =>
    resultOf(checkId, { name: `old${index}`, scheduledFor: index * 1000 }),
  );
  const batches: number[] = [];
  let made = 0;
  await deliver(
    backlog,
    () => batches.length === 5,
    (names, outbox) => {
      const old = names.filter((name) => name.startsWith('old'));
      const sent = batches.reduce((sum, one) => sum + one, 0);
      assert.deepEqual(
        old,
        backlog.slice(sent, sent + old.length).map(({ name }) => name),
      );
      batches.push(old.length);
      for (let index = 0; index < 600; index += 1) {
        made += 1;
        const scheduledFor = (100_000 + made) * 1000;
        void outbox.put({ submission: resultOf(checkId, { name: `new${made}`, scheduledFor }) });
      }
      outbox.commit();
    },
  );
  assert.deepEqual(batches, [500, 125, 125, 125, 125]);
});

test('attempts that wait in the backlog travel directly before the FINAL of their run', async () => {
  const run = (name: string, attempt: number, resultType: 'ATTEMPT' | 'FINAL') =>
    resultOf(checkId, { name, attempt, resultType, scheduledFor: name.length * 60_000 });
  const filler = Array.from({ length: 1_500 }, (_, index) =>
    resultOf(checkId, { name: `old${index}`, scheduledFor: (index + 100) * 60_000 }),
  );
  const batches: string[][] = [];
  await deliver(
    [...filler, run('ab', 1, 'ATTEMPT'), run('abc', 1, 'ATTEMPT'), run('ab', 2, 'ATTEMPT')],
    (outbox) => outbox.state().depth <= 500,
    (names, outbox) => {
      batches.push(names);
      if (batches.length > 1) return;
      void outbox.put({ submission: run('abcd', 1, 'FINAL') });
      void outbox.put({ submission: run('ab', 3, 'FINAL') });
      outbox.commit();
    },
  );
  assert.deepEqual(batches[1]?.slice(-4), ['abcd', 'ab', 'ab#2', 'ab#3']);
  assert.equal(batches[1]?.length, 125 + 4);
  const everything = batches.flat();
  assert.equal(everything.filter((name) => name === 'ab#2').length, 1, 'each of them once');
});

test('a result after a pause is sent soon; while results keep coming, submissions are half a second apart', async () => {
  using folder = temporaryFolder();
  const clock = new TestClock(1_000);
  await using outbox = outboxIn(folder.path, clock);
  const sent: { at: number; count: number }[] = [];
  const client = {
    submit: (payloads: readonly string[]) => {
      sent.push({ at: clock.monotonic(), count: payloads.length });
      return Promise.resolve(payloads.map(() => ({ id: checkId, outcome: 'accepted' as const })));
    },
  } as unknown as ControlPlaneClient;
  const metrics = createMetrics(new Registry(), '1');
  const loop = new SubmitLoop({ outbox, client, clock, random: () => 0, logger, metrics });
  loop.start();
  /** Everything that is due happens before the next step. */
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 10) {
      clock.advance(10);
      await new Promise(setImmediate);
    }
  };
  await pass(1_000);
  for (let index = 0; index < 200; index += 1) {
    void outbox.put({ submission: resultOf(checkId, { scheduledFor: index * 1_000 }) });
    await pass(10);
  }
  await pass(2_000);
  const [first] = sent;
  assert.ok(first !== undefined && first.at - 1_000 <= 200, JSON.stringify(sent));
  assert.equal(
    sent.reduce((sum, { count }) => sum + count, 0),
    200,
  );
  assert.ok(sent.length <= 6, JSON.stringify(sent));
  await loop.flush(0);
});
