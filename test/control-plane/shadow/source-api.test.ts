import assert from 'node:assert/strict';
import test from 'node:test';
import { SourceApi, type SourceApiError } from '../../../control-plane/shadow/index.ts';
import { addressRule, openOutgoing } from '../../../control-plane/notifications/index.ts';
import { recordAccount, recordedKey, serveAccount } from '../../support/recorded-account.ts';
import { httpReceiver, type ReceiverAnswer } from '../../support/http-receiver.ts';

type Fields = Record<string, unknown>;

const recorded = recordAccount(11);

/** A client whose waits take no time. */
async function clientOf(baseUrl: string, timeoutMs = 20_000) {
  const rule = addressRule('');
  const outgoing = openOutgoing({ customer: rule, visitor: rule, timeoutMs });
  const waited: number[] = [];
  const api = new SourceApi(
    { baseUrl, key: recordedKey, accountId: 'an-account' },
    {
      send: outgoing.operator,
      now: () => Date.now(),
      pause: (ms) => Promise.resolve(void waited.push(ms)),
      signal: new AbortController().signal,
    },
  );
  return { api, waited, [Symbol.asyncDispose]: () => outgoing[Symbol.asyncDispose]() };
}

const json = (body: unknown, more: ReceiverAnswer = {}): ReceiverAnswer => ({
  ...{ headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
  ...more,
});

const idsOf = (list: readonly Fields[]) => list.map(({ id }) => id);

/** What goes wrong is said in words, without the key. */
async function refusal(baseUrl: string, timeoutMs?: number): Promise<SourceApiError> {
  await using client = await clientOf(baseUrl, timeoutMs);
  const error = await client.api.list('/v1/checks', 'pages').then(
    () => assert.fail('it was read'),
    (thrown: unknown) => thrown as SourceApiError,
  );
  assert.equal(error.name, 'SourceApiError', String(error.stack));
  assert.equal(error.message.includes(recordedKey), false);
  return error;
}

test('both ways of paging give every entry once, and the account is named', async () => {
  await using source = await serveAccount(recorded);
  await using client = await clientOf(source.url);
  const { api } = client;
  const { lists } = recorded;
  assert.deepEqual(idsOf(await api.list('/v1/checks', 'pages')), idsOf(lists.check));
  const incidents = await api.list('/v1/status-pages/incidents', 'cursor');
  assert.deepEqual(idsOf(incidents), idsOf(lists.incident));
  const [request] = source.received;
  assert.equal(request?.headers['x-checkly-account'], 'an-account');
});

test('a list that has become pages is read to its end', async () => {
  await using source = await httpReceiver(({ query }) =>
    json(
      query.get('nextId') === null
        ? { entries: [{ id: 1 }], nextId: 'two' }
        : { entries: [{ id: 2 }], nextId: null },
    ),
  );
  await using client = await clientOf(source.url);
  assert.deepEqual(idsOf(await client.api.list('/v1/snippets', 'whole')), [1, 2]);
});

test('it waits as long as it is asked to, in seconds or until a date, and after failures', async () => {
  await using source = await serveAccount(recorded);
  const path = /snippets/;
  const until = new Date(Date.now() + 40_000).toUTCString();
  source.first.push(
    { path, answer: { status: 429, headers: { 'retry-after': '7' } } },
    { path, answer: { status: 429, headers: { 'retry-after': until } } },
    { path, answer: { status: 429 } },
    { path, answer: { status: 503, headers: { 'retry-after': '2' } } },
    { path, answer: { status: 502 } },
  );
  await using client = await clientOf(source.url);
  const read = await client.api.list('/v1/snippets', 'pages');
  assert.deepEqual(idsOf(read), idsOf(recorded.lists.snippet));
  const [seconds, date = 0, own, failed, again] = client.waited;
  assert.deepEqual([seconds, own, failed, again], [7_000, 8_000, 2_000, 4_000]);
  assert.ok(date > 30_000 && date <= 40_000, String(date));
});

test('a list that changes while it is read is read again', async () => {
  let readings = 0;
  await using source = await httpReceiver(({ query }) => {
    readings += 1;
    const all = Array.from({ length: 150 }, (_, id) => ({ id }));
    const from = (Number(query.get('page')) - 1) * 100;
    // One moved to the page before, once that was read.
    const entries = all.slice(from + (readings === 2 ? 1 : 0), from + 100);
    return json(entries, { headers: { 'content-range': `checks 0-1/150` } });
  });
  await using client = await clientOf(source.url);
  assert.equal((await client.api.list('/v1/checks', 'pages')).length, 150);
  assert.equal(readings, 4);
});

test('a redirect is not followed with the key', async () => {
  await using thief = await httpReceiver(() => json([]));
  await using source = await httpReceiver(() => ({
    ...{ status: 302, headers: { location: `${thief.url}/v1/checks` } },
  }));
  assert.match((await refusal(source.url)).message, /redirects/);
  assert.deepEqual(thief.received, []);
});

for (const [what, answer, message] of [
  ['text that is no JSON', { body: '<html>' }, /status 200 without JSON/],
  ['an object in place of a list', json({}), /is no list/],
  ['a list of no objects', json([1]), /is no list/],
  ['a refused key', json({ message: `bad ${recordedKey}` }, { status: 401 }), /key is refused/],
  ['a key that may not', json({ message: 'no' }, { status: 403 }), /the API key may not, no/],
  ['nothing but failures', { status: 500 }, /status 500/],
  ['a closed connection', { instead: 'close' }, /closed before the answer|reset/],
] as [string, ReceiverAnswer, RegExp][]) {
  test(`${what} is a clear error`, async () => {
    await using source = await httpReceiver(() => answer);
    assert.match((await refusal(source.url)).message, message);
  });
}

test('pages that do not end are given up, by number and by cursor', async () => {
  const page = Array.from({ length: 100 }, (_, id) => ({ id }));
  await using source = await httpReceiver(({ path }) =>
    json(path === '/v1/checks' ? page : { entries: page, nextId: 'again' }),
  );
  assert.match((await refusal(source.url)).message, /do not end/);
  await using client = await clientOf(source.url);
  await assert.rejects(client.api.list('/v1/status-pages', 'cursor'), /do not end/);
});

test('a huge answer and one that never comes are given up', async () => {
  const body = `["${'x'.repeat(33 * 1_048_576)}"]`;
  await using huge = await httpReceiver(() => ({ body }));
  assert.match((await refusal(huge.url, 20_000)).message, /more than 32 MiB/);
  await using silent = await httpReceiver(() => ({ instead: 'silence' }));
  assert.match((await refusal(silent.url, 500)).message, /no answer within 0.5 s/);
});

test('a key that is none, and an address that is none, are refused before anything is sent', () => {
  const parts = {
    send: () => assert.fail('it was sent'),
    ...{ now: () => 0, pause: () => Promise.resolve(), signal: new AbortController().signal },
  };
  for (const [baseUrl, key] of [
    ['ftp://a.example', 'cu_1'],
    ['https://user:word@a.example', 'cu_1'],
    ['https://a.example', ''],
    ['https://a.example', 'two\nlines'],
  ] as const) {
    assert.throws(() => new SourceApi({ baseUrl, key, accountId: null }, parts), {
      name: 'SourceApiError',
    });
  }
});
