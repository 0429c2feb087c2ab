// PostgreSQL in the long tier: held-deletions.test.ts, console-events.test.ts, agent-boundary.test.ts and
// resources.test.ts run its statements on both.
import assert from 'node:assert/strict';
import test from 'node:test';
import {
  Client,
  fromJsonSchema,
  type CallToolResult,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { allRoutes } from '@monitor/shared/contract/index.ts';
import { isJson, jsonSchemaOf } from '@monitor/shared/json-schema.ts';
import { maxAnswerLength } from '../../control-plane/mcp/fit.ts';
import { apiTools, reasonAgainst } from '../../control-plane/mcp/tools.ts';
import { createApiKey } from '../../control-plane/accounts/keys/store.ts';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import { rowsOf } from '../support/tables.ts';

const url = { request: { url: 'https://a.example/' } };

async function connect(cp: TestControlPlane, key = cp.apiKey, path = '/mcp'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(cp.url + path), { requestInit }));
  return client;
}

/** What a tool answers, as the value that is in its text. */
async function answerOf(client: Client, name: string, args: Record<string, unknown> = {}) {
  const { content, isError } = (await client.callTool({ name, arguments: args })) as CallToolResult;
  const [first, ...beside] = content.flatMap((each) => (each.type === 'text' ? [each.text] : []));
  // oxlint-disable-next-line typescript/no-explicit-any
  return { isError, beside, value: JSON.parse(first ?? 'null') as any };
}

/** Everything that is stored, but when a key was last used and what the audit log notes. */
async function stored(cp: TestControlPlane): Promise<string> {
  const { db } = cp.controlPlane.services;
  const tables = ['checks', 'check_groups', 'variables', 'api_keys', 'alert_channels'] as const;
  const rows = await Promise.all(tables.map((table) => rowsOf(db, table)));
  return JSON.stringify(rows, (name, value: unknown) => (name === 'last_used_at' ? null : value));
}

test('every operation is a tool or says why not, and no argument of a tool has two meanings', () => {
  const tools = new Map(apiTools().map((each) => [each.route.operationId, each]));
  for (const route of allRoutes) {
    const made = tools.get(route.operationId);
    assert.equal(made === undefined, reasonAgainst(route) !== null, route.operationId);
    if (made === undefined) continue;
    const { inputSchema } = made.tool;
    // Throws for one that is no JSON schema.
    fromJsonSchema(inputSchema as never);
    const named = [route.params, route.query].flatMap((schema) =>
      schema === undefined ? [] : Object.keys(jsonSchemaOf(schema, 'input')['properties'] ?? {}),
    );
    const own = Object.keys(made.own.shape).filter((name) => !made.hasDryRun || name !== 'dryRun');
    const all = [...named, ...own, ...(route.body === undefined ? [] : ['body'])];
    assert.deepEqual(Object.keys(inputSchema.properties ?? {}).toSorted(), all.toSorted());
    assert.equal(new Set(all).size, all.length, route.operationId);
  }
});

test('no tool answers with a secret that is shown once', () => {
  const secretIn = (value: unknown): boolean => {
    if (Array.isArray(value)) return value.some(secretIn);
    if (!isJson(value)) return false;
    return Object.entries(value).some(
      ([name, inner]) => ['rawKey', 'recoveryCodes'].includes(name) || secretIn(inner),
    );
  };
  const ofSecrets = allRoutes.filter(
    ({ response }) => response !== undefined && secretIn(jsonSchemaOf(response, 'output')),
  );
  assert.ok(ofSecrets.length >= 5);
  for (const route of ofSecrets) assert.notEqual(reasonAgainst(route), null, route.operationId);
});

