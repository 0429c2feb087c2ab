/** What the newest clients call: versions of checks, members by account, deployments, test sessions, secret scans. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { FakeAgent, resultOfJob } from '../../support/fake-agent.ts';
import { insertMember } from '../../support/people.ts';
import { callOperation } from '../../support/world.ts';

const location = 'eu-west-1';
const url = { url: 'https://a.example/' };

async function setUp() {
  const cp = await startTestControlPlane();
  const agent = new FakeAgent(cp, await cp.locationKey(location));
  await agent.checkIn();
  return { cp, agent };
}

async function made(cp: TestControlPlane, path: string, fields: object) {
  const { status, body } = await cp.api('POST', path, fields);
  assert.equal(status, 201, JSON.stringify(body));
  return body as Record<string, unknown> & { id: string };
}

const check = (cp: TestControlPlane, fields: object = {}) =>
  made(cp, '/v1/checks/url', { name: 'shop', locations: [location], request: url, ...fields });

test('each version of a check says what belongs to it, and any of their ETags guards a change', async () => {
  const { cp } = await setUp();
  await using _cp = cp;
  const intent = { goal: 'People can pay.', requiredOutcomes: ['paid'], mustPreserve: ['login'] };
  const sslCertificates = { enabled: true, alertThreshold: 14 };
  const { id, warnings } = await check(cp, {
    ...{ intent, aiAutoRepairEnabled: true, alertSettings: { sslCertificates } },
  });
  assert.match(String(warnings), /nothing repairs checks here/);
  const [first, second, third] = await Promise.all(
    ['v1', 'v2', 'v3'].map((version) => cp.api('GET', `/${version}/checks/${id}`)),
  );
  assert.deepEqual(first?.body['intent'], intent);
  assert.equal(first.body['aiAutoRepairEnabled'], true);
  assert.deepEqual(first.body['alertSettings'].sslCertificates, sslCertificates);
  const flat = ['project', 'logicalId', 'member', 'pending'];
  assert.deepEqual(
    flat.map((name) => first.body[name]),
    [null, null, null, null],
  );
  const none = { owner: null, references: [] };
  for (const body of [second?.body, third?.body]) {
    assert.ok(body);
    assert.deepEqual(
      flat.filter((name) => name in body),
      [],
    );
    assert.deepEqual(body['projectBindings'], none);
  }
  assert.deepEqual(second?.body['intent'], intent);
  assert.deepEqual(third?.body['intent'], {
    goal: intent.goal,
    constraints: [
      { type: 'REQUIRED_OUTCOME', statement: 'paid' },
      { type: 'MUST_PRESERVE', statement: 'login' },
    ],
  });
  const listed = await cp.api('GET', '/v3/checks?search=shop');
  assert.deepEqual(listed.body, [third.body]);
  const put = (etag: string, name: string) =>
    cp.api('PUT', `/v1/checks/url/${id}`, { name }, { 'if-match': etag });
  const read = second?.headers.get('etag') ?? '';
  assert.equal((await put(read, 'changed')).status, 200);
  assert.equal((await put(read, 'again')).status, 412);
});

test('answers name the project that owns a resource, and whether its files have it yet', async () => {
  const { cp } = await setUp();
  await using _cp = cp;
  const alone = await check(cp, { name: 'alone' });
  const project = { project: { logicalId: 'web', name: 'Web' } };
  const payload = { checkType: 'URL', name: 'api', request: url };
  const resources = [{ logicalId: 'api', type: 'check', member: true, payload }];
  const { body: deployed } = await cp.api('POST', '/v1/projects/deploy', {
    ...project,
    resources: [
      ...resources,
      { logicalId: 'ops', type: 'check-group', member: true, payload: { name: 'ops' } },
    ],
  });
  await cp.api('GET', `/v1/projects/web/deployments/${String(deployed['id'])}/completion`);
  const { body: checks } = await cp.api('GET', '/v1/checks');
  const [api] = (checks as Record<string, unknown>[]).filter(({ name }) => name === 'api');
  const { id } = api?.['project'] as { id: string };
  const shown = { id, logicalId: 'web', name: 'Web' };
  const binding = { project: shown, binding: { logicalId: 'api', pending: false } };
  assert.deepEqual(api?.['projectBindings'], { owner: binding, references: [] });
  assert.deepEqual(
    [api['project'], api['logicalId'], api['member'], api['pending']],
    [shown, 'api', true, false],
  );
  const { body: groups } = await cp.api('GET', '/v1/check-groups');
  assert.equal(groups[0].projectBindings.owner.binding.logicalId, 'ops');
  const { body } = await cp.api('GET', `/v2/checks/${alone.id}`);
  assert.equal(body['projectBindings'].owner, null);
  await cp.api('POST', '/next/projects/web/imports', {
    filters: [{ type: 'include', resource: { type: 'check', physicalId: alone.id } }],
  });
  const { body: plans } = await cp.api('GET', '/next/projects/web/imports');
  await cp.api('POST', `/next/projects/imports/${String(plans[0].id)}/apply`);
  const { body: imported } = await cp.api('GET', `/v2/checks/${alone.id}`);
  assert.equal(imported['projectBindings'].owner.binding.pending, true);
});

test('members of an account are those of the key, by the id of the account', async () => {
  const { cp } = await setUp();
  await using _cp = cp;
  const { services } = cp.controlPlane;
  const { accountId } = cp;
  const ada = await insertMember(services, { accountId, name: 'Ada', role: 'READ_WRITE' });
  const path = `/v1/accounts/${accountId}/members`;
  const mine = await cp.api('GET', '/v1/accounts/me/members');
  assert.equal(mine.body['length'], 1);
  assert.deepEqual((await cp.api('GET', `${path}?search=ada`)).body, mine.body);
  const changed = await cp.api('PATCH', `${path}/${ada.id}`, { role: 'READ_ONLY' });
  assert.deepEqual([changed.status, changed.body['role']], [200, 'READ_ONLY']);
  const other = `/v1/accounts/${randomUUID()}/members`;
  for (const [method, at, body] of [
    ['GET', other, undefined],
    ['PATCH', `${other}/${ada.id}`, { role: 'ADMIN' }],
    ['DELETE', `${other}/${ada.id}`, undefined],
  ] as const) {
    assert.equal((await cp.api(method, at, body)).status, 404, method);
  }
  const { body: log } = await cp.api('GET', '/v1/audit-log');
  const [{ resource }] = log.entries as [{ resource: { type: string; id: string } }];
  assert.deepEqual([resource.type, resource.id], ['people', ada.id]);
  assert.equal((await cp.api('DELETE', `${path}/${ada.id}`)).status, 204);
  assert.equal((await cp.api('GET', path)).body['length'], 0);
});

const event = (fields: object = {}, repoId: number | string = 7) => ({
  deployment_status: {
    ...{ state: 'success', environment: 'preview', environment_url: 'https://pr-1.a.example' },
    ...fields,
  },
  repository: { id: repoId, full_name: 'acme/shop' },
  sender: { login: 'ada' },
});

test('a deployment that succeeded runs the check against its environment, and nothing else does', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const { id: checkId } = await check(cp, { activated: false });
  const body = {
    ...{ checkId, repoId: 7, repoName: 'acme/shop', environmentRegexFilter: '^preview$' },
  };
  const trigger = await made(cp, '/v1/deployment-triggers', body);
  assert.match(String(trigger['webhookUrl']), /\/deployment-triggers\/[\w-]{32}$/);
  const again = await cp.api('POST', '/v1/deployment-triggers', { ...body, repoId: 8 });
  assert.equal(again.status, 200);
  assert.deepEqual(again.body, trigger);
  const path = new URL(String(trigger['webhookUrl'])).pathname;
  const hook = async (given: object, at = path) => {
    const response = await fetch(cp.url + at, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(given),
    });
    return { status: response.status, ...((await response.json()) as { reason?: string }) };
  };
  for (const [given, reason] of [
    [{ zen: 'Keep it simple.' }, 'it is no deployment status'],
    [event({}, 8), 'it is of another repository'],
    [event({ state: 'failure' }), 'the deployment has not succeeded'],
    [event({ environment: 'production' }), 'the environment is another'],
  ] as const) {
    assert.deepEqual(await hook(given), { status: 202, started: 0, reason });
  }
  assert.equal((await agent.checkIn()).jobs.length, 0);
  assert.equal((await hook(event({ environment_url: 'javascript:alert(1)' }))).status, 400);
  assert.deepEqual(await hook(event()), { status: 202, started: 1, reason: null });
  const [job, ...more] = (await agent.checkIn()).jobs;
  assert.deepEqual(more, []);
  assert.equal(job?.source, 'DEPLOYMENT');
  assert.equal(job.environmentUrl, 'https://pr-1.a.example');
  assert.equal((await hook(event(), `${path}x`)).status, 404);
  const wrong = await cp.api('POST', '/v1/deployment-triggers', {
    ...{ ...body, environmentRegexFilter: '(' },
  });
  assert.equal(wrong.status, 400);
  const reader = await callOperation({ url: cp.url, key: cp.apiKey }, 'createApiKey', {
    name: 'reader',
    role: 'READ_ONLY',
  });
  const { body: listed } = await cp.api('GET', '/v1/deployment-triggers', undefined, {
    authorization: `Bearer ${reader.rawKey}`,
  });
  assert.equal(listed[0].webhookUrl, null);
  const gone = await cp.api('DELETE', `/v1/deployment-triggers/${trigger.id}`);
  assert.equal(gone.status, 204);
  assert.equal((await hook(event())).status, 404);
});

test('a test session of stored checks groups the errors of its runs, apart from those of the checks', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const { id } = await check(cp, { activated: false });
  const call = { name: 'Nightly', runLocation: location, target: { checkId: [id] } };
  const path = '/v1/test-sessions/trigger';
  assert.equal((await cp.api('POST', path, call)).status, 404);
  const session = await made(cp, path, {
    ...call,
    target: { checkId: [id], allowDeactivated: true },
    metadata: { environment: 'staging', branchName: 'main' },
  });
  assert.deepEqual(session['metadata'], { environment: 'staging', branchName: 'main' });
  const [job] = (await agent.checkIn()).jobs;
  assert.ok(job);
  await agent.submit(
    resultOfJob(job, {
      ...{ hasFailures: true, errorMessages: ['the answer was 500'] },
      ...{ startedAt: Date.now(), stoppedAt: Date.now() },
    } as never),
  );
  const at = `/v1/test-sessions/${String(session['testSessionId'])}`;
  const { body: ended } = await cp.api('GET', `${at}/completion`);
  assert.equal(ended['status'], 'FAILED');
  const [result] = ended['results'] as [Record<string, string>];
  assert.ok(Date.parse(result['startedAt'] ?? '') <= Date.parse(result['stoppedAt'] ?? ''));
  const detail = await cp.api('GET', `${at}/results/${String(result['testSessionResultId'])}`);
  assert.equal(detail.body['testSessionResultId'], result['testSessionResultId']);
  assert.equal(detail.body['status'], 'FAILED');
  const { body: groups } = await cp.api('GET', '/v1/test-session-error-groups');
  const [group] = groups as [Record<string, unknown>];
  assert.deepEqual([group['id']], ended['errorGroupIds']);
  assert.deepEqual(group['environments'], ['staging']);
  assert.match(String(group['cleanedErrorMessage']), /the answer was/);
  assert.deepEqual((await cp.api('GET', '/v1/error-groups')).body, []);
  const { body: sessions } = await cp.api('GET', '/v1/test-sessions');
  assert.deepEqual(sessions['entries'][0].errorGroupIds, ended['errorGroupIds']);
  const one = `/v1/test-session-error-groups/${String(group['id'])}`;
  const archived = await cp.api('PATCH', one, { archiveForEver: true });
  assert.equal(archived.status, 200);
  assert.deepEqual((await cp.api('GET', '/v1/test-session-error-groups')).body, []);
  assert.equal((await cp.api('GET', one)).body['id'], group['id']);
  const asked = await cp.api(
    'POST',
    `/v1/root-cause-analyses/test-session-error-groups/${String(group['id'])}`,
    {},
  );
  assert.equal(asked.status, 202);
  const { body: analysed } = await cp.api('GET', one);
  assert.equal(analysed['rootCauseAnalyses'][0].id, asked.body['id']);
  const project = `/v1/test-session-error-groups/projects/${randomUUID()}`;
  assert.equal((await cp.api('GET', project)).status, 404);
});

/** Made up for this test; in parts, so that nobody takes them for real ones. */
const token = `ghp_${'aB3'.repeat(12)}`;
const password = `Tr0ub4dor-${'9xQ'.repeat(4)}`;

