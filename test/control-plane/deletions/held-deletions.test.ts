/** What people delete can be undone for a minute, from anywhere; what API clients delete is gone at once. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { HeldDeletions } from '../../../control-plane/deletions/index.ts';
import { insertPerson } from '../../../control-plane/people/store.ts';
import type { BoundRoute } from '../../../control-plane/http/handlers.ts';
import {
  type Answer,
  passTime,
  startTestControlPlane,
  type TestControlPlane,
} from '../../support/control-plane.ts';
import { FakeAgent, resultOf } from '../../support/fake-agent.ts';
import { minute, now } from '../../support/results.ts';
import { deployed, projectOf, url } from '../../support/projects.ts';
import { TestClock } from '../../support/test-clock.ts';

const later = { prefer: 'respond-async' };

interface Listed {
  id: string;
  path: string;
  name: string;
  dueAt: string;
  problem: string | null;
}

async function bench() {
  const clock = new TestClock(now);
  const cp = await startTestControlPlane({ clock, requestsPerMinute: 0 });
  return { cp, clock, [Symbol.asyncDispose]: () => cp[Symbol.asyncDispose]() };
}

const holdDeletion = (cp: TestControlPlane, path: string) =>
  cp.api('DELETE', path, undefined, later);
const held = async (cp: TestControlPlane): Promise<Listed[]> =>
  (await cp.api('GET', '/v1/deletions')).body as Listed[];
const undo = async (cp: TestControlPlane, id = ''): Promise<Answer> =>
  cp.api('DELETE', `/v1/deletions/${id}`);

/** A check of a group, with a channel and a result. */
async function addCheck(cp: TestControlPlane) {
  const made = async (path: string, body: unknown) => (await cp.api('POST', path, body)).body.id;
  const groupId = await made('/v2/check-groups', { name: 'Shops' });
  const channelId = await made('/v1/alert-channels', {
    ...{ type: 'WEBHOOK', config: { name: 'a', url: 'https://hooks.example/' } },
  });
  const id = (await made('/v1/checks/url', {
    ...{ name: 'Shop', tags: ['a'], locations: ['eu-west-1'], groupId, frequency: 10 },
    alertChannelSubscriptions: [{ alertChannelId: channelId, activated: true }],
    request: { url: 'https://shop.example/' },
  })) as string;
  const agent = new FakeAgent(cp, await cp.locationKey('eu-west-1'));
  await agent.submit(resultOf(id, { scheduledFor: now, startedAt: now, stoppedAt: now + 20 }));
  return { id, groupId: Number(groupId), path: `/v1/checks/${id}`, agent };
}

/** Whether an agent that knows nothing yet gets the check. */
const isOn = async (agent: FakeAgent, id: string): Promise<boolean> => {
  agent.snapshot = null;
  const { upserts, jobs } = await agent.checkIn();
  return [...upserts.map((check) => check.id), ...jobs.map(({ check }) => check.id)].includes(id);
};

test('a held check runs no more, is nowhere, and comes back as it was', async () => {
  await using it = await bench();
  const { cp, clock } = it;
  const { id, groupId, path, agent } = await addCheck(cp);
  const seen = async () => {
    // The results of a check are read by its id until the minute is over.
    const paths = [path, '/v1/checks', '/v1/check-overview', '/v1/check-statuses'];
    const all = [...paths, `/v1/check-groups/${groupId}/checks`];
    return Promise.all(all.map(async (one) => [one, (await cp.api('GET', one)).body]));
  };
  assert.equal(await isOn(agent, id), true);
  const before = await seen();
  const answer = await holdDeletion(cp, path);
  assert.deepEqual(
    [answer.status, answer.headers.get('preference-applied')],
    [202, 'respond-async'],
  );
  assert.deepEqual(
    (await held(cp)).map(({ id: _id, ...rest }) => rest),
    [
      {
        ...{ path: `v1/checks/${id}`, name: 'Shop', problem: null },
        dueAt: new Date(now + minute).toISOString(),
      },
    ],
  );
  for (const [one, body] of await seen()) {
    assert.ok(!JSON.stringify(body).includes(`"${id}"`), `${one} still shows it`);
  }
  assert.equal(await isOn(agent, id), false, 'it runs no more');
  for (const method of ['GET', 'PUT']) {
    const refused = await cp.api(method, path, method === 'PUT' ? { name: 'x' } : undefined);
    assert.equal(refused.status, 404, method);
  }
  assert.equal((await holdDeletion(cp, path)).status, 404, 'it is deleted once');

  await passTime(clock, 50_000);
  const [deletion] = await held(cp);
  assert.equal((await undo(cp, deletion?.id)).status, 204);
  assert.equal(await isOn(agent, id), true, 'it runs again');
  assert.deepEqual(await seen(), before);
  await passTime(clock, 2 * minute);
  assert.equal((await cp.api('GET', path)).status, 200, 'it stays');
  assert.equal((await undo(cp, deletion?.id)).status, 404);
});

