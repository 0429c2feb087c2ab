// SQLite only: it tests what is refused before any statement.
import assert from 'node:assert/strict';
import { get } from 'node:http';
import { connect } from 'node:net';
import test from 'node:test';
import { gzipSync } from 'node:zlib';
import { isoInstant } from '@monitor/shared/contract/primitives.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { inLongTier } from '../../support/random.ts';

const check = { name: 'a', request: { url: 'https://a.example' } };

async function post(
  url: string,
  apiKey: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string>,
) {
  const response = await fetch(`${url}/v1/checks/url`, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
  });
  return {
    status: response.status,
    body: (await response.json()) as {
      message: string;
      attributes: { code: string; keys: unknown };
    },
  };
}

test('bodies may be compressed; those that only claim to be are refused', async () => {
  await using cp = await startTestControlPlane();
  const encoding = { 'content-encoding': 'gzip' };
  const packed = new Uint8Array(gzipSync(JSON.stringify(check)));
  assert.equal((await post(cp.url, cp.apiKey, packed, encoding)).status, 201);
  const cut = await post(cp.url, cp.apiKey, packed.slice(0, 30), encoding);
  assert.deepEqual([cut.status, cut.body.attributes.code], [400, 'MALFORMED_JSON']);
  const plain = await post(cp.url, cp.apiKey, JSON.stringify(check), encoding);
  assert.equal(plain.status, 400);
  const bomb = new Uint8Array(gzipSync(Buffer.alloc(50_000_000, 32)));
  assert.equal((await post(cp.url, cp.apiKey, bomb, encoding)).status, 413);
  for (const encoded of ['br', 'zstd', 'deflate']) {
    const broken = await post(cp.url, cp.apiKey, 'xxxxxxxx', { 'content-encoding': encoded });
    assert.ok([400, 415].includes(broken.status), `${encoded}: ${broken.status}`);
  }
  const unknown = await post(cp.url, cp.apiKey, 'x', { 'content-encoding': 'rot13' });
  const { keys } = unknown.body.attributes;
  assert.deepEqual([unknown.status, keys], [415, ['content-encoding']]);
});

test('a body of any JSON type is read, one of another type is refused by name', async () => {
  await using cp = await startTestControlPlane();
  const send = (type: string) =>
    post(cp.url, cp.apiKey, JSON.stringify(check), { 'content-type': type });
  for (const type of [
    'application/json',
    'APPLICATION/JSON; charset=utf-8',
    'application/x+json',
  ]) {
    assert.equal((await send(type)).status, 201, type);
  }
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx']) {
    assert.equal((await send(type)).status, 415, type);
  }
  const { status, body } = await send('application/json; charset=latin1');
  assert.deepEqual([status, body.attributes.keys], [415, ['content-type']]);
  // In place of what was sent it would be stored with marks of replacement.
  const latin = new Uint8Array(Buffer.from(JSON.stringify({ ...check, name: 'Büro' }), 'latin1'));
  assert.match((await post(cp.url, cp.apiKey, latin, {})).body.message, /is not in UTF-8/);
});

test('a parameter that is given twice is named as that', async () => {
  await using cp = await startTestControlPlane();
  for (const name of ['limit', 'checkType']) {
    const { body } = await cp.api('GET', `/v1/checks?${name}=1&${name}=2`);
    assert.equal(body.message, `"${name}" must be one value`);
  }
});

test('a day that is in no calendar is no date, and a time without an offset is in UTC', async () => {
  await using cp = await startTestControlPlane();
  const at = (from: string) => cp.api('GET', `/v1/alert-notifications?from=${from}`);
  assert.deepEqual((await at('2026-02-30')).body.attributes.keys, ['from']);
  assert.equal((await at('2026-02-28T10:00')).status, 200);
  assert.equal(isoInstant('2026-02-28T10:00'), Date.UTC(2026, 1, 28, 10));
});

test('a body that is no JSON is refused with the place', async () => {
  await using cp = await startTestControlPlane();
  for (const [text, place] of [
    ['{\n  "name": "a"\n  "b": 1\n}', 'line 3, column 3: '],
    ['{"a": tru}', "line 1, column 10: Unexpected token '}'"],
    ['{"name": "a"', 'line 1, column 13: '],
    [`{"a": "${'x'.repeat(300_000)}", b}`, 'Expected '],
  ] as const) {
    const { status, body } = await post(cp.url, cp.apiKey, text, {});
    assert.equal(status, 400);
    assert.ok(body.message.startsWith(`the body is not valid JSON: ${place}`), body.message);
    assert.ok(body.message.length < 150, body.message);
  }
});

test('a field that is given twice is refused by its path, and none is lost in silence', async () => {
  await using cp = await startTestControlPlane();
  const url = '"url":"https://a.example/"';
  for (const [text, field] of [
    [`{"name":"a","request":{${url}},"name":"b"}`, 'name'],
    [`{"name":"a","request":{${url},"\\u0075rl":"https://b.example/"}}`, 'request.url'],
    [`{"name":"a","request":{${url}},"tags":[{"a":1},{"a":1,"a":1}]}`, 'tags.1.a'],
    // Equal texts that are no names, and equal names of other objects.
    [`{"name":"name","request":{${url}},"tags":["tags","a","{,\\"a\\":1"]}`, null],
  ] as const) {
    const { status, body } = await post(cp.url, cp.apiKey, text, {});
    assert.equal(status, field === null ? 201 : 400, text);
    if (field !== null) assert.equal(body.message, `"${field}" is given twice`);
  }
});