test('a tool reads at once, and writes only when it is asked to', async () => {
  await using cp = await startTestControlPlane();
  const client = await connect(cp);
  const before = await stored(cp);
  const tried = await answerOf(client, 'createURLMonitor', { body: { name: 'home', ...url } });
  assert.partialDeepStrictEqual(tried, { isError: false, value: { dryRun: true, current: null } });
  const wrong = await answerOf(client, 'createURLMonitor', { body: { name: 1, ...url } });
  assert.equal(wrong.isError, true);
  assert.deepEqual(wrong.value.attributes.keys, ['name']);
  assert.equal(await stored(cp), before);

  const body = { name: 'home', ...url };
  const { value: made } = await answerOf(client, 'createURLMonitor', { body, dryRun: false });
  const { value: list, beside } = await answerOf(client, 'listChecks');
  assert.deepEqual([list[0].id, beside.at(-1)], [made.id, 'total: 1']);

  const { id } = made;
  const read = await answerOf(client, 'getCheck', { id });
  const ifMatch = read.beside[0]?.replace('etag: ', '');
  const renamed = { id, ifMatch, body: { name: 'shop' } };
  const would = await answerOf(client, 'updateURLMonitor', renamed);
  assert.equal(would.value.current.name, 'home');
  const changed = await answerOf(client, 'updateURLMonitor', { ...renamed, dryRun: false });
  assert.equal(changed.value.name, 'shop');
  for (const dryRun of [true, false]) {
    const late = await answerOf(client, 'updateURLMonitor', { ...renamed, dryRun });
    assert.equal(late.value.statusCode, 412, 'somebody has changed it meanwhile');
  }

  await answerOf(client, 'deleteCheck', { id });
  assert.equal((await answerOf(client, 'getCheck', { id })).isError, false);
  await answerOf(client, 'deleteCheck', { id, dryRun: false });
  const { value: deletions } = await answerOf(client, 'listDeletions');
  await answerOf(client, 'undoDeletion', { id: deletions[0].id, dryRun: false });
  assert.equal((await answerOf(client, 'getCheck', { id })).value.name, 'shop');

  // Another word than true or false would write, and what cannot be tried is not done.
  for (const [path, dryRun, status] of [
    [`/v1/checks/${id}`, 'yes', 400],
    [`/v1/checks/${id}`, 'false', 202],
  ] as const) {
    const headers = { 'x-dry-run': dryRun, prefer: 'respond-async' };
    assert.equal((await cp.api('DELETE', path, undefined, headers)).status, status);
  }

  const { value: log } = await answerOf(client, 'listAuditLog', { limit: 100 });
  const noted = log.entries.map(({ operation }: { operation: string }) => operation);
  for (const operation of ['createURLMonitor', 'updateURLMonitor', 'deleteCheck', 'getCheck']) {
    assert.ok(noted.includes(operation), operation);
  }
});

test('a key can do by tools what its role can do, and refusals are in the audit log', async () => {
  await using cp = await startTestControlPlane();
  const { services } = cp.controlPlane;
  const { accountId } = cp;
  const { rawKey } = await createApiKey(services, accountId, { name: 'r', role: 'READ_ONLY' });
  const client = await connect(cp, rawKey);
  assert.equal((await answerOf(client, 'listChecks')).isError, false);
  for (const dryRun of [true, false]) {
    const answer = await answerOf(client, 'createURLMonitor', {
      body: { name: 'a', ...url },
      dryRun,
    });
    assert.deepEqual([answer.isError, answer.value.statusCode], [true, 403]);
    assert.match(answer.value.message, /READ_ONLY.*READ_WRITE/);
  }
  const { body: log } = await cp.api('GET', '/v1/audit-log');
  assert.partialDeepStrictEqual(log.entries[0], {
    operation: 'createURLMonitor',
    outcome: 'REFUSED',
  });
  // Of another account there is nothing.
  const foreign = await connect(cp, await cp.foreignKey());
  const { body: check } = await cp.api('POST', '/v1/checks/url', { name: 'a', ...url });
  assert.equal((await answerOf(foreign, 'getCheck', { id: check.id })).value.statusCode, 404);
});

