import assert from 'node:assert/strict';
import test from 'node:test';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import { TestClock } from '../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00.000Z');
const minute = 60_000;
const hour = 60 * minute;
const unknown = '11111111-1111-4111-8111-111111111111';
const at = (ms: number) => new Date(start + ms).toISOString();

async function createService(cp: TestControlPlane, name: string): Promise<{ id: string }> {
  const { body } = await cp.api('POST', '/v1/status-pages/services', { name });
  // Incidents name their services without what they follow.
  const { follows: _follows, stateOverride: _override, ...service } = body;
  return service;
}

/** An incident of one new service. */
async function createIncident(cp: TestControlPlane, more: object = {}) {
  const services = [await createService(cp, 'Search')];
  const { status, body } = await cp.api('POST', '/v1/status-pages/incidents', {
    name: 'Slow',
    severity: 'MINOR',
    services,
    incidentUpdates: [{ description: 'We look into it' }],
    ...more,
  });
  assert.equal(status, 201);
  return { incident: body, path: `/v1/status-pages/incidents/${body.id}` };
}

test('an incident is opened, followed, resolved and re-opened', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { incident, path } = await createIncident(cp);
  const [first] = incident.incidentUpdates;
  assert.deepEqual(first, {
    description: 'We look into it',
    id: first.id,
    created_at: at(0),
    status: 'INVESTIGATING',
    publicIncidentUpdateDate: at(0),
    notifySubscribers: false,
  });
  assert.deepEqual(incident, {
    name: 'Slow',
    severity: 'MINOR',
    services: incident.services,
    id: incident.id,
    incidentUpdates: [first],
    lastUpdateStatus: 'INVESTIGATING',
    created_at: at(0),
    updated_at: null,
    duration: 0,
  });
  assert.equal(incident.services[0].name, 'Search');
  clock.advance(minute);
  assert.deepEqual((await cp.api('GET', path)).body, { ...incident, duration: minute });

  const updates = `${path}/incident-updates`;
  const resolve = { description: 'Over', status: 'RESOLVED', notifySubscribers: true };
  const resolved = await cp.api('POST', updates, resolve);
  assert.equal(resolved.status, 201);
  assert.equal(resolved.body.notifySubscribers, true);
  clock.advance(minute);
  await cp.api('POST', updates, resolve);
  let read = (await cp.api('GET', path)).body;
  assert.equal(read.duration, minute, 'a second RESOLVED does not make it longer');
  assert.deepEqual([read.lastUpdateStatus, read.updated_at], ['RESOLVED', at(2 * minute)]);

  await cp.api('POST', updates, { description: 'Again', status: 'MONITORING' });
  clock.advance(minute);
  read = (await cp.api('GET', path)).body;
  assert.deepEqual([read.lastUpdateStatus, read.duration], ['MONITORING', 3 * minute]);
  await cp.api('POST', updates, resolve);
  clock.advance(minute);
  read = (await cp.api('GET', path)).body;
  assert.deepEqual([read.lastUpdateStatus, read.duration], ['RESOLVED', 3 * minute]);
  assert.deepEqual(
    read.incidentUpdates.map(({ status }: { status: string }) => status),
    ['RESOLVED', 'MONITORING', 'RESOLVED', 'RESOLVED', 'INVESTIGATING'],
  );
  assert.deepEqual((await cp.api('GET', updates)).body, read.incidentUpdates);
});

