import assert from 'node:assert/strict';
import test from 'node:test';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import { TestClock } from '../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00.000Z');
const unknown = '11111111-1111-4111-8111-111111111111';
const at = (ms: number) => new Date(start + ms).toISOString();

async function createDashboard(cp: TestControlPlane, body: object = {}) {
  const answer = await cp.api('POST', '/v1/dashboards', body);
  assert.equal(answer.status, 201);
  return { dashboard: answer.body, path: `/v1/dashboards/${answer.body.dashboardId}` };
}

async function createIncident(cp: TestControlPlane, more: object = {}) {
  const { dashboard } = await createDashboard(cp);
  const { status, body } = await cp.api('POST', '/v1/incidents', {
    name: 'Slow',
    dashboardId: dashboard.id,
    incidentUpdates: [{ description: 'We look into it' }],
    ...more,
  });
  assert.equal(status, 201);
  return { dashboard, incident: body, path: `/v1/incidents/${body.id}` };
}

test('a dashboard has defaults, and keeps what a change leaves out', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { dashboard, path } = await createDashboard(cp, { header: 'Shop', tags: ['web'] });
  assert.match(dashboard.dashboardId, /^[a-z0-9]{8}$/);
  assert.deepEqual(dashboard, {
    id: dashboard.id,
    dashboardId: dashboard.dashboardId,
    customUrl: null,
    customDomain: null,
    logo: null,
    favicon: null,
    link: null,
    header: 'Shop',
    description: null,
    width: 'FULL',
    refreshRate: 60,
    paginate: true,
    paginationRate: 60,
    checksPerPage: 15,
    useTagsAndOperator: false,
    hideTags: false,
    enableIncidents: false,
    expandChecks: false,
    tags: ['web'],
    showHeader: true,
    showCheckRunLinks: false,
    showGroupNames: true,
    customCSS: null,
    isPrivate: false,
    showP95: true,
    showP99: true,
    sortByStatus: false,
    keys: [],
    projectBindings: { owner: null, references: [] },
    created_at: at(0),
    updated_at: null,
  });
  const locked = await createDashboard(cp, { isPrivate: true });
  const [key, ...others] = locked.dashboard.keys;
  assert.match(key.rawKey, /^da_[0-9a-f]{64}$/);
  assert.deepEqual(others, []);
  const again = await cp.api('PUT', locked.path, { header: 'x' });
  assert.deepEqual(again.body.keys, [key]);
  const opened = await cp.api('PUT', path, { isPrivate: true });
  assert.match(opened.body.keys[0].maskedKey, /^da_…/);
  await cp.api('PUT', path, { isPrivate: false, keys: [] });
  const rows = await cp.controlPlane.services.db.selectFrom('dashboards').selectAll().execute();
  assert.ok(!JSON.stringify(rows).includes(key.rawKey));
  clock.advance(1_000);
  const changed = await cp.api('PUT', path, { customUrl: 'Shop-Board', width: '960PX' });
  assert.equal(changed.status, 200);
  assert.deepEqual(changed.body, {
    ...dashboard,
    customUrl: 'Shop-Board',
    width: '960PX',
    updated_at: at(1_000),
  });
  assert.deepEqual((await cp.api('GET', path)).body, changed.body);
  assert.equal((await cp.api('PUT', path, { customUrl: null })).body.customUrl, null);
  for (const wrong of [{ width: 'HALF' }, { checksPerPage: 21 }, { customDomain: 'a b' }]) {
    assert.equal((await cp.api('POST', '/v1/dashboards', wrong)).status, 400);
    assert.equal((await cp.api('PUT', path, wrong)).status, 400);
  }
  assert.equal((await cp.api('DELETE', path)).status, 204);
  assert.equal((await cp.api('GET', path)).status, 404);
});

test('a dashboard is found by its id, or by its address when the type says so', async () => {
  await using cp = await startTestControlPlane({ clock: new TestClock(start) });
  const foreign = { authorization: `Bearer ${await cp.foreignKey()}` };
  const address = { customUrl: 'Board', customDomain: 'Board.Example.com' };
  const { dashboard, path } = await createDashboard(cp, address);
  const byUrl = '/v1/dashboards/BOARD?type=customUrl';
  const byDomain = '/v1/dashboards/board.example.com?type=customDomain';
  for (const found of [path, byUrl, byDomain]) {
    assert.deepEqual((await cp.api('GET', found)).body, dashboard);
    assert.equal((await cp.api('GET', found, undefined, foreign)).status, 404);
  }
  for (const missing of [
    'board',
    `${dashboard.dashboardId}?type=customUrl`,
    'x?type=customDomain',
  ]) {
    assert.equal((await cp.api('GET', `/v1/dashboards/${missing}`)).status, 404, missing);
  }
  assert.equal((await cp.api('GET', `${path}?type=name`)).status, 400);
  for (const [missing, headers] of [
    [path, foreign],
    ['/v1/dashboards/zzzzzzzz', {}],
  ] as const) {
    assert.equal((await cp.api('PUT', missing, {}, headers)).status, 404);
    assert.equal((await cp.api('DELETE', missing, undefined, headers)).status, 404);
  }
  const { path: other } = await createDashboard(cp);
  const taken: [object, string][] = [
    [{ customUrl: 'bOARD' }, 'customUrl'],
    [{ customDomain: 'BOARD.example.com' }, 'customDomain'],
  ];
  for (const [body, field] of taken) {
    for (const answer of [
      await cp.api('POST', '/v1/dashboards', body),
      await cp.api('POST', '/v1/dashboards', body, foreign),
      await cp.api('PUT', other, body),
    ]) {
      assert.equal(answer.status, 409);
      assert.deepEqual(answer.body.attributes.keys, [field]);
    }
  }
  assert.equal((await cp.api('PUT', path, address)).status, 200);
});