test('an inactive check comes back inactive, and what it uses is still there', async () => {
  await using it = await bench();
  const { cp } = it;
  const { path, groupId } = await addCheck(cp);
  const made = async (place: string, body: unknown) => (await cp.api('POST', place, body)).body.id;
  const policyId = await made('/v1/escalation-policies', {
    ...{ name: 'Night', steps: [{ delayMinutes: 5, alertChannelIds: [1] }] },
  });
  const locationId = await made('/v1/private-locations', { name: 'Here', slugName: 'here' });
  const changed = await cp.api('PUT', path, {
    ...{ activated: false, privateLocations: ['here'], useGlobalAlertSettings: false },
    alertSettings: { escalationPolicyId: policyId },
  });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  await holdDeletion(cp, path);
  const used = [
    `/v1/check-groups/${groupId}`,
    `/v1/escalation-policies/${policyId}`,
    `/v1/private-locations/${locationId}`,
  ];
  for (const one of used) {
    const refused = await cp.api('DELETE', one);
    assert.equal(refused.status, 409, one);
    assert.match(refused.body.message, /can be undone, see GET \/v1\/deletions/);
  }
  assert.equal((await undo(cp, (await held(cp))[0]?.id)).status, 204);
  const { body } = await cp.api('GET', path);
  assert.deepEqual([body.activated, body.groupId, body.tags], [false, groupId, ['a']]);
  assert.deepEqual(body.privateLocations, ['here']);
  await holdDeletion(cp, path);
  assert.equal((await cp.api('DELETE', path)).status, 204);
  for (const one of used) assert.equal((await cp.api('DELETE', one)).status, 204, one);
});

test('after the minute it is deleted, without anybody, and by whom stands in the audit log', async () => {
  await using it = await bench();
  const { cp, clock } = it;
  const { id, path } = await addCheck(cp);
  const { body: service } = await cp.api('POST', '/v1/status-pages/services', { name: 'Shop' });
  await holdDeletion(cp, path);
  await holdDeletion(cp, `/v1/status-pages/services/${service.id}`);
  const [first] = await held(cp);
  await passTime(clock, minute + 2_000);
  assert.deepEqual(await held(cp), []);
  assert.equal((await undo(cp, first?.id)).status, 404);
  const { db } = cp.controlPlane.services;
  assert.deepEqual(await db.selectFrom('checks').select('id').execute(), []);
  assert.equal((await cp.api('GET', `/v1/status-pages/services/${service.id}`)).status, 404);
  const { body: log } = await cp.api('GET', `/v1/audit-log?resourceId=${id}`);
  assert.deepEqual([log.entries[0].operation, log.entries[0].before.name], ['deleteCheck', 'Shop']);
});

test('a deletion that is refused after the minute says why, and can be put away', async () => {
  await using it = await bench();
  const { cp, clock } = it;
  const { groupId } = await addCheck(cp);
  await holdDeletion(cp, `/v1/check-groups/${groupId}`);
  await passTime(clock, minute + 2_000);
  const [refused] = await held(cp);
  assert.match(refused?.problem ?? '', /still has 1 check; move or delete them first/);
  assert.equal((await undo(cp, refused?.id)).status, 204);
  assert.deepEqual(await held(cp), []);
  assert.equal((await cp.api('GET', `/v1/check-groups/${groupId}`)).status, 200);
});