test('half of a surrogate pair is refused with its field: it would be stored as another text', async () => {
  await using cp = await startTestControlPlane();
  const sent = (fields: string) =>
    post(cp.url, cp.apiKey, `{"name":"a","request":{"url":"https://a.example/"},${fields}}`, {});
  for (const [fields, key] of [
    ['"description":"a\\ud800"', 'description'],
    ['"tags":["a","\\udc00\\ud83d"]', 'tags.1'],
    ['"environmentVariables":[{"key":"A","value":"\\ud800"}]', 'environmentVariables.0.value'],
  ] as const) {
    const { status, body } = await sent(fields);
    assert.deepEqual([status, body.attributes.keys], [400, [key]]);
  }
  assert.equal((await sent('"description":"\\ud83d\\ude00 \\\\ud800"')).status, 201);
});

test('a body has at most 500 levels: what is stored can be searched', async () => {
  await using cp = await startTestControlPlane();
  const nested = (levels: number): string =>
    JSON.stringify(check).replace(
      /}$/,
      `,"description":${'['.repeat(levels)}${']'.repeat(levels)}}`,
    );
  const outcomes = [];
  for (const levels of [498, 501, 100_000]) {
    const { body } = await post(cp.url, cp.apiKey, nested(levels), {});
    outcomes.push(/500 levels/.test(JSON.stringify(body)));
  }
  assert.deepEqual(outcomes, [false, true, true]);
});

test('a path may end with a slash, HEAD answers like GET, other methods learn what is allowed', async () => {
  await using cp = await startTestControlPlane();
  const read = await cp.api('GET', '/v1/checks/');
  assert.equal(read.status, 200);
  const head = await fetch(`${cp.url}/v1/checks`, {
    method: 'HEAD',
    headers: { authorization: `Bearer ${cp.apiKey}` },
  });
  assert.deepEqual([head.status, head.headers.get('content-range')], [200, 'items */0']);
  assert.equal(await head.text(), '');
  const isOfAll = ([name]: [string, string]) =>
    !/^(date|x-request-id|ratelimit.*|connection|keep-alive)$/.test(name);
  assert.deepEqual([...head.headers].filter(isOfAll), [...read.headers].filter(isOfAll));
  const refused = await cp.api('DELETE', '/v1/snippets');
  assert.deepEqual(
    [refused.status, refused.headers.get('allow'), refused.body.attributes.allow],
    [405, 'HEAD, GET, POST', ['HEAD', 'GET', 'POST']],
  );
  const options = await fetch(`${cp.url}/v1/snippets`, { method: 'OPTIONS' });
  assert.equal(options.status, 405);
  assert.equal((await cp.api('GET', '/v1/%ff')).status, 400);
  assert.equal((await cp.api('GET', '/V1/checks')).status, 404);
});

const slowBody =
  'POST /v1/checks/url HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 50\r\n';
for (const [what, sent, status, options] of [
  ['headers', () => 'GET /v1/checks HTTP/1.1\r\nhost: a\r\n', 408, {}],
  ['a body', (key: string) => `${slowBody}authorization: Bearer ${key}\r\n\r\n{`, 408, {}],
  // After the refusal it is the end of the keep-alive that does it.
  ['a body without a key', () => `${slowBody}\r\n{`, 401, inLongTier],
] as const) {
  test(`a client that sends ${what} byte by byte is disconnected`, options, async () => {
    await using cp = await startTestControlPlane({ settings: { REQUEST_TIMEOUT_SECONDS: '1' } });
    const socket = connect(Number(new URL(cp.url).port), '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => {
      answer += String(chunk);
    });
    socket.write(sent(cp.apiKey));
    await new Promise((resolve) => socket.once('close', resolve));
    assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `));
  });
}

test('a WebSocket is refused by name, any other upgrade is not taken', async () => {
  await using cp = await startTestControlPlane();
  const ask = (upgrade: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      get(`${cp.url}/openapi.json`, { headers: { connection: 'upgrade', upgrade } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on('error', reject);
    });
  assert.equal(await ask('websocket'), 400);
  assert.equal(await ask('h2c'), 200);
});

test('a hostile domain name does not hold anybody up', async () => {
  await using cp = await startTestControlPlane();
  const before = process.cpuUsage();
  const { status } = await cp.api('POST', '/v1/status-pages', {
    name: 'a',
    url: 'a',
    cards: [],
    customDomain: `${'a.'.repeat(400_000)}:`,
  });
  const { user, system } = process.cpuUsage(before);
  assert.equal(status, 400);
  // Matched step by step it took minutes.
  assert.ok((user + system) / 1e6 < 5, `${(user + system) / 1e6} s`);
});
