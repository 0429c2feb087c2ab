/** Test sessions: stored checks and checks of a project run once for a client that waits. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import type { Job } from '@monitor/shared/contract/agent-protocol.ts';
import { CodeBundleStore } from '../../../control-plane/checks/index.ts';
import { ownedObjects } from '../../../control-plane/results/index.ts';
import { forgetTestSessions } from '../../../control-plane/sessions/index.ts';
import {
  passTime,
  startTestControlPlane,
  type TestControlPlane,
} from '../../support/control-plane.ts';
import { FakeAgent, resultOfJob } from '../../support/fake-agent.ts';
import { isLeftOutOnPostgres } from '../../support/postgres.ts';
import { connectToBroker, topicsOf } from '../../support/result-client.ts';
import { TestClock } from '../../support/test-clock.ts';

const location = 'eu-west-1';
const types = ['URL', 'API', 'BROWSER'];

async function setUp() {
  const cp = await startTestControlPlane();
  const agent = new FakeAgent(cp, await cp.locationKey(location));
  await agent.checkIn(types, ['2025.04'], ['chromium']);
  return { cp, agent };
}

async function jobsOf(agent: FakeAgent): Promise<Job[]> {
  return (await agent.checkIn(types, ['2025.04'], ['chromium'])).jobs;
}

async function makeCheck(cp: TestControlPlane, fields: Record<string, unknown> = {}) {
  const { status, body } = await cp.api('POST', '/v1/checks/api', {
    ...{ name: 'shop', locations: ['us-east-1'], tags: ['web'] },
    request: { method: 'GET', url: 'https://a.example' },
    ...fields,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id as string;
}

const repoInfo = {
  ...{ repoUrl: 'https://git.example/shop', commitId: 'f00d', branchName: 'main' },
  ...{ commitOwner: 'Ada', commitMessage: 'Sells more' },
};

const call = (suiteId: string, fields: Record<string, unknown> = {}) => ({
  ...{ name: 'Nightly', checkRunSuiteId: suiteId, repoInfo, environment: 'staging' },
  ...{ shouldRecord: true, runLocation: { type: 'PUBLIC', region: location } },
  ...fields,
});

const job = (suiteId: string, fields: Record<string, unknown> = {}) => ({
  ...{ checkType: 'URL', logicalId: 'shop', name: 'Shop', frequency: 10 },
  ...{ request: { url: 'https://a.example/' }, groupId: { ref: 'group' } },
  sourceInfo: { checkRunSuiteId: suiteId, checkRunId: randomUUID(), updateSnapshots: false },
  filePath: '/checks/shop.check.ts',
  ...fields,
});

test('checks that are triggered by tag run once in the location that was asked for, and their results are sent', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const id = await makeCheck(cp);
  await makeCheck(cp, { name: 'other', tags: ['mail'] });
  await using client = await connectToBroker(cp.url, cp);
  const suiteId = randomUUID();
  await client.mqtt.subscribeAsync(topicsOf(cp.accountId, suiteId));
  const variables = [{ key: 'TARGET', value: 'blue' }];
  const { status, body } = await cp.api(
    'POST',
    '/next/test-sessions/trigger',
    call(suiteId, { targetTags: [['web']], environmentVariables: variables }),
  );
  assert.equal(status, 201, JSON.stringify(body));
  assert.deepEqual(
    body.checks.map((check: { id: string; name: string }) => [check.id, check.name]),
    [[id, 'shop']],
  );
  const [run, ...more] = await jobsOf(agent);
  assert.ok(run !== undefined);
  assert.equal(more.length, 0);
  assert.equal(run.runId, body.sequenceIds[id]);
  assert.notEqual(run.check.id, id);
  assert.deepEqual(run.check.locations, [location]);
  assert.equal(run.check.environment.find(({ key }) => key === 'TARGET')?.value, 'blue');
  const failed = { hasFailures: true, errorMessages: ['HTTP 500'], name: 'shop' };
  await agent.submit(resultOfJob(run, failed));
  const [end] = await client.ends(1);
  assert.equal(end?.sequenceId, run.runId);
  const { result, testResultId } = end.body;
  assert.deepEqual([result.hasFailures, result.hasErrors, result.name], [true, false, 'shop']);
  assert.equal(testResultId, body.testResultIds[id]);
  assert.ok(client.messages.some(({ kind }) => kind === 'run-start'));

  const path = `/v1/test-sessions/${body.testSessionId}`;
  const session = await cp.api('GET', `${path}/completion`);
  assert.equal(session.body.status, 'FAILED');
  assert.equal(session.body.metadata.branchName, 'main');
  assert.equal(session.body.results[0].checkId, id);
  assert.equal(session.body.errorGroupIds.length, 1);
  const read = await cp.api('GET', `${path}/results/${testResultId}`);
  assert.equal(read.body.hasFailures, true);
  const group = await cp.api(
    'GET',
    `/v1/test-session-error-groups/${session.body.errorGroupIds[0]}`,
  );
  assert.equal(group.body.rawErrorMessage, 'HTTP 500');
  const links = await cp.api('GET', `/next${path.slice(3)}/results/${testResultId}/links`);
  assert.match(links.body.testResultLink, /\/console\/#\/checks\//);
  const assets = await cp.api('GET', `${path}/results/${testResultId}/assets`);
  assert.deepEqual(assets.body.assets, []);
  const list = await cp.api('GET', '/v1/test-sessions?branches[]=main&statuses[]=FAILED');
  assert.deepEqual(
    list.body.entries.map((entry: { name: string; failed: string[] }) => [
      entry.name,
      entry.failed,
    ]),
    [['Nightly', ['shop']]],
  );
  assert.equal((await cp.api('GET', '/v1/test-sessions?branches[]=other')).body.length, 0);
});

test('a session counts in no status, alert or figure', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const id = await makeCheck(cp, { activated: true });
  await cp.api('POST', '/v1/alert-channels', {
    ...{ type: 'WEBHOOK', autoSubscribe: true },
    config: { name: 'hook', url: 'https://hooks.example/alerts' },
  });
  const path = '/next/test-sessions/trigger';
  const { body } = await cp.api('POST', path, call(randomUUID(), { checkId: [id] }));
  for (const run of await jobsOf(agent)) {
    await agent.submit(resultOfJob(run, { hasFailures: true, errorMessages: ['HTTP 500'] }));
  }
  await cp.api('GET', `/v1/test-sessions/${body.testSessionId}/completion`);
  for (const list of ['/v1/check-alerts', '/v1/alert-notifications', `/v1/check-results/${id}`]) {
    assert.deepEqual((await cp.api('GET', list)).body, [], list);
  }
  assert.equal((await cp.api('GET', `/v1/check-statuses/${id}`)).body, null);
  assert.equal((await cp.api('GET', '/v1/checks')).body.length, 1);
});

test('a trigger that matches nothing says so in the way that clients read', async () => {
  const { cp } = await setUp();
  await using _cp = cp;
  const response = await fetch(`${cp.url}/next/test-sessions/trigger`, {
    method: 'POST',
    headers: { authorization: `Bearer ${cp.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(call(randomUUID(), { targetTags: [['none']] })),
  });
  assert.equal(response.status, 403);
  assert.equal(
    ((await response.json()) as { errorCode: string }).errorCode,
    'ERR_NO_MATCHING_CHECKS',
  );
});

test('checks that are not stored run with their group, and leave nothing in the lists', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  await using client = await connectToBroker(cp.url, cp);
  const suiteId = randomUUID();
  await client.mqtt.subscribeAsync(topicsOf(cp.accountId, suiteId));
  const group = {
    ...{ name: 'Shops', v: 2, locations: ['us-east-1'], tags: ['x'] },
    apiCheckDefaults: { url: 'https://group.example', headers: [{ key: 'a', value: 'b' }] },
    environmentVariables: [{ key: 'OF_GROUP', value: 's3cr3t-of-the-group', secret: true }],
  };
  const script = "import './part.js';";
  const { status, body } = await cp.api('POST', '/v1/test-sessions/run', {
    ...{ name: 'shop', project: { logicalId: 'shop' }, repoInfo: null, environment: null },
    ...{ shouldRecord: true, streamLogs: false, refreshCache: false, runLocation: location },
    sharedFiles: [{ path: 'part.js', content: 'export {};' }],
    checkRunJobs: [
      job(suiteId),
      job(suiteId, {
        ...{ checkType: 'API', logicalId: 'api', name: 'Orders', group },
        request: { method: 'GET', url: '{{GROUP_BASE_URL}}/orders' },
      }),
      job(suiteId, {
        ...{ checkType: 'BROWSER', logicalId: 'visit', name: 'Visit', request: undefined, script },
        ...{ scriptPath: 'visit.spec.ts', dependencies: [0] },
      }),
    ],
  });
  assert.equal(status, 202, JSON.stringify(body));
  const scheduling = `/v1/test-sessions/scheduling/${body.schedulingId}/completion`;
  const scheduled = await cp.api('GET', scheduling);
  assert.deepEqual([scheduled.body.status, scheduled.body.checksTotal], ['SUCCEEDED', 3]);
  const runs = await jobsOf(agent);
  assert.equal(runs.length, 3);
  const api = runs.find(({ check }) => check.name === 'Orders')?.check;
  const values = Object.fromEntries(api?.environment.map((one) => [one.key, one.value]) ?? []);
  assert.equal(values['OF_GROUP'], 's3cr3t-of-the-group');
  assert.equal(values['GROUP_BASE_URL'], 'https://group.example');
  assert.deepEqual(api?.locations, [location]);
  const visit = runs.find(({ check }) => check.name === 'Visit')?.check.definition;
  assert.deepEqual(visit?.['dependencies'], [{ path: 'part.js', content: 'export {};' }]);
  for (const run of runs) await agent.submit(resultOfJob(run));
  const ends = await client.ends(3);
  assert.deepEqual(
    new Set(ends.map(({ sequenceId }) => sequenceId)),
    new Set(Object.values(body.sequenceIds)),
  );
  const done = await cp.api('GET', `/v1/test-sessions/${body.testSessionId}/completion`);
  assert.equal(done.body.status, 'PASSED');
  for (const list of ['/v1/checks', '/v1/check-groups', '/v1/check-overview']) {
    assert.deepEqual((await cp.api('GET', list)).body, [], list);
  }
  const { db } = cp.controlPlane.services;
  const stored = await db.selectFrom('checks').select('body_json').execute();
  assert.doesNotMatch(JSON.stringify(stored), /s3cr3t-of-the-group/);
});

test('a job that is wrong is named with the place in it, and nothing runs', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const wrong = await cp.api('POST', '/v1/test-sessions/run', {
    ...{ name: 'shop', runLocation: location },
    checkRunJobs: [job('s'), job('s', { logicalId: 'api', request: { url: 'nonsense' } })],
  });
  assert.equal(wrong.status, 400);
  assert.match(wrong.body.message, /^check "api": "checkRunJobs\.1\.request\.url"/);
  const nowhere = await cp.api('POST', '/v1/test-sessions/run', {
    ...{ name: 'shop', runLocation: { type: 'PRIVATE', slugName: 'moon', id: '1' } },
    checkRunJobs: [job('s')],
  });
  assert.deepEqual([nowhere.status, nowhere.body.attributes.keys], [400, ['runLocation']]);
  assert.deepEqual(await jobsOf(agent), []);
  assert.equal((await cp.api('GET', '/v1/test-sessions')).body.length, 0);
});

test('a cancelled session ends, and its client hears so', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  await using client = await connectToBroker(cp.url, cp);
  const suiteId = randomUUID();
  await client.mqtt.subscribeAsync(topicsOf(cp.accountId, suiteId));
  const { body } = await cp.api('POST', '/v1/test-sessions/run', {
    ...{ name: 'shop', runLocation: location },
    checkRunJobs: [job(suiteId), job(suiteId, { logicalId: 'other' })],
  });
  const path = `/v1/test-sessions/${body.testSessionId}`;
  const runs = await jobsOf(agent);
  assert.equal(runs.length, 2);
  assert.equal((await cp.api('POST', `${path}/cancel`)).status, 204);
  for (const run of runs) await agent.submit(resultOfJob(run, { isCancelled: true }));
  const done = await cp.api('GET', `${path}/completion`);
  assert.equal(done.body.status, 'CANCELLED');
  assert.deepEqual(
    (await client.ends(2)).map(
      ({ kind, body: message }) => kind === 'error' || message.result.isCancelled,
    ),
    [true, true],
  );
});

test('what a watched run prints is sent while it runs, to its own account, and twice only once', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  await using client = await connectToBroker(cp.url, cp);
  const suiteId = randomUUID();
  await client.mqtt.subscribeAsync(topicsOf(cp.accountId, suiteId));
  const start = (streamLogs: boolean) =>
    cp.api('POST', '/v1/test-sessions/run', {
      ...{ name: 'shop', runLocation: location, streamLogs },
      checkRunJobs: [job(suiteId)],
    });
  await start(true);
  const [run] = await jobsOf(agent);
  assert.equal(run?.streamsLogs, true);
  const lines = [{ timestamp: 1_700_000_000_000, message: 'half way' }];
  const piece = { agentId: agent.id, runId: run.runId, position: 0, lines };
  await agent.call('logs', piece, 204);
  await agent.call('logs', piece, 204);
  await agent.submit(resultOfJob(run));
  await client.ends(1);
  assert.deepEqual(
    client.messages.filter(({ kind }) => kind === 'stream-logs').map(({ body }) => body),
    [{ logs: lines }],
  );
  await agent.call('logs', { ...piece, position: 1 }, 404);
  await start(false);
  const [unwatched] = await jobsOf(agent);
  assert.equal(unwatched?.streamsLogs, undefined);
  await agent.call('logs', { ...piece, runId: unwatched?.runId }, 404);
  const foreign = new FakeAgent(cp, await cp.locationKey('us-east-1'));
  await foreign.call('logs', { ...piece, agentId: foreign.id }, 404);
});

test('a session without an agent in its location ends after 90 seconds, and says so', async () => {
  const clock = new TestClock(Date.parse('2026-11-21T08:00:00Z'));
  await using cp = await startTestControlPlane({ clock });
  const { body } = await cp.api('POST', '/v1/test-sessions/run', {
    ...{ name: 'shop', runLocation: location },
    checkRunJobs: [job('suite')],
  });
  const path = `/v1/test-sessions/${body.testSessionId}`;
  await passTime(clock, 80_000);
  assert.equal((await cp.api('GET', path)).body.status, 'RUNNING');
  await passTime(clock, 15_000);
  const { body: session } = await cp.api('GET', path);
  assert.equal(session.status, 'FAILED');
  assert.equal(session.results[0].error, `no agent serves ${location}`);
  const agent = new FakeAgent(cp, await cp.locationKey(location));
  assert.deepEqual((await agent.checkIn()).jobs, []);
  clock.advance(7 * 86_400_000);
  await forgetTestSessions(cp.controlPlane.services);
  assert.equal((await cp.api('GET', path)).status, 404);
  const { db } = cp.controlPlane.services;
  assert.deepEqual(await db.selectFrom('checks').select('id').execute(), []);
});

test('a session waits for an agent that left a moment ago', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  const clock = new TestClock(Date.parse('2026-11-21T08:00:00Z'));
  await using cp = await startTestControlPlane({ clock });
  const agent = new FakeAgent(cp, await cp.locationKey(location));
  await agent.checkIn(types, ['2025.04'], ['chromium']);
  const { body } = await cp.api('POST', '/v1/test-sessions/run', {
    ...{ name: 'shop', runLocation: location },
    checkRunJobs: [job('suite')],
  });
  const read = async () => (await cp.api('GET', `/v1/test-sessions/${body.testSessionId}`)).body;
  const other = new FakeAgent(cp, await cp.locationKey('us-east-1'));
  // The agent counts for some seconds more: it restarts, perhaps.
  await passTime(clock, 95_000);
  assert.equal((await read()).status, 'RUNNING');
  await other.checkIn(types, ['2025.04'], ['chromium']);
  await passTime(clock, 15_000);
  const said = `no agent serves ${location}; agents serve us-east-1`;
  assert.equal((await read()).results[0].error, said);
});

test('a session is settled however many others are open before it', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  const clock = new TestClock(Date.parse('2026-11-21T08:00:00Z'));
  await using cp = await startTestControlPlane({ clock });
  const { body } = await cp.api('POST', '/v1/test-sessions/run', {
    ...{ name: 'shop', runLocation: location },
    checkRunJobs: [job('suite')],
  });
  await passTime(clock, 85_000);
  const { db } = cp.controlPlane.services;
  const row = await db.selectFrom('test_sessions').selectAll().executeTakeFirstOrThrow();
  const before = { ...row, started_at: row.started_at - 1 };
  const more = Array.from({ length: 250 }, (_, index) => ({ ...before, id: `0${1_000 + index}` }));
  await db.insertInto('test_sessions').values(more).execute();
  await passTime(clock, 10_000);
  const { body: session } = await cp.api('GET', `/v1/test-sessions/${body.testSessionId}`);
  assert.equal(session.status, 'FAILED');
});

const startSession = (cp: TestControlPlane, jobs: number) =>
  cp.api('POST', '/v1/test-sessions/run', {
    ...{ name: 'shop', runLocation: location },
    checkRunJobs: Array.from({ length: jobs }, (_, index) => job('s', { logicalId: `${index}` })),
  });

test('an account has fifty open sessions', async () => {
  const { cp } = await setUp();
  await using _cp = cp;
  const answers = await Promise.all(Array.from({ length: 55 }, () => startSession(cp, 1)));
  const statuses = answers.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [...Array(50).fill(202), ...Array(5).fill(429)]);
  const { entries } = (await cp.api('GET', '/v1/test-sessions?limit=100')).body;
  await cp.api('POST', `/v1/test-sessions/${entries[0].id}/cancel`);
  assert.equal((await startSession(cp, 1)).status, 202);
});

test('a session has a thousand jobs', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  const { cp } = await setUp();
  await using _cp = cp;
  assert.equal((await startSession(cp, 1_001)).status, 400);
  const large = await startSession(cp, 1_000);
  assert.equal(large.status, 202);
  assert.equal(Object.keys(large.body.sequenceIds).length, 1_000);
});

test('results of a test runner stand beside those of agents, with its files', async () => {
  const { cp } = await setUp();
  await using _cp = cp;
  const created = await cp.api('POST', '/next/test-sessions/create', {
    ...{ name: 'CI', environment: 'test', startedAt: 1_795_638_147_042, provider: 'PW_REPORTER' },
    testResults: [{ name: 'shop' }],
  });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const { testSessionId, testResults } = created.body;
  const path = `/next/test-sessions/${testSessionId}/results/${testResults[0].testResultId}`;
  const ending = {
    ...{ status: 'FAILED', isDegraded: false, responseTime: 996 },
    ...{ startedAt: '2026-11-25T20:22:27.040Z', stoppedAt: '2026-11-25T20:22:28.036Z' },
    assetEntries: [{ name: 'logs.txt', start: 56, end: 2_229, compressionMethod: 8 }],
    metadata: { errors: [{ error: { message: 'expected 2' } }] },
  };
  const zip = Buffer.from('PK-not-unpacked-here');
  const uploaded = await fetch(`${cp.url}${path}/upload`, {
    ...{ method: 'POST', body: zip },
    headers: {
      authorization: `Bearer ${cp.apiKey}`,
      'content-type': 'application/octet-stream',
    },
  });
  assert.equal(uploaded.status, 201);
  const { url } = (await uploaded.json()) as { url: string };
  assert.deepEqual(Buffer.from(await (await fetch(url)).arrayBuffer()), zip);
  // Files that nothing names go within a day; this one is named.
  const { services } = cp.controlPlane;
  const parts = { ...services, objects: ownedObjects(services), quotaBytes: 0 };
  assert.equal(await new CodeBundleStore(parts).prune(Number.MAX_SAFE_INTEGER), 0);
  assert.equal((await fetch(`${url.slice(0, -2)}xx`)).status, 403);
  assert.equal((await cp.api('POST', path, ending)).status, 200);
  assert.equal((await cp.api('POST', path, { ...ending, status: 'PASSED' })).status, 200);
  const session = await cp.api('GET', `/v1/test-sessions/${testSessionId}`);
  assert.deepEqual([session.body.status, session.body.provider], ['FAILED', 'PW_REPORTER']);
  const read = `/v1${path.slice(5)}`;
  const result = await cp.api('GET', read);
  assert.deepEqual(result.body.metadata, ending.metadata);
  const assets = await cp.api('GET', `${read}/assets`);
  assert.deepEqual(
    assets.body.assets.map((one: { name: string }) => one.name),
    ['report.zip', 'logs.txt'],
  );
  const list = await cp.api('GET', '/v1/test-sessions?providers[]=PW_REPORTER');
  assert.deepEqual(list.body.entries[0].failed, ['shop']);
});