test('a secret scan names where credentials stand readable, and never the credentials', async () => {
  const { cp } = await setUp();
  await using _cp = cp;
  const pair = (key: string, value: string, locked = false) => ({ key, value, locked });
  const api = await made(cp, '/v1/checks/api', {
    name: 'api',
    request: {
      ...{ method: 'GET', url: 'https://a.example/?page=1' },
      headers: [pair('accept', 'text/html'), pair('authorization', `Bearer ${token}`)],
      queryParameters: [pair('api_key', password, true)],
    },
    environmentVariables: [pair('API_TOKEN', '{{TOKEN}}'), pair('DB_PASSWORD', password)],
  });
  const group = await made(cp, '/v2/check-groups', {
    ...{ name: 'g', environmentVariables: [{ ...pair('API_SECRET', password), secret: true }] },
  });
  const snippet = await made(cp, '/v1/snippets', { name: 's', script: `go('${token}');` });
  await made(cp, '/v1/alert-channels', {
    type: 'SLACK',
    config: { url: `https://hooks.slack.com/services/${'T0/B1'.repeat(6)}` },
  });
  await cp.api('POST', '/v1/variables', { key: 'DEPLOY_TOKEN', value: password });
  await cp.api('POST', '/v1/variables', { key: 'REGION', value: 'eu-west-1' });
  const { body, status, headers } = await cp.api('GET', '/v1/secret-scans');
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(headers.get('content-range'), 'items 0-3/4');
  const found = (body as Record<string, unknown>[]).map((one) => [
    ...[one['entityType'], one['entityId'], one['fieldPath'], one['fieldKey']],
  ]);
  assert.deepEqual(found.toSorted(), [
    ['CHECK', api.id, 'environmentVariables[1].value', 'DB_PASSWORD'],
    ['CHECK', api.id, 'request.headers[1].value', 'authorization'],
    ['ENVIRONMENT_VARIABLE', 'DEPLOY_TOKEN', 'value', 'DEPLOY_TOKEN'],
    ['SNIPPET', String(snippet.id), 'script', null],
  ]);
  const text = JSON.stringify(body);
  for (const secret of [token, password]) assert.ok(!text.includes(secret.slice(0, 8)), text);
  assert.ok(group.id);
  const tokens = Array.from({ length: 1_200 }, (_, at) => `go('${token}${at}');`).join('\n');
  await made(cp, '/v1/snippets', { name: 'many', script: tokens });
  const many = await cp.api('GET', '/v1/secret-scans');
  assert.equal(many.body.length, 1_000);
  assert.equal(many.headers.get('content-range'), 'items 0-999/1204', 'nothing is left out unsaid');
  const reader = await callOperation({ url: cp.url, key: cp.apiKey }, 'createApiKey', {
    name: 'reader',
    role: 'READ_ONLY',
  });
  const refused = await cp.api('GET', '/v1/secret-scans', undefined, {
    authorization: `Bearer ${reader.rawKey}`,
  });
  assert.equal(refused.status, 403);
});

