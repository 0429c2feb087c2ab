// SQLite only: it tests what is refused before any statement.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';

let cp: TestControlPlane;
before(async () => {
  cp = await startTestControlPlane();
});
after(() => cp[Symbol.asyncDispose]());

const request = { url: 'https://a.example' };
const assertion = { source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' };
const check = { name: 'a', request };

interface Refusal {
  message: string;
  attributes: { source: string; keys: string[]; issues: { path: string; message: string }[] };
}

async function send(method: string, path: string, body?: unknown) {
  const response = await fetch(`${cp.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${cp.apiKey}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const parsed = (await response.json()) as never;
  return { status: response.status, body: parsed, warning: response.headers.get('warning') };
}

test('a misspelt field of a body is refused with its place and the field that was meant', async () => {
  for (const [path, body, key, meant] of [
    ['url', { ...check, frequencee: 5 }, 'frequencee', 'frequency'],
    [
      'url',
      { ...check, request: { ...request, asertions: [] } },
      'request.asertions',
      'assertions',
    ],
    [
      'url',
      { ...check, request: { ...request, assertions: [{ ...assertion, proprety: 'x' }] } },
      'request.assertions.0.proprety',
      'property',
    ],
    ['url', { ...check, assertions: [] }, 'assertions', 'request.assertions'],
    ['', { ...check, checkType: 'URL', frequencee: 5 }, 'frequencee', 'frequency'],
  ] as const) {
    const { status, body: answer } = await send(
      'POST',
      `/v1/checks/${path}`.replace(/\/$/, ''),
      body,
    );
    const { message, attributes } = answer as Refusal;
    const problem = `is not a field; did you mean "${meant}"?`;
    assert.equal(status, 400, key);
    assert.equal(message, `"${key}" ${problem}`);
    assert.deepEqual([attributes.source, attributes.keys], ['payload', [key]]);
    assert.deepEqual(attributes.issues, [{ path: key, message: problem }]);
  }
});

test('a misspelt field is refused where a check or a channel of any type is changed, too', async () => {
  const { id } = (await send('POST', '/v1/checks/url', check)).body as { id: string };
  assert.equal((await send('PUT', `/v1/checks/${id}`, { frequencee: 5 })).status, 400);
  assert.equal((await send('PUT', `/v1/checks/url/${id}`, { frequencee: 5 })).status, 400);
  const config = { address: 'a@example.com' };
  const channel = (await send('POST', '/v1/alert-channels', { type: 'EMAIL', config })).body as {
    id: number;
  };
  const path = `/v1/alert-channels/${channel.id}`;
  const misspelt = await send('PUT', path, { config: { ...config, adress: 'b@example.com' } });
  assert.equal(misspelt.status, 400);
  assert.deepEqual((misspelt.body as Refusal).attributes.keys, ['config.adress']);
});

test('other unknown fields are ignored, and the answer warns of them', async () => {
  const { status, warning } = await send('POST', '/v1/checks/url', {
    ...check,
    colour: 'red',
    'naïve "quoted"\n': 1,
    request: { ...request, keepAliveForever: true },
  });
  assert.equal(status, 201);
  assert.match(
    warning ?? '',
    /^299 - "unknown fields were ignored: request\.keepAliveForever, colour, na\?ve\?\?quoted\?\?"$/,
  );
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`zzzzzz${index}`, 1]));
  assert.match(
    (await send('POST', '/v1/checks/url', { ...check, ...many })).warning ?? '',
    / and 10 more"$/,
  );
  // The check is made: the answer must be one that clients and proxies accept.
  const long = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [`${index}${'z'.repeat(20_000)}`, 1]),
  );
  const answer = await send('POST', '/v1/checks/url', { ...check, ...long });
  assert.equal(answer.status, 201);
  assert.ok((answer.warning ?? '').length < 3_000, String(answer.warning?.length));
});

test('a body of a change that takes none is named', async () => {
  for (const [body, named] of [
    [{ dryRun: true }, 'dryRun'],
    [{}, null],
    [undefined, null],
  ] as const) {
    const { body: made } = await cp.api('POST', '/v1/snippets', { name: 'a', script: 'b' });
    const { status, headers } = await cp.api('DELETE', `/v1/snippets/${made.id}`, body);
    assert.equal(status, 204);
    const warning = named && `299 - "unknown fields were ignored: ${named}"`;
    assert.equal(headers.get('warning'), warning);
  }
});

test('what was read may be sent back, and fields of other types of checks may come with it', async () => {
  const made = await send('POST', '/v1/checks/url', check);
  const read = await send('GET', `/v1/checks/${(made.body as { id: string }).id}`);
  const again = await send('PUT', `/v1/checks/url/${(read.body as { id: string }).id}`, {
    ...(read.body as object),
    localSetupScript: '',
    script: null,
    sslCheckDomain: '',
  });
  assert.deepEqual([again.status, again.warning], [200, null]);
});

test('a parameter that an operation does not know is refused with the one that was meant', async () => {
  for (const [path, key, hint] of [
    ['/v1/checks?tga=x', 'tga', 'did you mean "tag"?'],
    ['/v1/checks?colour=red', 'colour', 'its parameters are limit, page, '],
    ['/v1/checks?tga[]=x', 'tga', 'did you mean "tag"?'],
    ['/v1/accounts/me?verbose=1', 'verbose', 'it has none'],
  ] as const) {
    const { status, body } = await send('GET', path);
    const { message, attributes } = body as Refusal;
    assert.equal(status, 400, path);
    assert.ok(
      message.startsWith(`"${key}" is not a parameter of this operation; ${hint}`),
      message,
    );
    assert.deepEqual([attributes.source, attributes.keys], ['query', [key]]);
  }
});

test('lists in brackets are lists', async () => {
  for (const name of ['one', 'two', 'three']) {
    await send('POST', '/v1/checks/url', { ...check, name, tags: ['listed', `tag-${name}`] });
  }
  const names = async (query: string): Promise<string[]> =>
    ((await send('GET', `/v1/checks?${query}`)).body as { name: string }[])
      .map(({ name }) => name)
      .sort();
  assert.deepEqual(await names('tag[]=tag-one'), ['one']);
  assert.deepEqual(
    await names('tag%5B%5D=listed&tag[]=tag-two'),
    await names('tag=listed&tag=tag-two'),
  );
  assert.deepEqual(await names('tag=listed&tag[]=tag-two'), await names('tag=listed&tag=tag-two'));
  assert.equal((await send('GET', '/v1/checks?limit[]=5')).status, 400);
});

test('pings and agents may send what this version does not know', async () => {
  const heartbeat = (
    await send('POST', '/v1/checks/heartbeat', {
      name: 'nightly',
      heartbeat: { period: 60, periodUnit: 'seconds', grace: 10, graceUnit: 'seconds' },
    })
  ).body as { heartbeat: { pingUrl: string } };
  const { pathname } = new URL(heartbeat.heartbeat.pingUrl);
  assert.equal((await fetch(`${cp.url}${pathname}?source=cron`)).status, 200);
});

test('a type of checks that does not exist is not found, and what takes other methods says which', async () => {
  for (const [method, path, status, message] of [
    [
      'POST',
      '/v1/checks/ftp',
      404,
      /^POST \/v1\/checks\/ftp does not exist; \/v1\/checks\/ has .*url/,
    ],
    ['POST', '/v1/checks/brwoser', 404, /; did you mean \/v1\/checks\/browser\?$/],
    ['POST', '/v1/checks/11111111-2222-4333-8444-555555555555', 405, /allowed: .*GET/],
    ['POST', '/v1/runtimes', 405, /allowed: .*GET/],
    ['POST', '/v1/nowhere', 404, /nowhere/],
  ] as const) {
    const { status: answered, body } = await send(method, path, {});
    assert.equal(answered, status, path);
    assert.match((body as Refusal).message, message);
  }
});