test('without the header everything is gone at once, also what was held', async () => {
  await using it = await bench();
  const { cp } = it;
  const { path } = await addCheck(cp);
  assert.equal((await cp.api('DELETE', path)).status, 204);
  assert.equal((await cp.api('GET', path)).status, 404);
  assert.equal((await cp.api('DELETE', path)).status, 404);
  await cp.api('POST', '/v1/variables', { key: 'TOKEN', value: 'a' });
  assert.equal((await holdDeletion(cp, '/v1/variables/TOKEN')).status, 202);
  assert.equal((await cp.api('GET', '/v1/variables/TOKEN')).status, 200);
  assert.equal((await cp.api('DELETE', '/v1/variables/TOKEN')).status, 204);
  assert.deepEqual(await held(cp), []);
});

test('what takes access away, or answers with a body, is deleted at once and nobody undoes it', async () => {
  await using it = await bench();
  const { cp } = it;
  const { body: key } = await cp.api('POST', '/v1/api-keys', { name: 'ci', role: 'READ_WRITE' });
  assert.equal((await holdDeletion(cp, `/v1/api-keys/${key.id}`)).status, 204);
  const { services } = cp.controlPlane;
  const personId = services.newId();
  for (const [id, role] of [
    [personId, 'READ_WRITE'],
    [services.newId(), 'OWNER'],
  ] as const) {
    const person = { id, email: `${role}@example.com`, name: role, passwordHash: null, now };
    await insertPerson(services.db, person);
    await services.db
      .insertInto('memberships')
      .values({ account_id: cp.accountId, person_id: id, role, created_at: now })
      .execute();
  }
  assert.equal((await holdDeletion(cp, `/v1/people/${personId}`)).status, 204);
  assert.equal((await cp.api('GET', `/v1/people/${personId}`)).status, 404);
  await deployed(cp, projectOf([url('One')]));
  const answer = await holdDeletion(cp, '/next/projects/shop');
  assert.deepEqual([answer.status, typeof answer.body], [200, 'object']);
  assert.deepEqual(await held(cp), []);
  assert.deepEqual((await cp.api('GET', '/v1/checks')).body, []);
});

test('no door starts a run of a held check', async () => {
  await using it = await bench();
  const { cp } = it;
  const { id, groupId, path } = await addCheck(cp);
  const made = async (place: string) => (await cp.api('POST', place)).body.token as string;
  const token = await made(`/v1/triggers/checks/${id}`);
  const ofGroup = await made(`/v1/triggers/check-groups/${groupId}`);
  await holdDeletion(cp, path);
  const none = {};
  const doors = [
    ['GET', `/checks/${id}/trigger/${token}`, undefined],
    ['GET', `/check-groups/${groupId}/trigger/${ofGroup}`, undefined],
    ['POST', '/v1/check-sessions/trigger', { target: { checkId: [id] } }],
    [
      'POST',
      `/v1/check-trials?checkId=${id}`,
      {
        checkType: 'URL',
        name: 'a',
        request: { url: 'https://a.example/' },
        locations: ['eu-west-1'],
      },
    ],
  ] as const;
  for (const [method, door, body] of doors) {
    const { status } = await cp.api(method, door, body, none);
    assert.equal(status, 404, door);
  }
  const { db } = cp.controlPlane.services;
  assert.deepEqual(await db.selectFrom('check_sessions').select('id').execute(), []);
});