test('an incident of a dashboard shows its newest update, or all when asked', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { incident, dashboard, path } = await createIncident(cp, {
    incidentUpdates: [{ description: 'one' }, { description: 'two', status: 'MAINTENANCE' }],
  });
  const [two, one] = incident.incidentUpdates;
  assert.deepEqual(incident, {
    id: incident.id,
    name: 'Slow',
    impact: 'MINOR',
    startedAt: at(0),
    stoppedAt: null,
    dashboardId: dashboard.id,
    incidentUpdates: [two, one],
    created_at: at(0),
    updated_at: null,
  });
  assert.deepEqual(one, {
    id: one.id,
    incidentId: incident.id,
    status: 'INVESTIGATING',
    description: 'one',
    created_at: at(0),
    updated_at: null,
  });
  assert.deepEqual([two.description, two.status], ['two', 'MAINTENANCE']);
  assert.deepEqual((await cp.api('GET', path)).body, { ...incident, incidentUpdates: [two] });
  const all = `${path}?includeAllIncidentUpdates=true`;
  assert.deepEqual((await cp.api('GET', all)).body, incident);
  assert.equal((await cp.api('GET', `${path}?includeAllIncidentUpdates=yes`)).status, 400);

  clock.advance(1_000);
  const stopped = await cp.api('PUT', `${path}?probe=x`, { impact: 'MAJOR', stoppedAt: at(500) });
  assert.equal(stopped.status, 200);
  assert.deepEqual(stopped.body, {
    ...incident,
    impact: 'MAJOR',
    stoppedAt: at(500),
    updated_at: at(1_000),
  });
  for (const wrong of [
    { impact: 'NONE' },
    { name: '' },
    { startedAt: at(501) },
    { stoppedAt: '0000-01-01T00:00:00+01:00' },
  ]) {
    assert.equal((await cp.api('PUT', path, wrong)).status, 400);
  }
  const again = await cp.api('PUT', path, { name: 'On', startedAt: at(600), stoppedAt: null });
  assert.deepEqual(
    [again.body.name, again.body.startedAt, again.body.stoppedAt],
    ['On', at(600), null],
  );
  assert.deepEqual((await cp.api('GET', all)).body, again.body);
});

test('updates of a dashboard incident are added, reworded and deleted', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { incident, path } = await createIncident(cp);
  clock.advance(1_000);
  const added = await cp.api('POST', `${path}/updates`, { description: 'x', status: 'RESOLVED' });
  assert.equal(added.status, 201);
  assert.deepEqual((await cp.api('GET', path)).body.incidentUpdates, [added.body]);
  clock.advance(1_000);
  const update = `${path}/updates/${added.body.id}`;
  const changed = await cp.api('PUT', update, { description: 'y', status: 'MONITORING' });
  assert.equal(changed.status, 200);
  assert.deepEqual(changed.body, { ...added.body, description: 'y', updated_at: at(2_000) });
  assert.equal((await cp.api('GET', path)).body.updated_at, at(2_000));
  assert.equal((await cp.api('PUT', update, {})).status, 400);
  assert.equal((await cp.api('POST', `${path}/updates`, { status: 'RESOLVED' })).status, 400);
  assert.equal((await cp.api('DELETE', update)).status, 204);
  assert.equal((await cp.api('DELETE', update)).status, 404);
  assert.equal((await cp.api('PUT', update, { description: 'z' })).status, 404);
  assert.deepEqual((await cp.api('GET', path)).body.incidentUpdates, incident.incidentUpdates);
});

test('unknown dashboards and incidents do not exist', async () => {
  await using cp = await startTestControlPlane({ clock: new TestClock(start) });
  const { incident, dashboard, path } = await createIncident(cp);
  const other = await createIncident(cp);
  const updateId = incident.incidentUpdates[0].id;
  const body = { name: 'x', incidentUpdates: [{ description: 'x' }] };
  const answer = await cp.api('POST', '/v1/incidents', {
    ...body,
    dashboardId: dashboard.id + 1_000,
  });
  assert.equal(answer.status, 400);
  assert.deepEqual(answer.body.attributes.keys, ['dashboardId']);
  for (const wrong of [
    { ...body },
    { ...body, dashboardId: dashboard.id, incidentUpdates: [] },
    { ...body, dashboardId: dashboard.id, startedAt: at(1), stoppedAt: at(0) },
  ]) {
    assert.equal((await cp.api('POST', '/v1/incidents', wrong)).status, 400);
  }
  const base = `/v1/incidents/${unknown}`;
  for (const [method, url, content] of [
    ['POST', `${base}/updates`, { description: 'x' }],
    ['PUT', `${base}/updates/${updateId}`, { description: 'x' }],
    ['DELETE', `${base}/updates/${updateId}`],
  ] as const) {
    assert.equal((await cp.api(method, url, content)).status, 404, `${method} ${url}`);
  }
  const crossed = `${other.path}/updates/${updateId}`;
  assert.equal((await cp.api('PUT', crossed, { description: 'x' })).status, 404);
  assert.equal((await cp.api('DELETE', crossed)).status, 404);

  assert.equal((await cp.api('DELETE', path)).status, 204);
  assert.equal((await cp.api('GET', path)).status, 404);
  const board = `/v1/dashboards/${other.dashboard.dashboardId}`;
  assert.equal((await cp.api('DELETE', board)).status, 204);
  assert.equal((await cp.api('GET', other.path)).status, 404);
  const { db } = cp.controlPlane.services;
  assert.deepEqual(await db.selectFrom('dashboard_incident_updates').selectAll().execute(), []);
});
