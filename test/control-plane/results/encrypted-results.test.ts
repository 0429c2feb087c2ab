// PostgreSQL in the long tier: test-sessions.test.ts, alerting.test.ts, certificates.test.ts, agent-boundary.test.ts,
// baselines.test.ts, group-errors.test.ts and private-locations.test.ts run its statements on both.
/** What the control plane takes from agents of a location that has keys for results. */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import test from 'node:test';
import type {
  CheckInAnswer,
  ItemOutcome,
  ResultSubmission,
} from '@monitor/shared/contract/agent-protocol.ts';
import { createKeyFile } from '@monitor/shared/encryption/encryption.ts';
import { pino } from 'pino';
import { ResultEncryption } from '../../../agent/encryption/result-encryption.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { checkInOf, FakeAgent, resultOf } from '../../support/fake-agent.ts';
import { minute, now } from '../../support/results.ts';
import { TestClock } from '../../support/test-clock.ts';

interface Place {
  id: string;
  checkId: string;
  agent: FakeAgent;
  key: string;
  publicKey: string;
}

/** A private location with a check and an agent, and a public key that it may get. */
async function openPlace(cp: TestControlPlane): Promise<Place> {
  const made = await cp.api('POST', '/v1/private-locations', {
    name: 'Cellar',
    slugName: 'cellar',
  });
  const { id, keys } = made.body as { id: string; keys: [{ rawKey: string }] };
  const check = await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'shop', privateLocations: ['cellar'], frequency: 1 },
    request: { url: 'https://a.example' },
  });
  const { publicKey } = await createKeyFile(null);
  const { id: checkId } = check.body as { id: string };
  const key = keys[0].rawKey;
  return { id, checkId, agent: new FakeAgent(cp, key), key, publicKey };
}

async function switchOn(cp: TestControlPlane, { id, publicKey }: Place): Promise<void> {
  const changed = await cp.api('PUT', `/v1/private-locations/${id}`, {
    name: 'Cellar',
    resultEncryptionKeys: [{ name: 'operators', publicKey }],
  });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
}

/** A failed run with a word in everything that an agent may write. */
function failedRun({ checkId }: Place, at: number): ResultSubmission {
  return resultOf(checkId, {
    ...{ slotLocation: 'cellar', runLocation: 'cellar', hasFailures: true },
    ...{ scheduledFor: at, startedAt: at, stoppedAt: at + 20 },
    errorMessages: ['nightingale'],
    apiCheckResult: {
      ...{ assertions: [], requestError: 'nightingale', jobAssets: null, pcapDataUrl: null },
      ...{ networkDiagnostics: null, jobLog: { setup: [], request: [], teardown: [] } },
      request: { url: 'https://nightingale.internal' },
      response: { status: 503, timingPhases: { dns: 2, odd: 'nightingale' } },
    },
  });
}

async function encrypted(
  cp: TestControlPlane,
  { publicKey }: Place,
  plain: ResultSubmission,
): Promise<ResultSubmission> {
  const encryption = new ResultEncryption({
    pinned: [publicKey],
    clock: { monotonic: () => 0 },
    logger: pino({ level: 'silent' }),
  });
  const encrypter = await encryption.encrypterFor({
    ...{ accountId: cp.accountId, location: 'cellar', checkId: plain.checkId },
    ...{ resultId: plain.id, attempt: plain.attempt },
  });
  return encrypter?.result(plain) ?? assert.fail();
}

const outcomeOf = async (agent: FakeAgent, item: unknown): Promise<ItemOutcome> =>
  (await agent.submit(item))[0] ?? assert.fail();

/** Everything that the API says about the results of a check, and its error groups. */
async function allSaid(cp: TestControlPlane, checkId: string): Promise<string> {
  const results = await cp.api('GET', `/v1/check-results/${checkId}?resultType=ALL`);
  const groups = await cp.api('GET', '/v1/error-groups');
  return JSON.stringify([results.body, groups.body]);
}