test('a deletion that fails does not block the others, and is tried again', async () => {
  await using it = await bench();
  const { cp, clock } = it;
  const { db } = cp.controlPlane.services;
  const { path } = await addCheck(cp);
  for (const key of ['BROKEN', 'FORMER', 'SOUND']) {
    await cp.api('POST', '/v1/variables', { key, value: 'a' });
    await holdDeletion(cp, `/v1/variables/${key}`);
  }
  await holdDeletion(cp, path);
  const set = (key: string, fields: object) =>
    db.updateTable('held_deletions').set(fields).where('path', 'like', `%${key}`).execute();
  const row = await db
    .selectFrom('held_deletions')
    .select('input_json')
    .where('path', '=', 'v1/variables/BROKEN')
    .executeTakeFirstOrThrow();
  await set('BROKEN', { input_json: '{' });
  await set('FORMER', { operation: 'deleteFormer' });
  await set(path.slice(1), { problem: 'it was refused' });
  await passTime(clock, minute + 2_000);
  const problems = async () =>
    Object.fromEntries((await held(cp)).map((each) => [each.name, each.problem]));
  assert.deepEqual(await problems(), {
    BROKEN: null,
    FORMER: 'this version does not know deleteFormer',
  });
  assert.equal((await cp.api('GET', '/v1/variables/SOUND')).status, 404);
  assert.equal((await cp.api('GET', '/v1/variables/FORMER')).status, 200);
  assert.equal(
    (await cp.api('GET', path)).status,
    200,
    'what was refused comes back when it is forgotten',
  );
  await set('BROKEN', row);
  await passTime(clock, minute + 2_000);
  assert.deepEqual(Object.keys(await problems()), ['FORMER']);
});

test('what is postponed, or carried out already, is not carried out by another sweep', async () => {
  await using it = await bench();
  const { cp, clock } = it;
  const { services } = cp.controlPlane;
  for (const key of ['FIRST', 'SECOND']) {
    await cp.api('POST', '/v1/variables', { key, value: 'a' });
    await holdDeletion(cp, `/v1/variables/${key}`);
  }
  const at = (key: string, dueAt: number) =>
    services.db
      .updateTable('held_deletions')
      .set({ due_at: dueAt })
      .where('path', '=', `v1/variables/${key}`)
      .execute();
  await at('FIRST', now - 2);
  await at('SECOND', now - 1);
  const carriedOut: string[] = [];
  const answers: number[] = [];
  const deletions: HeldDeletions = new HeldDeletions(
    services,
    [
      {
        route: { operationId: 'deleteVariable' },
        handle: async ({ params }: { params: { key: string } }) => {
          carriedOut.push(params.key);
          if (carriedOut.length > 1) return;
          // Somebody deletes both once more, and another replica looks.
          for (const key of ['FIRST', 'SECOND']) {
            answers.push((await holdDeletion(cp, `/v1/variables/${key}`)).status);
          }
          await deletions.sweep();
          const [first] = (await held(cp)).filter(({ name }) => name === 'FIRST');
          answers.push((await undo(cp, first?.id)).status);
        },
      } as unknown as BoundRoute,
    ],
    () => undefined,
  );
  await deletions.sweep();
  assert.deepEqual(carriedOut, ['FIRST']);
  // What is being carried out cannot be undone, also when it was deleted once more.
  assert.deepEqual(answers, [202, 202, 404]);
  const left = await held(cp);
  assert.deepEqual(
    left.map(({ name, dueAt }) => [name, dueAt]),
    [['SECOND', new Date(clock.now() + minute).toISOString()]],
  );
});

test('a deployment takes back a check of its project whose deletion is held, and an export lists none', async () => {
  await using it = await bench();
  const { cp, clock } = it;
  const project = projectOf([url('One')]);
  await deployed(cp, project);
  const listed = async () =>
    ((await cp.api('GET', '/v1/checks')).body as { id: string; activated: boolean }[]).map(
      ({ id, activated }) => [id, activated],
    );
  const before = await listed();
  const path = `/v1/checks/${before[0]?.[0]}`;
  await holdDeletion(cp, path);
  const { body: exported } = await cp.api('GET', '/v1/projects/export');
  assert.ok(!JSON.stringify(exported).includes('"One"'));
  await deployed(cp, project);
  assert.deepEqual(await held(cp), []);
  assert.deepEqual(await listed(), before);
  await passTime(clock, minute + 2_000);
  assert.deepEqual(await listed(), before);
  await holdDeletion(cp, path);
  await deployed(cp, projectOf([]));
  assert.deepEqual(await listed(), []);
  assert.equal(
    (await undo(cp, (await held(cp))[0]?.id)).status,
    204,
    'there is nothing to bring back',
  );
  assert.deepEqual(await listed(), []);
});