test('a long answer is cut to entries that fit, and says so', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const description = 'x'.repeat(490);
  for (let index = 0; index < 60; index += 1) {
    await cp.api('POST', '/v1/checks/url', { name: `c${index}`, description, ...url });
  }
  const script = 'y'.repeat(9_000);
  await cp.api('POST', '/v1/snippets', { name: 'long', script });
  const client = await connect(cp);
  const { value } = await answerOf(client, 'listChecks', { limit: 100 });
  assert.match(value.cut, new RegExp(`^the first ${value.entries.length} of 60 entries`));
  assert.ok(value.entries.length > 5 && JSON.stringify(value).length < maxAnswerLength + 500);
  const { value: snippets } = await answerOf(client, 'listSnippets');
  assert.equal(snippets[0].script, script, 'what fits is whole');
  const { body: large } = await cp.api('POST', '/v1/snippets', {
    ...{ name: 'larger', script: 'z'.repeat(60_000) },
  });
  const cut = await answerOf(client, 'getSnippet', { id: large.id });
  assert.match(cut.value.cut, /do not write them back/);
  assert.deepEqual(cut.beside, [], 'no etag with which it could be written back');
});

test('50 hostile calls: each is refused or does nothing, and nothing is written', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const { body: check } = await cp.api('POST', '/v1/checks/url', { name: 'a', ...url });
  const client = await connect(cp);
  const before = await stored(cp);
  const paths = [
    ...['.', '..', '', '../api-keys', '../../v1/api-keys', '%2e%2e/api-keys', `${check.id}/../..`],
    ...['a/b', 'a?dryRun=false', 'a#b', 'a\r\nx-tool: b', '\0', '\ud800', 'a%00', '*', '{id}'],
  ];
  const ids: unknown[] = [
    ...paths,
    {},
    [],
    [check.id, check.id],
    null,
    true,
    1e400,
    { id: check.id },
  ];
  const calls: [string, Record<string, unknown>][] = [
    ...ids.map((id) => ['deleteCheck', { id, dryRun: false }] as [string, Record<string, unknown>]),
    ['deleteCheck', { id: check.id, dryRun: 'false' }],
    ['deleteCheck', { id: check.id, dryRun: 0 }],
    ['deleteCheck', { id: check.id, dryRun: null }],
    ['deleteCheck', { id: check.id, dryrun: false }],
    ['deleteCheck', { id: check.id, dryRun: false, ifMatch: '"x"\r\nx-dry-run: false' }],
    ['deleteCheck', { id: check.id, dryRun: false, ifMatch: '"x"' }],
    ['deleteCheck', { id: check.id, dryRun: false, accountId: 'other' }],
    ['deleteCheck', { id: check.id, dryRun: false, headers: { authorization: 'Bearer x' } }],
    ['createApiKey', { body: { name: 'a', role: 'OWNER' }, dryRun: false }],
    ['createPrivateLocationKey', { id: 'a', dryRun: false }],
    ['pollJobs', {}],
    ['constructor', {}],
    ['__proto__', {}],
    ['', {}],
    ['DeleteCheck', { id: check.id, dryRun: false }],
    ['listChecks', { limit: '1&x=2' }],
    ['listChecks', { limit: -1 }],
    ['createURLMonitor', { dryRun: false }],
    ['createURLMonitor', { body: null, dryRun: false }],
    ['createURLMonitor', { body: 'name=a', dryRun: false }],
    ['createURLMonitor', { body: [], dryRun: false }],
    ['createURLMonitor', { body: { name: 'x'.repeat(2_000_000), ...url }, dryRun: false }],
    ['createVariable', { body: { key: 'A', value: { a: 1 } }, dryRun: false }],
    ['updateURLMonitor', { id: check.id, body: { nmae: 'b' }, dryRun: false }],
  ];
  /** These only try, and may be answered. */
  const harmless: typeof calls = [
    ['deleteCheck', { id: check.id }],
    ['deleteCheck', JSON.parse(`{"__proto__":{"dryRun":false},"id":"${check.id}"}`)],
    ['createURLMonitor', { body: { name: 'a', ...url, accountId: 'x' } }],
  ];
  assert.ok(calls.length + harmless.length >= 50, String(calls.length));
  for (const call of [...calls, ...harmless]) {
    const [name, args] = call;
    const words = `${name} ${JSON.stringify(args).slice(0, 100)}`;
    const isRefused = await client.callTool({ name, arguments: args }).then(
      ({ isError }) => isError === true,
      () => true,
    );
    assert.equal(isRefused, !harmless.includes(call), words);
    assert.equal(await stored(cp), before, words);
  }
});

