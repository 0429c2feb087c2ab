// Runs on both engines: alerts, incidents and locations after a window that silences.
import assert from 'node:assert/strict';
import test from 'node:test';
import { maxUpdates } from '@monitor/shared/contract/maintenance-window.ts';
import { evaluateDueAlerts } from '../../../control-plane/alerting/index.ts';
import { openLateIncidents } from '../../../control-plane/incidents/index.ts';
import { sweepHeartbeats } from '../../../control-plane/heartbeats/index.ts';
import { pruneMaintenance } from '../../../control-plane/maintenance/index.ts';
import { readWindows } from '../../../control-plane/status-pages/read-windows.ts';
import { isLeftOutOnPostgres } from '../../support/postgres.ts';
import { hour, iso, minute, now, setUp } from '../../support/results.ts';

const failed = { hasFailures: true, errorMessages: ['HTTP 500'] };

test('a heartbeat that fails in a silence is alerted as soon as the silence is over, however it ends', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  for (const [how, method, path, body, minutes] of [
    ['nothing', null, '', {}, 240],
    ['completed early', 'PATCH', '/occurrence', { status: 'COMPLETED' }, 1],
    ['cancelled', 'DELETE', '/occurrence', undefined, 1],
    ['deleted', 'DELETE', '', undefined, 1],
    ['shortened', 'PUT', '', { endsAt: iso(now + 61 * minute) }, 1],
    ['without the check', 'PUT', '', { silenceScope: {}, silenceAlertsTags: ['none'] }, 1],
    ['renamed', 'PUT', '', { name: 'other' }, 240],
  ] as const) {
    await using bench = await setUp({ requestsPerMinute: 0 });
    const { cp, clock } = bench;
    const { services } = cp.controlPlane;
    const { body: check } = await cp.api('POST', '/v1/checks/heartbeat', {
      ...{ name: 'nightly' },
      heartbeat: { period: 10, periodUnit: 'minutes', grace: 1, graceUnit: 'minutes' },
    });
    const { body: window } = await cp.api('POST', '/v1/maintenance-windows', {
      ...{ name: 'deploy', startsAt: iso(now + 2 * minute), endsAt: iso(now + 300 * minute) },
      silenceScope: { checkIds: [check.id] },
    });
    await fetch(check.heartbeat.pingUrl);
    const alerts = async () =>
      (await services.db.selectFrom('check_alerts').select('id').execute()).length;
    const after = async (step: number) => {
      clock.advance(step * minute);
      await sweepHeartbeats(services);
      await evaluateDueAlerts(services);
    };
    for (let passed = 0; passed < 60; passed += 5) await after(5);
    assert.equal(await alerts(), 0, how);
    const ofWindow = `/v1/maintenance-windows/${window.id}`;
    const occurrence = `${ofWindow}/maintenances/${window.id}-${now + 2 * minute}`;
    if (method !== null) {
      const done = await cp.api(method, path === '' ? ofWindow : occurrence, body);
      assert.match(String(done.status), /^20/, JSON.stringify(done.body));
    }
    await after(1);
    assert.equal(await alerts(), minutes === 1 ? 1 : 0, how);
    await after(minutes);
    assert.equal(await alerts(), 1, how);
  }
});

test('a failure that begins while published work suppresses incidents opens one at the end, if it lasts', async () => {
  const last = 60;
  for (const [how, from, until, resolved, ends, opened] of [
    ['before', -10, 90, null, null, [-10]],
    ['within and over', 10, 40, null, null, []],
    ['within and lasting', 10, 90, null, null, [last]],
    ['within, deleted early', 10, 90, null, 30, [30]],
    ['after', 70, 90, null, null, [70]],
    ['before, and a person resolved it', -10, 90, 20, null, [-10]],
  ] as const) {
    await using bench = await setUp({ requestsPerMinute: 0 });
    const { cp, clock } = bench;
    const { services } = cp.controlPlane;
    const { body: service } = await cp.api('POST', '/v1/status-pages/services', { name: 'Shop' });
    const { body: window } = await cp.api('POST', '/v1/maintenance-windows', {
      ...{ name: 'deploy', startsAt: iso(now), endsAt: iso(now + last * minute) },
      statusPageVisibility: { serviceIds: [service.id], suppressAutoIncidents: true },
    });
    const check = await bench.check('url', {
      ...{ locations: ['eu-west-1'], retryStrategy: null, doubleCheck: false },
      ...{ useGlobalAlertSettings: false },
      alertSettings: { runBasedEscalation: { failedRunThreshold: 1 } },
      triggerIncident: {
        ...{ serviceId: service.id, severity: 'MAJOR', name: 'Down', description: 'It is down' },
        notifySubscribers: false,
      },
    });
    const incidents = () =>
      services.db.selectFrom('incidents').select(['id', 'created_at']).orderBy('seq').execute();
    for (let at = -10; at <= 100; at += 10) {
      clock.setWall(now + at * minute);
      if (at === ends) await cp.api('DELETE', `/v1/maintenance-windows/${window.id}`);
      if (at === resolved) {
        const [incident] = await incidents();
        const path = `/v1/status-pages/incidents/${incident?.id}/incident-updates`;
        const done = await cp.api('POST', path, { description: 'Done', status: 'RESOLVED' });
        assert.equal(done.status, 201, JSON.stringify(done.body));
      }
      const isDown = at >= from && at < until;
      await bench.submit(check, 'URL', now + at * minute, isDown ? failed : {});
      await openLateIncidents(services);
      await openLateIncidents(services);
    }
    const minutes = (await incidents()).map(({ created_at: at }) => (at - now) / minute);
    assert.deepEqual(minutes.map(Math.floor), opened, how);
  }
});