test('an update is read, changed, moved in time and deleted; the last one stays', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { incident, path } = await createIncident(cp);
  const first = `${path}/incident-updates/${incident.incidentUpdates[0].id}`;
  const last = await cp.api('DELETE', first);
  assert.equal(last.status, 409);
  assert.equal(last.body.attributes.code, 'CONFLICT');

  const made = await cp.api('POST', `${path}/incident-updates`, {
    description: 'It began earlier',
    status: 'IDENTIFIED',
    publicIncidentUpdateDate: '2026-11-21T08:50:00+01:00',
  });
  assert.equal(made.body.publicIncidentUpdateDate, '2026-11-21T07:50:00.000Z');
  assert.equal(made.body.created_at, at(0));
  const second = `${path}/incident-updates/${made.body.id}`;
  assert.deepEqual((await cp.api('GET', second)).body, made.body);
  let read = (await cp.api('GET', path)).body;
  assert.deepEqual([read.lastUpdateStatus, read.duration], ['INVESTIGATING', 10 * minute]);

  clock.advance(minute);
  const changed = await cp.api('PUT', second, { status: 'RESOLVED' });
  assert.equal(changed.status, 200);
  assert.deepEqual(changed.body, { ...made.body, status: 'RESOLVED' });
  assert.equal((await cp.api('GET', path)).body.updated_at, at(minute));
  const moved = await cp.api('PUT', second, {
    description: 'Over',
    publicIncidentUpdateDate: at(30_000),
    notifySubscribers: true,
  });
  assert.deepEqual(moved.body, {
    ...made.body,
    description: 'Over',
    status: 'RESOLVED',
    publicIncidentUpdateDate: at(30_000),
    notifySubscribers: true,
  });
  const same = await cp.api('PUT', second, { publicIncidentUpdateDate: null });
  assert.deepEqual(same.body, moved.body);
  read = (await cp.api('GET', path)).body;
  assert.deepEqual([read.lastUpdateStatus, read.duration], ['RESOLVED', 30_000]);
  assert.equal((await cp.api('PUT', second, { status: 'OPEN' })).status, 400);
  for (const publicIncidentUpdateDate of ['yesterday', '0000-01-01T00:00:00+01:00']) {
    const body = { publicIncidentUpdateDate };
    assert.equal((await cp.api('PUT', second, body)).status, 400, publicIncidentUpdateDate);
  }

  clock.advance(minute);
  assert.equal((await cp.api('DELETE', first)).status, 204);
  assert.equal((await cp.api('GET', first)).status, 404);
  assert.equal((await cp.api('GET', path)).body.updated_at, at(2 * minute));
  assert.equal((await cp.api('DELETE', second)).status, 409);
});

test('a change replaces what it names, and PATCH nothing else', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { incident, path } = await createIncident(cp);
  const login = await createService(cp, 'Login');
  clock.advance(minute);
  const patched = await cp.api('PATCH', path, { severity: 'CRITICAL' });
  assert.equal(patched.status, 200);
  assert.deepEqual(patched.body, {
    ...incident,
    severity: 'CRITICAL',
    updated_at: at(minute),
    duration: minute,
  });
  const services = [login, { id: login.id }];
  const put = await cp.api('PUT', path, { name: 'Down', severity: 'MAJOR', services });
  assert.equal(put.status, 200);
  assert.deepEqual(put.body, {
    ...patched.body,
    name: 'Down',
    severity: 'MAJOR',
    services: [login],
  });
  const back = await cp.api('PATCH', path, { name: 'Up?', services: incident.services });
  assert.deepEqual([back.body.name, back.body.services], ['Up?', incident.services]);
  assert.equal((await cp.api('DELETE', `/v1/status-pages/services/${login.id}`)).status, 204);

  for (const body of [{ name: 'x', severity: 'MAJOR' }, { name: 'x', services }, { services }]) {
    assert.equal((await cp.api('PUT', path, body)).status, 400);
  }
  for (const body of [{ services: [] }, { name: 'x'.repeat(256) }, { severity: 'LOW' }]) {
    assert.equal((await cp.api('PATCH', path, body)).status, 400);
  }
  const { id } = incident.services[0];
  assert.equal((await cp.api('DELETE', `/v1/status-pages/services/${id}`)).status, 204);
  assert.deepEqual((await cp.api('GET', path)).body.services, []);
});

test('what is scheduled has not happened yet', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { path } = await createIncident(cp);
  const updates = `${path}/incident-updates`;
  const later = { description: 'Over', status: 'RESOLVED', publicIncidentUpdateDate: at(hour) };
  assert.equal((await cp.api('POST', updates, later)).status, 201);
  clock.setWall(start + minute);
  let read = (await cp.api('GET', path)).body;
  assert.deepEqual([read.lastUpdateStatus, read.duration], ['INVESTIGATING', minute]);
  assert.deepEqual(
    read.incidentUpdates.map(({ status }: { status: string }) => status),
    ['RESOLVED', 'INVESTIGATING'],
    'who manages incidents sees what is to come',
  );
  clock.setWall(start + 2 * hour);
  read = (await cp.api('GET', path)).body;
  assert.deepEqual([read.lastUpdateStatus, read.duration], ['RESOLVED', hour]);

  const announced = await createIncident(cp, {
    incidentUpdates: [
      { description: 'Soon', publicIncidentUpdateDate: at(3 * hour), status: 'IDENTIFIED' },
      { description: 'Over', publicIncidentUpdateDate: at(4 * hour), status: 'RESOLVED' },
    ],
  });
  const { lastUpdateStatus, duration } = announced.incident;
  assert.deepEqual([lastUpdateStatus, duration], ['IDENTIFIED', 0]);
});

