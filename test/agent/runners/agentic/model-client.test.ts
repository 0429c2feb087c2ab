import assert from 'node:assert/strict';
import test from 'node:test';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import { AgentError } from '../../../../agent/errors.ts';
import type { Conversation } from '../../../../agent/runners/agentic/conversation.ts';
import { ModelClient } from '../../../../agent/runners/agentic/model-client.ts';
import type { ModelSettings } from '../../../../agent/runners/runner.ts';
import { Secret } from '../../../../agent/secret.ts';
import { modelKey, modelServer, type ModelServer } from '../../../support/model-server.ts';
import { httpServer } from '../../../support/servers.ts';

const conversation: Conversation = {
  instructions: 'be brief',
  turns: [{ role: 'user', text: 'the code is 4711-hidden' }],
  tools: [{ name: 'finish', description: 'end', parameters: { type: 'object', properties: {} } }],
};

/** Time passes at once, and what was waited for is noted. */
function instantClock(waits: number[]): Clock {
  return {
    ...systemClock,
    after(delayMs, callback) {
      waits.push(delayMs);
      return systemClock.after(0, callback);
    },
  };
}

function clientOf(
  baseUrl: string,
  given: Partial<ModelSettings> = {},
  waits: number[] = [],
): ModelClient {
  return new ModelClient({
    settings: {
      ...{ provider: 'openai', baseUrl, model: 'test-model', apiKey: new Secret(modelKey) },
      ...{ maxTokens: 1_000, maxSteps: 10 },
      ...given,
    },
    clock: instantClock(waits),
    signal: new AbortController().signal,
    scrub: (text) => text.replaceAll('4711-hidden', '****'),
    random: () => 0.5,
    log: () => undefined,
  });
}

const talker = (): Promise<ModelServer> => modelServer(() => ({ say: 'hello' }));

function unavailable(pattern: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof AgentError);
    assert.equal(error.code, 'MODEL_UNAVAILABLE');
    assert.match(error.message, pattern);
    assert.ok(!error.message.includes(modelKey));
    return true;
  };
}

test('tokens of the model are counted, and its input is scrubbed', async () => {
  await using model = await talker();
  const client = clientOf(`${model.url}/v1/`);
  assert.equal((await client.ask(conversation)).text, 'hello');
  assert.equal(client.tokensUsed, Math.ceil((model.requests[0]?.length ?? 0) / 4) + 20);
  assert.ok(!model.requests[0]?.includes('4711-hidden'));
});

test('429 is retried after the pause that the server asks for', async () => {
  await using model = await talker();
  const inHalfAMinute = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 30_000).toUTCString();
  model.faults.push(
    { status: 429, headers: { 'retry-after': '7' } },
    { status: 429, headers: { 'retry-after': inHalfAMinute } },
  );
  const waits: number[] = [];
  const client = clientOf(`${model.url}/v1`, {}, waits);
  assert.equal((await client.ask(conversation)).text, 'hello');
  assert.equal(waits[0], 7_000);
  assert.ok((waits[1] ?? 0) > 10_000 && (waits[1] ?? 0) < 31_500, `${waits[1]} ms`);
});

test('failures of the server are retried with growing pauses, four tries in all', async () => {
  await using model = await talker();
  for (let fault = 0; fault < 4; fault += 1) model.faults.push({ status: 503 });
  const waits: number[] = [];
  const client = clientOf(`${model.url}/v1`, {}, waits);
  await assert.rejects(client.ask(conversation), unavailable(/answered 503/));
  assert.deepEqual(waits, [1_000, 2_000, 4_000]);
  assert.equal(model.requests.length, 4);
});

test('a pause of more than a minute is not waited for', async () => {
  await using model = await talker();
  model.faults.push({ status: 429, headers: { 'retry-after': '3600' } });
  const waits: number[] = [];
  const client = clientOf(`${model.url}/v1`, {}, waits);
  await assert.rejects(client.ask(conversation), unavailable(/answered 429.*limits of the key/s));
  assert.deepEqual(waits, []);
});

for (const provider of ['openai', 'anthropic'] as const) {
  test(`a key that is refused is not tried again, and is in no message, with ${provider}`, async () => {
    await using model = await talker();
    model.faults.push({ status: 401, body: `{"error":"bad key ${modelKey}"}` });
    const client = clientOf(`${model.url}/v1`, { provider });
    await assert.rejects(client.ask(conversation), unavailable(/answered 401.*set LLM_API_KEY/s));
    assert.equal(model.requests.length, 1);
  });
}

test('a wrong address says which setting to check', async () => {
  await using model = await talker();
  const client = clientOf(`${model.url}/v2`);
  await assert.rejects(client.ask(conversation), unavailable(/answered 404.*LLM_BASE_URL/s));
});

test('a model server that cannot be reached is an agent error', async () => {
  const gone = await talker();
  await gone[Symbol.asyncDispose]();
  const client = clientOf(`${gone.url}/v1`);
  await assert.rejects(client.ask(conversation), unavailable(/ECONNREFUSED/));
});

test('a redirect is not followed: it would send the key to another host', async () => {
  await using model = await talker();
  await using mover = await httpServer((_request, response) => {
    response.writeHead(307, { location: `${model.url}/v1/chat/completions` }).end();
  });
  await assert.rejects(clientOf(mover.url).ask(conversation), unavailable(/answered 307/));
  assert.equal(model.requests.length, 0);
});

test('answers of another protocol, and endless ones, are refused', async () => {
  await using other = await httpServer((_request, response) => response.end('<html>hello</html>'));
  const fromOther = clientOf(other.url).ask(conversation);
  await assert.rejects(fromOther, unavailable(/not of the openai protocol.*LLM_PROVIDER/s));
  await using endless = await httpServer((_request, response) => {
    response.on('error', () => undefined);
    const more = (): void => {
      if (!response.destroyed) response.write('x'.repeat(262_144), more);
    };
    more();
  });
  await assert.rejects(clientOf(endless.url).ask(conversation), unavailable(/larger than/));
});

test('an aborted run stops waiting for the model', async () => {
  await using silent = await httpServer(() => {
    stopping.abort(new Error('over'));
  });
  const stopping = new AbortController();
  const client = new ModelClient({
    settings: {
      ...{ provider: 'openai', baseUrl: silent.url, model: 'm', apiKey: null, maxTokens: 1 },
      maxSteps: 1,
    },
    clock: systemClock,
    signal: stopping.signal,
    scrub: (text) => text,
    log: () => undefined,
  });
  await assert.rejects(client.ask(conversation), /over/);
});
