import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import type { CertificateSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import type { SeenCertificate } from '../../control-plane/alerting/alert-on-certificate.ts';
import { watchCertificates } from '../../control-plane/certificates/watch-certificates.ts';
import { startTestControlPlane } from '../support/control-plane.ts';
import { FakeAgent, resultOf } from '../support/fake-agent.ts';
import { TestClock } from '../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

function seen(checkId: string, fields: Partial<CertificateSubmission> = {}): CertificateSubmission {
  return {
    ...{ kind: 'certificate', id: randomUUID(), checkId, host: 'a.example', port: 443 },
    ...{ measuredAt: start, validFrom: start - 30 * day, validTo: start + 40 * day },
    ...{ issuer: 'CN=Authority', subject: 'CN=a.example', fingerprint256: 'AA', problem: null },
    ...fields,
  };
}

async function setUp(fields: Record<string, unknown> = {}) {
  const clock = new TestClock(start);
  const cp = await startTestControlPlane({ clock });
  const agent = new FakeAgent(cp, await cp.locationKey('eu-west-1'));
  await agent.checkIn();
  const { body } = await cp.api('POST', '/v1/checks/url', {
    name: 'shop',
    locations: ['eu-west-1'],
    frequency: 10,
    request: { url: 'https://a.example/health' },
    ...fields,
  });
  const id = (body as { id: string }).id;
  /** `sslDaysRemaining` as the status of the check and the list of statuses have it. */
  const days = async (): Promise<number | null> => {
    const one = (await cp.api('GET', `/v1/check-statuses/${id}`)).body;
    const all = (await cp.api('GET', '/v1/check-statuses')).body;
    assert.equal(one.sslDaysRemaining, all[0].sslDaysRemaining);
    return one.sslDaysRemaining as number | null;
  };
  const told: SeenCertificate[] = [];
  /** Lets the timer run once, with alerting listened to. */
  const watch = async (): Promise<void> => {
    await watchCertificates(cp.controlPlane.services, (_services, _db, news) => {
      told.push(news);
      return Promise.resolve(true);
    });
  };
  const outcome = async (item: CertificateSubmission, by = agent) =>
    (await by.submit(item))[0]?.outcome;
  return { clock, cp, agent, id, days, told, watch, outcome };
}

test('agents get the targets whose certificates they read', async () => {
  const { cp, agent, id } = await setUp();
  await using _cp = cp;
  const target = async () => {
    const { upserts } = await agent.checkIn();
    return upserts.find((check) => check.id === id)?.certificateTarget;
  };
  assert.deepEqual(await target(), { host: 'a.example', port: 443, servername: 'a.example' });
  await cp.api('PUT', `/v1/checks/url/${id}`, { request: { url: 'http://a.example' } });
  assert.equal(await target(), null);
  await cp.api('PUT', `/v1/checks/url/${id}`, { sslCheckDomain: 'b.example:8443' });
  assert.deepEqual(await target(), { host: 'b.example', port: 8443, servername: 'b.example' });
});

test('the status of a check shows the days its certificate is good for, as they go by', async () => {
  const { clock, cp, agent, id, days, watch } = await setUp();
  await using _cp = cp;
  await agent.submit(resultOf(id));
  assert.equal(await days(), null);
  const first = seen(id, { validTo: start + 40 * day + hour });
  assert.equal((await agent.submit(first))[0]?.outcome, 'accepted');
  for (const [after, expected] of [
    [0, 40],
    [hour, 40],
    [hour + 1, 39],
    [day + hour, 39],
    [day + hour + 1, 38],
    [40 * day + hour + 1, -1],
  ] as const) {
    clock.setWall(start + after);
    await watch();
    assert.equal(await days(), expected);
  }
  await agent.submit(seen(id, { measuredAt: clock.now(), validTo: clock.now() - hour }));
  assert.equal(await days(), -1);
  await agent.submit(resultOf(id, { scheduledFor: clock.now(), startedAt: clock.now() }));
  assert.equal(await days(), -1, 'a result leaves it as it is');
});

test('a certificate that is seen before the first result is shown with it', async () => {
  const { cp, agent, id, days } = await setUp();
  await using _cp = cp;
  await agent.submit(seen(id));
  await agent.submit(resultOf(id));
  assert.equal(await days(), 40);
});

test('the newest certificate counts, however often and in which order they come', async () => {
  const { clock, cp, id, days, agent, outcome } = await setUp();
  await using _cp = cp;
  await agent.submit(resultOf(id));
  clock.advance(2 * hour);
  const newer = seen(id, { measuredAt: start + hour, validTo: start + 90 * day });
  assert.equal(await outcome(newer), 'accepted');
  assert.equal(await outcome(newer), 'duplicate');
  assert.equal(await outcome(seen(id)), 'duplicate');
  assert.equal(await days(), 89);
  const ahead = seen(id, { measuredAt: start + day, validTo: start + 50 * day });
  assert.equal(await outcome(ahead), 'accepted', 'the clock of an agent may be ahead');
  clock.advance(hour);
  assert.equal(await outcome(seen(id, { measuredAt: clock.now() })), 'accepted');
  assert.equal(await days(), 39);
});

test('where servers differ by location, the certificate that expires first counts', async () => {
  const locations = ['eu-west-1', 'us-east-1'];
  const { cp, agent, id, days, outcome } = await setUp({ locations });
  await using _cp = cp;
  const far = new FakeAgent(cp, await cp.locationKey('us-east-1'));
  await agent.submit(resultOf(id));
  await outcome(seen(id, { validTo: start + 5 * day, fingerprint256: 'BB' }));
  await outcome(seen(id, { validTo: start + 80 * day }), far);
  assert.equal(await days(), 5);
  await cp.api('PUT', `/v1/checks/url/${id}`, { locations: ['us-east-1'] });
  assert.equal(await days(), 80);
});

test('what was seen of another server is dropped, and what comes late about it refused a place', async () => {
  const { cp, agent, id, days, outcome } = await setUp();
  await using _cp = cp;
  await agent.submit(resultOf(id));
  await outcome(seen(id));
  await cp.api('PUT', `/v1/checks/url/${id}`, { name: 'renamed' });
  assert.equal(await days(), 40);
  await cp.api('PUT', `/v1/checks/url/${id}`, { request: { url: 'https://b.example' } });
  assert.equal(await days(), null);
  assert.equal(await outcome(seen(id, { measuredAt: start })), 'late');
  assert.equal(await days(), null);
  assert.equal(await outcome(seen(id, { host: 'b.example' })), 'accepted');
  assert.equal(await days(), 40);
});

test('a key speaks for its own location and account alone', async () => {
  const { cp, agent, id, outcome } = await setUp();
  await using _cp = cp;
  const elsewhere = new FakeAgent(cp, await cp.locationKey('us-east-1'));
  assert.equal(await outcome(seen(id), elsewhere), 'late');
  assert.equal(await outcome(seen(randomUUID())), 'refused');
  const { services } = cp.controlPlane;
  await services.db.insertInto('accounts').values({ id: 'x', name: 'x', created_at: 0 }).execute();
  await services.db.updateTable('checks').set({ account_id: 'x' }).where('id', '=', id).execute();
  assert.equal(await outcome(seen(id)), 'refused');
  const bad = { ...seen(id), validTo: 'soon' };
  assert.equal((await agent.submit(bad))[0]?.outcome, 'refused');
  const unheardOf = { ...seen(randomUUID()), problem: 'a word of tomorrow' };
  assert.match((await agent.submit(unheardOf))[0]?.reason ?? '', /does not exist/);
});

test('alerting hears of each day that goes by, in time, and of nothing in between', async () => {
  const { clock, cp, agent, id, told, watch } = await setUp();
  await using _cp = cp;
  await agent.submit(resultOf(id));
  await agent.submit(seen(id, { validTo: start + 3 * day + 5 * minute }));
  for (let passed = 0; passed < 5 * day; passed += 20 * minute) {
    clock.setWall(start + passed);
    await watch();
  }
  assert.deepEqual(
    told.map(({ daysRemaining }) => daysRemaining),
    [2, 1, 0, -1, -2],
  );
  assert.deepEqual(told[0], {
    ...{ accountId: cp.accountId, checkId: id, domain: 'a.example' },
    ...{ expiresAt: start + 3 * day + 5 * minute, daysRemaining: 2 },
  });
});

test('the days of a deactivated check are counted without notifications', async () => {
  const { clock, cp, agent, id, days, told, watch } = await setUp();
  await using _cp = cp;
  await agent.submit(resultOf(id));
  await agent.submit(seen(id));
  await cp.api('PUT', `/v1/checks/url/${id}`, { activated: false });
  clock.setWall(start + 2 * day + 1);
  await watch();
  assert.deepEqual([await days(), told], [37, []]);
});

test('thousands of certificates that cross a day together are counted in portions', async () => {
  const { cp, id, told, watch } = await setUp();
  await using _cp = cp;
  const { db, newId } = cp.controlPlane.services;
  const check = await db.selectFrom('checks').selectAll().executeTakeFirstOrThrow();
  const place = await db.selectFrom('check_locations').selectAll().executeTakeFirstOrThrow();
  const period = await db.selectFrom('schedule_periods').selectAll().executeTakeFirstOrThrow();
  const status = await db.selectFrom('check_statuses').selectAll().executeTakeFirstOrThrow();
  for (let count = 0; count < 450; count += 1) {
    const checkId = newId();
    await db
      .insertInto('checks')
      .values({ ...check, id: checkId })
      .execute();
    await db
      .insertInto('check_locations')
      .values({ ...place, check_id: checkId })
      .execute();
    await db
      .insertInto('check_statuses')
      .values({ ...status, check_id: checkId })
      .execute();
    const { id: _id, ...schedule } = { ...period, check_id: checkId };
    await db.insertInto('schedule_periods').values(schedule).execute();
    await db
      .insertInto('check_certificates')
      .values({
        ...{ check_id: checkId, account_id: cp.accountId, location: 'eu-west-1' },
        ...{ host: 'a.example', port: 443, valid_from: 0, valid_to: start + day, issuer: '' },
        ...{ subject: '', fingerprint256: '', problem: null, measured_at: start, due_at: start },
      })
      .execute();
  }
  assert.equal(await watchCertificates(cp.controlPlane.services), true);
  await watch();
  await watch();
  assert.deepEqual([told.length, told.some(({ checkId }) => checkId === id)], [250, false]);
});
