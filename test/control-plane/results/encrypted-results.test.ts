/** What the control plane takes from agents of a location that has keys for results. */
import assert from 'node:assert/strict';
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
  return { id, checkId, agent: new FakeAgent(cp, keys[0].rawKey), publicKey };
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

test('readable results are refused once a location has keys, and runs in progress lose their content', async () => {
  const clock = new TestClock(now);
  await using cp = await startTestControlPlane({ clock });
  const place = await openPlace(cp);
  clock.advance(10 * minute);
  const before = clock.now() - 5 * minute;
  await switchOn(cp, place);
  const inProgress = await outcomeOf(place.agent, failedRun(place, before));
  assert.equal(inProgress.outcome, 'accepted', JSON.stringify(inProgress));
  clock.advance(10 * minute);
  const later = await outcomeOf(place.agent, failedRun(place, clock.now() - minute));
  assert.equal(later.outcome, 'refused');
  assert.match(later.reason ?? '', /^encryptedResult: is required, since cellar has keys/);
  const said = await allSaid(cp, place.checkId);
  assert.doesNotMatch(said, /nightingale/);
  assert.match(said, /"isPayloadDropped":true/);
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
      /^encryptedResult\.envelope\.salt: /,
      { encryptedResult: { envelope: { ...envelope, salt: 'nightingale' }, metrics: {} } },
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
  const { body } = await cp.api('GET', `/v1/check-results/${place.checkId}/${item.id}`);
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