test('agents are updated when a page or a service that a window names is deleted', async () => {
  await using bench = await setUp({ requestsPerMinute: 0 });
  const { cp } = bench;
  const { db } = cp.controlPlane.services;
  const versions = async () =>
    JSON.stringify(
      await db
        .selectFrom('location_versions')
        .select(['location', 'version'])
        .orderBy('location')
        .execute(),
    );
  await bench.check('url', {});
  for (const isNamed of [false, true]) {
    const { body: service } = await cp.api('POST', '/v1/status-pages/services', { name: 'Shop' });
    const { body: page } = await cp.api('POST', '/v1/status-pages', {
      ...{ name: 'Page', url: `page-${isNamed}` },
      cards: [{ name: 'Card', services: [{ id: service.id }] }],
    });
    if (isNamed) {
      await cp.api('POST', '/v1/maintenance-windows', {
        ...{ name: 'deploy', startsAt: iso(now), endsAt: iso(now + 60 * minute) },
        pauseScope: { statusPageIds: [page.id], serviceIds: [service.id] },
      });
    }
    for (const path of [`${page.id}`, `services/${service.id}`]) {
      const before = await versions();
      assert.equal((await cp.api('DELETE', `/v1/status-pages/${path}`)).status, 204);
      assert.equal((await versions()) !== before, isNamed, path);
    }
  }
});

test('what would have alerted is read from all runs of the occurrence', async () => {
  await using bench = await setUp({ requestsPerMinute: 0 });
  const { cp, clock } = bench;
  const check = await bench.check('url', {
    ...{ locations: ['eu-west-1'], frequency: 0, frequencyOffset: 10 },
    ...{ retryStrategy: null, doubleCheck: false, useGlobalAlertSettings: false },
    alertSettings: { runBasedEscalation: { failedRunThreshold: 1 } },
  });
  const { body: window } = await cp.api('POST', '/v1/maintenance-windows', {
    ...{ name: 'deploy', startsAt: iso(now), endsAt: iso(now + 180 * minute) },
    silenceScope: { checkIds: [check] },
  });
  // More than a share of what a replay of the most checks looks at, and an outage at the beginning.
  for (let from = 0; from < 1_080; from += 60) {
    const results = Array.from({ length: 60 }, (_each, index) => {
      const at = now + (from + index) * 10_000;
      return bench.result(check, 'URL', at, from === 60 ? failed : {});
    });
    clock.setWall(now + (from + 60) * 10_000);
    await bench.submitAll(results);
  }
  const { body } = await cp.api(
    'GET',
    `/v1/maintenance-windows/${window.id}/maintenances/${window.id}-${now}/suppressed-alerts`,
  );
  assert.deepEqual(
    [body.isWhole, body.runs, body.alerting.map(({ alerts }: { alerts: number }) => alerts)],
    [true, 1_080, [1]],
  );
});

test('of the updates of an occurrence the newest are read, and each occurrence has its own', async () => {
  await using bench = await setUp({ requestsPerMinute: 0 });
  const { cp } = bench;
  const { body: service } = await cp.api('POST', '/v1/status-pages/services', { name: 'Shop' });
  const { body: page } = await cp.api('POST', '/v1/status-pages', {
    ...{ name: 'Page', url: 'page', cards: [{ name: 'Card', services: [{ id: service.id }] }] },
  });
  const { body: window } = await cp.api('POST', '/v1/maintenance-windows', {
    ...{ name: 'deploy', startsAt: iso(now), endsAt: iso(now + hour), repeatUnit: 'DAY' },
    statusPageVisibility: { serviceIds: [service.id] },
  });
  const path = `/v1/maintenance-windows/${window.id}/maintenances`;
  const [one, other, quiet] = window.nextOccurrences.map(({ id }: { id: string }) => id);
  const write = (id: string, description: string) =>
    cp.api('POST', `${path}/${id}/updates`, { description });
  await write(other, 'the first');
  for (let index = 0; index < maxUpdates + 2; index += 1) await write(one, `${index}`);
  const texts = (updates: { description: string }[]) =>
    updates.map(({ description }) => description);
  const newest = Array.from({ length: maxUpdates }, (_each, at) => `${maxUpdates + 1 - at}`);
  const expected = [newest, ['the first'], []];
  for (const [at, id] of [one, other, quiet].entries()) {
    const { body } = await cp.api('GET', `${path}/${id}`);
    assert.deepEqual(texts(body.updates), expected[at], id);
  }
  const { body: listed } = await cp.api('GET', `${path}?limit=3`);
  assert.deepEqual(
    listed.map(({ updates }: { updates: { description: string }[] }) => texts(updates)),
    expected,
  );
  assert.deepEqual((await cp.api('GET', `${path}?limit=50&page=9`)).body, []);
  const key = { accountId: cp.accountId, pageId: page.id };
  const [shown] = await readWindows(cp.controlPlane.services.db, key, now - hour, now);
  assert.deepEqual(
    shown?.updates.map(({ description }) => description),
    [...newest, 'the first'],
  );
});