test('results that come readable after all are recorded once, with verdict and metrics, and without content', async () => {
  const clock = new TestClock(now);
  await using cp = await startTestControlPlane({ clock });
  const place = await openPlace(cp);
  await switchOn(cp, place);
  // The agent was cut off all the time, and knows of no key.
  clock.advance(6 * 60 * minute);
  const plain = failedRun(place, clock.now() - minute);
  assert.equal((await outcomeOf(place.agent, plain)).outcome, 'accepted');
  assert.equal((await outcomeOf(place.agent, plain)).outcome, 'duplicate');
  assert.doesNotMatch(await allSaid(cp, place.checkId), /nightingale/);
  const { body } = await cp.api('GET', `/v1/check-results/${place.checkId}`);
  const [result, ...more] = body as Record<string, unknown>[];
  assert.equal(more.length, 0);
  assert.deepEqual(
    [result?.['hasFailures'], result?.['isPayloadDropped'], result?.['encryptedResult']],
    [true, true, { envelope: null, response: { status: 503, timingPhases: { dns: 2 } } }],
  );
  const alerts = await cp.api('GET', `/v1/check-statuses/${place.checkId}`);
  assert.equal(alerts.body.hasFailures, true);
});

test('files, names in certificates and live logs that come readable are not stored', async () => {
  const clock = new TestClock(now);
  await using cp = await startTestControlPlane({ clock });
  const place = await openPlace(cp);
  const { agent, checkId } = place;
  const sessions = await cp.api('POST', '/v1/test-sessions/run', {
    ...{ name: 'shop', streamLogs: true, runLocation: { type: 'PRIVATE', slugName: 'cellar' } },
    checkRunJobs: [
      {
        ...{ checkType: 'URL', logicalId: 'shop', name: 'Shop', frequency: 10 },
        ...{ request: { url: 'https://a.example/' }, filePath: '/checks/shop.check.ts' },
        sourceInfo: { checkRunSuiteId: randomUUID(), checkRunId: randomUUID() },
      },
    ],
  });
  assert.equal(sessions.status, 202, JSON.stringify(sessions.body));
  const job = (await agent.checkIn()).jobs.find(({ streamsLogs }) => streamsLogs === true);
  const body = Buffer.from('nightingale');
  const digest = createHash('sha256').update(body).digest('base64');
  const upload = async (): Promise<number> => {
    const path = `/v1/agent/artifacts/${before.id}/nightingale.txt`;
    const headers = { authorization: `Bearer ${place.key}`, digest: `sha-256=${digest}` };
    return (await fetch(`${cp.url}${path}`, { method: 'PUT', headers, body })).status;
  };
  const before = resultOf(checkId, {
    ...{ slotLocation: 'cellar', runLocation: 'cellar', scheduledFor: now - minute },
    ...{ startedAt: now - minute, stoppedAt: now - minute + 20 },
    artifacts: [
      {
        ...{ name: 'nightingale.txt', type: 'log', contentType: 'text/plain' },
        ...{ size: body.length, digest, withheld: null },
      },
    ],
  });
  assert.equal((await outcomeOf(agent, before)).outcome, 'accepted');
  const print = (message: string, position: number, status: number): Promise<unknown> => {
    const lines = [{ timestamp: now, message }];
    return agent.call('logs', { agentId: agent.id, runId: job?.runId, position, lines }, status);
  };
  await print('started', 0, 204);
  await switchOn(cp, place);
  assert.equal(await upload(), 409);
  await print('nightingale', 1, 404);
  const certificate = {
    ...{ kind: 'certificate', id: randomUUID(), checkId, host: 'a.example', port: 443 },
    ...{ measuredAt: now, validFrom: now - minute, validTo: now + 50 * 24 * 60 * minute },
    ...{ issuer: 'CN=nightingale', subject: 'CN=nightingale', fingerprint256: 'nightingale' },
    problem: null,
  };
  assert.equal((await outcomeOf(agent, certificate)).outcome, 'accepted');
  const { db } = cp.controlPlane.services;
  const stored = [
    await db.selectFrom('check_certificates').selectAll().execute(),
    await db.selectFrom('test_logs').selectAll().execute(),
  ];
  assert.equal(stored[0]?.length, 1);
  assert.doesNotMatch(JSON.stringify(stored), /nightingale/);
});