test('services that the account does not have are refused by name', async () => {
  await using cp = await startTestControlPlane({ clock: new TestClock(start) });
  const foreign = { authorization: `Bearer ${await cp.foreignKey()}` };
  const { body: theirs } = await cp.api(
    'POST',
    '/v1/status-pages/services',
    { name: 'Theirs' },
    foreign,
  );
  const { incident, path } = await createIncident(cp);
  for (const id of [unknown, theirs.id]) {
    const services = [...incident.services, { id }];
    const body = { name: 'x', severity: 'MAJOR', services };
    const incidentUpdates = [{ description: 'x' }];
    for (const answer of [
      await cp.api('POST', '/v1/status-pages/incidents', { ...body, incidentUpdates }),
      await cp.api('PUT', path, body),
      await cp.api('PATCH', path, { services }),
    ]) {
      assert.equal(answer.status, 400);
      assert.deepEqual(answer.body.attributes.issues, [
        { path: 'services', message: `has no service ${id}` },
      ]);
    }
  }
  assert.equal((await cp.api('GET', path)).body.updated_at, null);
  const whole = { name: 'x', severity: 'MAJOR', services: incident.services };
  for (const incidentUpdates of [
    undefined,
    [],
    [{ status: 'RESOLVED' }],
    [{ description: 'x', publicIncidentUpdateDate: '9999-12-31T23:00:00-02:00' }],
  ]) {
    const body = { ...whole, incidentUpdates };
    assert.equal((await cp.api('POST', '/v1/status-pages/incidents', body)).status, 400);
  }
  assert.equal((await cp.api('GET', '/v1/status-pages/incidents')).body.length, 1);
});

test('all updates count for the duration, and the latest hundred are shown', async () => {
  const clock = new TestClock(start + 100 * minute);
  await using cp = await startTestControlPlane({ clock });
  const many = Array.from({ length: 100 }, (_, index) => ({
    description: `update ${index}`,
    publicIncidentUpdateDate: at(index * minute),
  }));
  const { path } = await createIncident(cp, { incidentUpdates: many });
  const other = await createIncident(cp);
  await cp.api('POST', `${path}/incident-updates`, {
    description: 'Over',
    status: 'RESOLVED',
    publicIncidentUpdateDate: at(100 * minute),
  });
  const { body } = await cp.api('GET', path);
  assert.equal(body.incidentUpdates.length, 100);
  assert.equal(body.incidentUpdates[0].description, 'Over');
  assert.equal(body.incidentUpdates[99].description, 'update 1');
  assert.deepEqual([body.lastUpdateStatus, body.duration], ['RESOLVED', 100 * minute]);
  assert.deepEqual((await cp.api('GET', `${path}/incident-updates`)).body, body.incidentUpdates);
  const list = (await cp.api('GET', '/v1/status-pages/incidents')).body.entries;
  assert.deepEqual(list, [other.incident, body]);
});

test('unknown incidents do not exist', async () => {
  await using cp = await startTestControlPlane({ clock: new TestClock(start) });
  const { incident, path } = await createIncident(cp);
  const other = await createIncident(cp);
  const updateId = incident.incidentUpdates[0].id;
  const nothing = `/v1/status-pages/incidents/${unknown}`;
  const updates = `${nothing}/incident-updates`;
  for (const [method, url, body] of [
    ['PATCH', nothing, {}],
    ['GET', updates],
    ['POST', updates, { description: 'x' }],
    ['GET', `${updates}/${updateId}`],
    ['PUT', `${updates}/${updateId}`, {}],
    ['DELETE', `${updates}/${updateId}`],
  ] as const) {
    assert.equal((await cp.api(method, url, body)).status, 404, `${method} ${url}`);
  }
  for (const base of [`${other.path}/incident-updates/${updateId}`, `${path}/incident-updates/x`]) {
    assert.equal((await cp.api('GET', base)).status, 404);
    assert.equal((await cp.api('PUT', base, {})).status, 404);
    assert.equal((await cp.api('DELETE', base)).status, 404);
  }

  assert.equal((await cp.api('DELETE', path)).status, 204);
  assert.equal((await cp.api('GET', path)).status, 404);
  const { db } = cp.controlPlane.services;
  const left = await db.selectFrom('incident_updates').select('incident_id').execute();
  assert.deepEqual(left, [{ incident_id: other.incident.id }]);
});

test('an update of a page is deleted by the address of the specification too', async () => {
  await using cp = await startTestControlPlane({ clock: new TestClock(start) });
  const { incident, path } = await createIncident(cp);
  const { body: second } = await cp.api('POST', `${path}/incident-updates`, {
    description: 'Found it',
    status: 'IDENTIFIED',
  });
  const address = `/v1/incidents/${incident.id}/updates/${second.id}`;
  assert.equal((await cp.api('DELETE', address)).status, 204);
  assert.equal((await cp.api('DELETE', address)).status, 404);
  const last = `/v1/incidents/${incident.id}/updates/${incident.incidentUpdates[0].id}`;
  assert.equal((await cp.api('DELETE', last)).status, 409);
});