test('who has no key of the API gets nothing, and no page of another site gets anything', async () => {
  await using cp = await startTestControlPlane();
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const ask = async (headers: Record<string, string>, body: unknown = message, method = 'POST') => {
    const answer = await fetch(`${cp.url}/mcp`, {
      ...{ method, ...(method === 'POST' && { body: JSON.stringify(body) }) },
      headers: {
        ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        ...headers,
      },
    });
    const text = await answer.text();
    return { status: answer.status, challenge: answer.headers.get('www-authenticate'), text };
  };
  const authorization = `Bearer ${cp.apiKey}`;
  const session = await fetch(`${cp.url}/console/session`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json', 'x-console': '1' } },
    body: JSON.stringify({ key: cp.apiKey }),
  });
  const cookie = session.headers
    .getSetCookie()
    .map((each) => each.split(';')[0])
    .join('; ');
  assert.notEqual(cookie, '');
  for (const [status, headers] of [
    [401, {}],
    [401, { cookie }],
    [401, { authorization: 'Bearer 12345678' }],
    [401, { authorization: `Bearer ${await cp.locationKey('eu-west-1')}` }],
    [403, { authorization, 'x-service-account': '00000000-0000-4000-8000-000000000000' }],
    [400, { authorization, origin: 'https://evil.example' }],
    [415, { authorization, 'content-type': 'text/plain' }],
  ] as [number, Record<string, string>][]) {
    const answer = await ask(headers);
    assert.equal(answer.status, status, answer.text);
    assert.doesNotMatch(answer.text, /listChecks/);
    if (status === 401) assert.match(answer.challenge ?? '', /^Bearer/);
  }
  assert.match((await ask({ authorization })).text, /listChecks/, 'clients of the older protocol');
  for (const method of ['GET', 'DELETE']) {
    assert.equal((await ask({ authorization }, undefined, method)).status, 405);
  }
  assert.equal((await ask({ authorization }, [message, message])).status, 400, 'each counts');
  const tooLarge = await ask(
    { authorization },
    { ...message, params: { x: 'x'.repeat(2_000_000) } },
  );
  assert.equal(tooLarge.status, 413);
  const unknown = await fetch(`${cp.url}/mcp?tags=Chekcs`, {
    ...{ method: 'POST', headers: { authorization, 'content-type': 'application/json' } },
    body: JSON.stringify(message),
  });
  assert.equal(unknown.status, 400);
  assert.match(await unknown.text(), /there is no group \\?"Chekcs/);
});

test('the command speaks it on standard input and output, with the same tools', async () => {
  await using cp = await startTestControlPlane();
  const open = async (...more: string[]) => {
    const client = new Client({ name: 'test', version: '1' });
    const transport = new StdioClientTransport({
      ...{ command: process.execPath, stderr: 'inherit' },
      args: ['control-plane/control-plane.js', 'mcp', '--url', cp.url, ...more],
      env: { PATH: process.env['PATH'] ?? '', CONTROL_PLANE_API_KEY: cp.apiKey },
    });
    await client.connect(transport);
    return client;
  };
  await using stack = new AsyncDisposableStack();
  const client = await open();
  stack.defer(() => client.close());
  const all = await client.listTools();
  assert.deepEqual(all, await (await connect(cp)).listTools());
  const body = { name: 'home', ...url };
  const { value } = await answerOf(client, 'createURLMonitor', { body, dryRun: false });
  assert.equal((await cp.api('GET', `/v1/checks/${value.id}`)).body.name, 'home');
  const few = await open('--tags', 'checks, snippets');
  stack.defer(() => few.close());
  const { tools } = await few.listTools();
  assert.ok(tools.length > 5 && tools.length < all.tools.length / 2);
  assert.deepEqual(
    tools,
    (await (await connect(cp, cp.apiKey, '/mcp?tags=checks,snippets')).listTools()).tools,
  );
});
