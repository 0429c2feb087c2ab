/** What rows of the specification say that takes more than one request to show. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test, { after, before, suite } from 'node:test';
import { systemClock } from '@monitor/shared/clock.ts';
import { agenticCheckResult } from '@monitor/shared/contract/check-result.ts';
import { readConfig as readAgentConfig } from '../../agent/config.ts';
import { startProber, type ApiProber } from '../support/api-prober.ts';
import { makeKeys, openAgent, openControlPlane } from '../support/in-process.ts';
import { publishedOperation, routeOf, schemaAt } from '../support/published-schema.ts';
import { httpServer } from '../support/servers.ts';
import { temporaryFolder } from '../support/system.ts';
import { frequencies, sections } from './conformance.table.ts';

let prober: ApiProber;
before(async () => {
  prober = await startProber();
});
after(() => prober[Symbol.asyncDispose]());

const endpoints = sections.flatMap(({ table }) =>
  table.flatMap((row) => ('endpoint' in row ? [row] : [])),
);

suite('frequencyOffset', () => {
  const isAccepted = async (frequency: number, frequencyOffset: number) => {
    const answers = ['createURLMonitor', 'createDNSMonitor'].map(async (operation) => {
      const body = { ...prober.leastBody(operation), frequency, frequencyOffset };
      const { accepted, keys } = await prober.send(operation, body);
      if (!accepted) assert.deepEqual(keys, ['frequencyOffset']);
      return accepted;
    });
    const [ofUrl, ofDns] = await Promise.all(answers);
    assert.equal(ofUrl, ofDns);
    return ofUrl;
  };

  test('frequencyOffset: frequency 0 takes 10, 20 and 30 and nothing else', async () => {
    for (const offset of [10, 20, 30]) assert.equal(await isAccepted(0, offset), true);
    for (const offset of [1, 9, 11, 19, 21, 29, 31, 40]) {
      assert.equal(await isAccepted(0, offset), false, String(offset));
    }
  });

  test('frequencyOffset: both sides of the bounds of every frequency', async () => {
    for (const frequency of frequencies.slice(1)) {
      const most = frequency <= 60 ? Math.floor(frequency * 10) : Math.ceil(frequency / 60);
      assert.equal(await isAccepted(frequency, 1), true, `${frequency}: 1`);
      assert.equal(await isAccepted(frequency, 0), false, `${frequency}: 0`);
      assert.equal(await isAccepted(frequency, most), true, `${frequency}: ${most}`);
      assert.equal(await isAccepted(frequency, most + 1), false, `${frequency}: ${most + 1}`);
    }
  });
});

suite('a run of a URL monitor', () => {
  const assertFields = (value: Record<string, unknown>, fields: Record<string, string>) => {
    for (const [name, type] of Object.entries(fields)) {
      assert.equal(typeof value[name], type, `${name}: ${JSON.stringify(value[name])}`);
    }
  };
  let folder: ReturnType<typeof temporaryFolder>;
  const stack = new AsyncDisposableStack();
  let api: (method: string, path: string, body?: unknown) => Promise<Response>;
  let id: string;
  let url: string;

  before(async () => {
    folder = stack.use(temporaryFolder());
    const target = stack.use(
      await httpServer((_request, response) =>
        response.writeHead(200, { 'content-type': 'text/plain' }).end('hello'),
      ),
    );
    url = target.url;
    const controlPlane = stack.use(await openControlPlane(folder.path, systemClock));
    const { apiKey, locationKeys } = await makeKeys(controlPlane, ['eu-west-1']);
    const agent = await openAgent(
      folder.path,
      controlPlane.url,
      String(locationKeys[0]),
      systemClock,
    );
    stack.use(agent);
    api = (method, path, body) =>
      fetch(controlPlane.url + path, {
        method,
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const created = await api('POST', '/v1/checks/url', {
      name: 'a',
      frequency: 1440,
      locations: ['eu-west-1'],
      request: {
        url: `${url}/path`,
        assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' }],
      },
    });
    id = ((await created.json()) as { id: string }).id;
  });
  after(() => stack.disposeAsync());

  test('a check is triggered through its token', async () => {
    const created = await api('POST', `/v1/triggers/checks/${id}`);
    assert.equal(created.status, 201);
    const { token } = (await created.json()) as { token: string };
    assert.match(token, /^[\w-]{12,}$/);
    const wrong = await api('GET', `/checks/${id}/trigger/${'x'.repeat(token.length)}`);
    assert.equal(wrong.status, 404);
    const called = await api('GET', `/checks/${id}/trigger/${token}`);
    assert.equal(called.status, 200);
    const outcome = (await called.json()) as Record<string, unknown>;
    assert.equal(outcome['hasFailures'], false);
    assert.equal(typeof outcome['responseTime'], 'number');
    const trigger = await api('GET', `/v1/triggers/checks/${id}`);
    const { called_at: calledAt } = (await trigger.json()) as { called_at: string | null };
    assert.notEqual(calledAt, null);
  });

  test('the result of a URL monitor has every field of a request and a response', async () => {
    // Of a run that fails, because of a clean pass a monitor keeps null for the body.
    const changed = await api('PUT', `/v1/checks/url/${id}`, {
      retryStrategy: null,
      doubleCheck: false,
      request: {
        url: `${url}/path`,
        assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '204' }],
      },
    });
    assert.equal(changed.status, 200);
    const trigger = await api('GET', `/v1/triggers/checks/${id}`);
    const { token } = (await trigger.json()) as { token: string };
    assert.equal((await api('GET', `/checks/${id}/trigger/${token}`)).status, 503);
    const results = (await (await api('GET', `/v1/check-results/${id}`)).json()) as {
      apiCheckResult: Record<string, Record<string, unknown>>;
    }[];
    const seen = results[0]?.apiCheckResult;
    assert.ok(seen !== undefined);
    const { request = {}, response = {} } = seen;
    assertFields(request, { method: 'string', url: 'string', data: 'string' });
    assertFields(request, { headers: 'object', params: 'object' });
    assertFields(response, { status: 'number', statusText: 'string', body: 'string' });
    assertFields(response, { headers: 'object', timings: 'object', timingPhases: 'object' });
    const [assertion] = seen['assertions'] as unknown as Record<string, unknown>[];
    assert.equal(assertion?.['source'], 'STATUS_CODE');
    assert.equal(String(assertion['target']), '204');
  });
});

test('what an agentic step took and gave is free-form', () => {
  const step = {
    type: 'tool_call',
    name: 'a',
    timestamp: '2026-11-21T08:00:00Z',
    sequenceNumber: 1,
  };
  const result = (input: unknown) => ({
    summary: '',
    prompt: '',
    assertions: [],
    suggestions: [],
    steps: [{ ...step, input, output: null }],
    errors: [],
    artifactManifest: {},
  });
  for (const input of ['text', { any: ['thing'] }, null]) agenticCheckResult.parse(result(input));
  assert.throws(() => agenticCheckResult.parse({ ...result(''), steps: [{ ...step, name: 7 }] }));
});

test('an error group is read and archived', async () => {
  const { cp, tokens } = prober;
  const path = `/v1/error-groups/${String(tokens['errorGroupId'])}`;
  const read = await cp.api('GET', path);
  assert.partialDeepStrictEqual(read.body, { rawErrorMessage: 'probed' });
  assert.match(String(read.body.errorHash), /^\w+$/);
  const on = await cp.api('PATCH', path, { archivedUntilNextEvent: true });
  assert.equal(on.body.archivedUntilNextEvent, true);
  const off = await cp.api('PATCH', path, { archivedUntilNextEvent: false });
  assert.equal(off.body.archivedUntilNextEvent, false);
  const listed = async () => (await cp.api('GET', '/v1/error-groups')).body.length as number;
  const count = await listed();
  assert.equal((await cp.api('PATCH', path, { archiveForEver: true })).status, 200);
  assert.equal(await listed(), count - 1);
  assert.equal((await cp.api('GET', path)).status, 200);
});

test('every creation of the specification is declared with 201, the deletion with 204, the rest with 200', () => {
  const expected = { POST: 201, DELETE: 204, GET: 200, PUT: 200, PATCH: 200 };
  assert.equal(endpoints.length, 22);
  for (const { endpoint, status } of endpoints) {
    assert.equal(status, expected[endpoint.split(' ')[0] as keyof typeof expected], endpoint);
  }
});

test('paths carry a major version', () => {
  for (const { endpoint } of endpoints) {
    const isOfGroups = endpoint.includes('check-groups');
    assert.match(endpoint, isOfGroups ? / \/v2\/check-groups\// : / \/v1\//);
  }
});

test('doubleCheck is published as deprecated', () => {
  for (const operation of ['createURLMonitor', 'createDNSMonitor', 'createCheckGroup']) {
    const found = schemaAt(routeOf(operation), 'request', 'doubleCheck');
    assert.equal(found?.schema['deprecated'], true, operation);
  }
});

test('every refusal has the four fields of an error', async () => {
  const { cp } = prober;
  const schema = publishedOperation(routeOf('getCheckStatus'));
  assert.ok('404' in (schema['responses'] as object));
  const refusals: [number, string, string, string, unknown?][] = [
    [400, 'Bad Request', 'POST', '/v1/checks/url', {}],
    [404, 'Not Found', 'GET', `/v1/checks/${randomUUID()}`],
    [404, 'Not Found', 'GET', '/v1/nowhere'],
    [405, 'Method Not Allowed', 'PATCH', '/v1/checks'],
    [409, 'Conflict', 'POST', '/v1/private-locations', { name: 'a', slugName: '$slug' }],
  ];
  for (const [statusCode, error, method, path, body] of refusals) {
    const answer = await cp.api(method, path, prober.fill(body));
    assert.partialDeepStrictEqual(answer.body, { statusCode, error });
    assert.deepEqual(
      [typeof answer.body.message, typeof answer.body.attributes],
      ['string', 'object'],
    );
  }
});

test('a new check is subscribed to all channels unless autoAssignAlerts is false', async () => {
  const { cp, tokens } = prober;
  const channel = tokens['channelId'] as number;
  const channelsOf = async (operation: string, path: string, query: string) => {
    const { status, body } = await cp.api('POST', `${path}${query}`, prober.leastBody(operation));
    assert.equal(status, 201);
    return (body.alertChannelSubscriptions as { alertChannelId: number }[]).map(
      (one) => one.alertChannelId,
    );
  };
  for (const [operation, path] of [
    ['createURLMonitor', '/v1/checks/url'],
    ['createDNSMonitor', '/v1/checks/dns'],
    ['createBrowserCheck', '/v1/checks/browser'],
  ] as const) {
    assert.deepEqual(await channelsOf(operation, path, ''), [channel]);
    assert.deepEqual(await channelsOf(operation, path, '?autoAssignAlerts=true'), [channel]);
    assert.deepEqual(await channelsOf(operation, path, '?autoAssignAlerts=false'), []);
    assert.equal(
      (await cp.api('POST', `${path}?autoAssignAlerts=perhaps`, prober.leastBody(operation)))
        .status,
      400,
    );
  }
  for (const path of [
    `/v1/checks/url/${String(tokens['urlId'])}`,
    `/v2/check-groups/${String(tokens['groupId'])}`,
  ]) {
    const change = { name: 'a' };
    assert.equal((await cp.api('PUT', `${path}?autoAssignAlerts=false`, change)).status, 200);
    assert.equal((await cp.api('PUT', `${path}?autoAssignAlerts=perhaps`, change)).status, 400);
  }
});

test('the health port of an agent is 8081 unless AGENT_HEALTH_PORT says otherwise', () => {
  const environment = { API_KEY: 'pl_0123456789abcdef', CONTROL_PLANE_URL: 'http://127.0.0.1:1' };
  assert.equal(readAgentConfig({ environment }).config.AGENT_HEALTH_PORT, 8081);
  const other = { ...environment, AGENT_HEALTH_PORT: '9000' };
  assert.equal(readAgentConfig({ environment: other }).config.AGENT_HEALTH_PORT, 9000);
});