test('what is said and done about an occurrence is forgotten once it is history, and it stays over', async () => {
  await using bench = await setUp({ requestsPerMinute: 0 });
  const { cp, clock } = bench;
  const { services } = cp.controlPlane;
  const { db } = services;
  const day = 24 * hour;
  const { body: window } = await cp.api('POST', '/v1/maintenance-windows', {
    ...{ name: 'deploy', startsAt: iso(now), endsAt: iso(now + hour), repeatUnit: 'WEEK' },
    ...{ pauseAllChecks: true },
    statusPageVisibility: { affectAllServices: true, autoEnd: false },
  });
  const path = `/v1/maintenance-windows/${window.id}/maintenances`;
  const [ended, open, extended] = window.nextOccurrences.map(({ id }: { id: string }) => id);
  const change = async (id: string, body: object) => {
    const done = await cp.api('PATCH', `${path}/${id}`, body);
    assert.equal(done.status, 200, JSON.stringify(done.body));
  };
  const write = (id: string) => cp.api('POST', `${path}/${id}/updates`, { description: 'x' });
  clock.setWall(now + minute);
  await write(ended);
  await write(extended);
  await change(ended, { status: 'COMPLETED' });
  await cp.api('PUT', `/v1/maintenance-windows/${window.id}`, { name: 'other' });
  clock.setWall(now + 7 * day + minute);
  await change(open, { status: 'VERIFYING' });
  clock.setWall(now + 14 * day + minute);
  await change(extended, { status: 'IN_PROGRESS', endsAt: iso(now + 20 * day) });
  const left = async () => {
    assert.equal(await pruneMaintenance(services), false);
    const count = async (
      table: 'maintenance_updates' | 'changed_maintenances' | 'past_maintenance_windows',
    ) => (await db.selectFrom(table).selectAll().execute()).length;
    const statuses = await Promise.all(
      [ended, open, extended].map(
        async (id) => (await cp.api('GET', `${path}/${id}`)).body.status as string,
      ),
    );
    return [
      ...[await count('maintenance_updates'), await count('changed_maintenances')],
      ...[await count('past_maintenance_windows'), statuses.join(' ')],
    ];
  };
  for (const [days, expected] of [
    [14, [2, 3, 1, 'COMPLETED VERIFYING IN_PROGRESS']],
    // The last of them waits for the clocks of its zone.
    [92.5, [1, 3, 0, 'COMPLETED VERIFYING IN_PROGRESS']],
    [100, [1, 2, 0, 'COMPLETED COMPLETED IN_PROGRESS']],
    [107, [0, 1, 0, 'COMPLETED COMPLETED IN_PROGRESS']],
    [113, [0, 0, 0, 'COMPLETED COMPLETED COMPLETED']],
  ] as const) {
    clock.setWall(now + days * day + minute);
    assert.deepEqual(await left(), expected, `day ${days}`);
  }
});

test('a window warns of an owner who is never notified', async () => {
  await using bench = await setUp({ requestsPerMinute: 0 });
  const { cp } = bench;
  const { body: channel } = await cp.api('POST', '/v1/alert-channels', {
    ...{ type: 'WEBHOOK', config: { name: 'w', url: 'https://a.example' } },
  });
  for (const [fields, expected] of [
    [{}, undefined],
    [{ ownerAlertChannelIds: [channel.id] }, /never notified/],
    [{ statusPageVisibility: { autoEnd: false } }, /nobody is notified/],
    [{ statusPageVisibility: {} }, /^no status page shows it/],
    [{ statusPageVisibility: { affectAllServices: true } }, undefined],
    [{ statusPageVisibility: { affectAllServices: true, enabled: false } }, /^no status page/],
    [
      {
        statusPageVisibility: { affectAllServices: true, autoEnd: false },
        ownerAlertChannelIds: [channel.id],
      },
      undefined,
    ],
  ] as const) {
    const { status, body } = await cp.api('POST', '/v1/maintenance-windows', {
      ...{ name: 'deploy', startsAt: iso(now), endsAt: iso(now + 60 * minute) },
      ...{ pauseAllChecks: true, ...fields },
    });
    assert.equal(status, 201, JSON.stringify(body));
    if (expected === undefined) assert.equal(body.warnings, undefined);
    else assert.match(body.warnings.join(), expected);
  }
});