test('an encrypted result is stored with its metrics alone, and is refused with anything readable', async () => {
  const clock = new TestClock(now);
  await using cp = await startTestControlPlane({ clock });
  const place = await openPlace(cp);
  await switchOn(cp, place);
  clock.advance(10 * minute);
  const plain = failedRun(place, clock.now() - minute);
  const item = await encrypted(cp, place, plain);
  const envelope = item.encryptedResult?.envelope ?? assert.fail();
  const file = { type: 'log', size: 1, contentType: 'application/octet-stream', withheld: null };
  const hostile: [field: RegExp, fields: Record<string, unknown>][] = [
    [/^apiCheckResult: /, { apiCheckResult: plain.apiCheckResult }],
    [/^errorMessages: /, { errorMessages: ['nightingale'] }],
    [/^learnedScript: /, { learnedScript: { promptHash: 'a', script: 'nightingale' } }],
    [/^artifacts\.0: /, { artifacts: [{ ...file, name: 'nightingale.txt' }] }],
    [
      /^artifacts\.0: /,
      { artifacts: [{ ...file, name: 'file-0123456789abcdef', withheld: 'nightingale' }] },
    ],
    [
      /^encryptedResult\.envelope\.nonce: /,
      { encryptedResult: { envelope: { ...envelope, nonce: 'nightingale' }, metrics: {} } },
    ],
    [
      /^encryptedResult\.envelope\.recipients: /,
      { encryptedResult: { envelope: { ...envelope, recipients: [] }, metrics: {} } },
    ],
    [
      /^encryptedResult\.envelope\.ciphertext: has \d+ characters/,
      {
        encryptedResult: {
          envelope: { ...envelope, ciphertext: 'AAAA'.repeat(1_000_000) },
          metrics: {},
        },
      },
    ],
  ];
  for (const [reason, fields] of hostile) {
    const outcome = await outcomeOf(place.agent, { ...item, ...fields });
    assert.equal(outcome.outcome, 'refused', String(reason));
    assert.match(outcome.reason ?? '', reason);
  }
  const metrics = {
    note: 'nightingale',
    response: { status: 503, body: 'nightingale', timingPhases: { dns: 2, total: 'nightingale' } },
  };
  const outcome = await outcomeOf(place.agent, {
    ...item,
    encryptedResult: { envelope: { ...envelope, note: 'nightingale' }, metrics },
  });
  assert.equal(outcome.outcome, 'accepted', JSON.stringify(outcome));
  assert.doesNotMatch(await allSaid(cp, place.checkId), /nightingale/);
  const path = `/v1/check-results/${place.checkId}/${item.id}`;
  const approved = await cp.api('POST', `${path}/baselines`, {});
  assert.equal(approved.status, 409);
  assert.match(approved.body.message as string, /images of this result are encrypted/);
  const { body } = await cp.api('GET', path);
  const { encryptedResult, apiCheckResult } = body as Record<string, Record<string, unknown>>;
  assert.deepEqual(encryptedResult?.['response'], { status: 503, timingPhases: { dns: 2 } });
  assert.equal(apiCheckResult, null);
});

test('agents get the keys, and one that cannot encrypt gets no checks', async () => {
  const clock = new TestClock(now);
  await using cp = await startTestControlPlane({ clock });
  const place = await openPlace(cp);
  const { agent } = place;
  const checkIn = (agentId: string, encryptsResults: boolean): Promise<CheckInAnswer> => {
    const request = checkInOf({ agentId }, ['URL']);
    const capabilities = { ...request.capabilities, encryptsResults };
    return agent.call<CheckInAnswer>('check-in', { ...request, capabilities });
  };
  const old = '11111111-1111-4111-8111-111111111111';
  const able = '22222222-2222-4222-8222-222222222222';
  assert.equal((await checkIn(old, false)).upserts.length, 1);
  await switchOn(cp, place);
  const answer = await checkIn(old, false);
  assert.deepEqual([answer.full, answer.upserts], [true, []]);
  const taken = await checkIn(able, true);
  assert.equal(taken.upserts.length, 1);
  assert.deepEqual(taken.resultKeys, [place.publicKey]);
  const wrong = await cp.api('PUT', `/v1/private-locations/${place.id}`, {
    name: 'Cellar',
    resultEncryptionKeys: [{ name: 'x', publicKey: `rk1_${'B'.repeat(87)}` }],
  });
  assert.equal(wrong.status, 400);
  assert.match(JSON.stringify(wrong.body), /resultEncryptionKeys\[0\]\.publicKey/);
});