test('a value that the guide names as refused is refused, with the name of its field', async () => {
  const { cp } = await setUp();
  await using _cp = cp;
  const variables = Array.from({ length: 51 }, (_, index) => ({ key: `V${index}`, value: 'v' }));
  const proto = 'syntax = "proto3"; message A {} service S { rpc Put(stream A) returns (A); }';
  const grpc = (config: object) => ({
    ...{ name: 'g', locations: [location] },
    request: { url: 'a.example', port: 443, grpcConfig: { mode: 'BEHAVIOR', ...config } },
  });
  const byFile = { serviceDefinition: 'PROTO_FILE', method: 'S/Put', protoContent: proto };
  const api = { name: 'a', request: { method: 'GET', ...url } };
  const tcp = { name: 't', request: { hostname: 'a.example', port: 443 } };
  for (const [path, body, field] of [
    ['grpc', grpc(byFile), 'request.grpcConfig.method'],
    ['grpc', grpc({ ...byFile, encoding: 'FLATBUFFERS' }), 'request.grpcConfig.encoding'],
    ['api', { ...api, maxResponseTime: 45_000 }, 'maxResponseTime'],
    ['tcp', { ...tcp, maxResponseTime: 5_001 }, 'maxResponseTime'],
    ['api', { ...api, retryStrategy: { type: 'NO_RETRIES' } }, 'retryStrategy.type'],
    ['api', { ...api, environmentVariables: variables }, 'environmentVariables'],
    ['api', { ...api, description: 'd'.repeat(501) }, 'description'],
    [
      'ssl',
      { name: 's', request: { sslConfig: { hostname: 'a.example' } }, frequency: 0 },
      'frequency',
    ],
  ] as const) {
    const answer = await cp.api('POST', `/v1/checks/${path}`, body);
    assert.equal(answer.status, 400, `${path} ${field}`);
    const { keys } = answer.body['attributes'] as { keys: string[] };
    assert.ok(
      keys.some((key) => key.startsWith(field.split('.')[0] ?? '')),
      `${field}: ${keys.join()}`,
    );
  }
});
