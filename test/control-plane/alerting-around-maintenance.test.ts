// SQLite only: it tests when alerts wait; tests of alerts and of windows run their statements on both.
import assert from 'node:assert/strict';
import test from 'node:test';
import { evaluateDueAlerts } from '../../control-plane/alerting/evaluate-due-alerts.ts';
import { maintenanceOf } from '../../control-plane/maintenance/index.ts';
import { sweepOnceRead } from '../support/control-plane.ts';
import { alertTypes, iso, minute, now, setUp, type Bench } from '../support/results.ts';

const failed = { hasFailures: true, errorMessages: ['HTTP 500'] };

/** A failing check with maintenance from minute 2 to minute 60. */
async function failing(bench: Bench, alertSettings: Record<string, unknown>): Promise<string> {
  await bench.cp.api('POST', '/v1/maintenance-windows', {
    name: 'deploy',
    startsAt: iso(now + 2 * minute),
    endsAt: iso(now + 60 * minute),
    repeatUnit: null,
    tags: ['shop'],
  });
  const check = await bench.check('url', {
    ...{ tags: ['shop'], frequency: 1, useGlobalAlertSettings: false, alertSettings },
    retryStrategy: null,
    doubleCheck: false,
  });
  await bench.submit(check, 'URL', now, failed);
  return check;
}

async function pass(bench: Bench, minutes: number): Promise<void> {
  for (let passed = 0; passed < minutes; passed += 1) {
    bench.clock.advance(minute);
    await evaluateDueAlerts(bench.cp.controlPlane.services);
  }
}

const reminding = { reminders: { amount: 5, interval: 5 } };
const timeBased = {
  escalationType: 'TIME_BASED',
  timeBasedEscalation: { minutesFailingThreshold: 5 },
};

test('reminders and escalations wait for a run after the maintenance, and end with one that passes', async () => {
  for (const [settings, after, minutes, before, later] of [
    [reminding, {}, 20, ['ALERT_FAILURE'], ['ALERT_FAILURE', 'ALERT_RECOVERY']],
    [reminding, failed, 1, ['ALERT_FAILURE'], ['ALERT_FAILURE', 'ALERT_FAILURE_REMAIN']],
    [timeBased, {}, 20, [], []],
    [timeBased, failed, 20, [], ['ALERT_FAILURE_REMAIN']],
  ] as const) {
    await using bench = await setUp();
    const check = await failing(bench, settings);
    await pass(bench, 61);
    assert.deepEqual(await alertTypes(bench), before);
    await bench.submit(check, 'URL', now + 61 * minute, { ...after });
    await pass(bench, minutes);
    assert.deepEqual(await alertTypes(bench), later);
  }
});

test('a window that silences sends no alert of what it selects, and the checks run', async () => {
  for (const [selects, isSilent] of [
    [{ silenceAllAlerts: true }, true],
    [{ silenceAlertsTags: ['shop'] }, true],
    [{ silenceAlertsTags: ['other'] }, false],
    [{ tags: ['other'] }, false],
  ] as const) {
    await using bench = await setUp();
    const made = await bench.cp.api('POST', '/v1/maintenance-windows', {
      ...{ name: 'deploy', startsAt: iso(now + 2 * minute), endsAt: iso(now + 60 * minute) },
      ...selects,
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const check = await bench.check('url', {
      ...{ tags: ['shop'], frequency: 1, retryStrategy: null, doubleCheck: false },
    });
    const { db } = bench.cp.controlPlane.services;
    // The window does not pause it.
    const held = await maintenanceOf(db, bench.cp.accountId, [check], now + 3 * minute);
    assert.equal(held.size, 0);
    await pass(bench, 5);
    await bench.submit(check, 'URL', now + 5 * minute, failed);
    await pass(bench, 1);
    assert.deepEqual(await alertTypes(bench), isSilent ? [] : ['ALERT_FAILURE']);
    // What still fails when the window ends is not kept from anybody.
    await pass(bench, 55);
    await bench.submit(check, 'URL', now + 61 * minute, failed);
    await pass(bench, 1);
    assert.deepEqual(await alertTypes(bench), ['ALERT_FAILURE'], JSON.stringify(selects));
  }
});

test('what ran in a window is planned, though the window was deleted before its result came', async () => {
  for (const isOther of [false, true]) {
    for (const [ranAt, expected] of [
      [5, []],
      [11, ['ALERT_FAILURE']],
    ] as const) {
      await using bench = await setUp();
      const made = (name: string, from: number, to: number) =>
        bench.cp.api('POST', '/v1/maintenance-windows', {
          ...{ name, startsAt: iso(now + from * minute), endsAt: iso(now + to * minute) },
          silenceAllAlerts: true,
        });
      const { body } = await made('deploy', 2, 60);
      if (isOther) await made('other', 6000, 6060);
      const check = await bench.check('url', { retryStrategy: null, doubleCheck: false });
      await pass(bench, 10);
      await bench.cp.api('DELETE', `/v1/maintenance-windows/${body.id}`);
      await pass(bench, 2);
      await bench.submit(check, 'URL', now + ranAt * minute, failed);
      assert.deepEqual(await alertTypes(bench), expected, `at ${ranAt}`);
    }
  }
});

test('a heartbeat that recovers in a window is said to when the window ends, unless it fails again by then', async () => {
  for (const selects of [{ silenceAlertsTags: ['shop'] }, { tags: ['shop'] }]) {
    for (const [failsAgain, isCutShort, said] of [
      [false, false, { 30: [], 61: ['ALERT_RECOVERY'], 62: [] }],
      [false, true, { 30: [], 41: ['ALERT_RECOVERY'], 62: [] }],
      [true, false, { 30: [], 61: ['ALERT_FAILURE_REMAIN'], 62: [] }],
    ] as const) {
      await using bench = await setUp();
      const { cp, clock } = bench;
      const { services } = cp.controlPlane;
      const { body: window } = await cp.api('POST', '/v1/maintenance-windows', {
        ...{ name: 'deploy', startsAt: iso(now + 20 * minute), endsAt: iso(now + 60 * minute) },
        ...selects,
      });
      const { body: check } = await cp.api('POST', '/v1/checks/heartbeat', {
        ...{ name: 'nightly', tags: ['shop'] },
        heartbeat: { period: 10, periodUnit: 'hours', grace: 1, graceUnit: 'minutes' },
      });
      const signal = (path = '') => fetch(`${check.heartbeat.pingUrl}${path}`, { method: 'POST' });
      await signal('/fail');
      let seen = ['ALERT_FAILURE'];
      for (let at = 1; at <= 62; at += 1) {
        clock.advance(minute);
        if (at === 25) await signal();
        if (at === 28 && failsAgain) await signal('/fail');
        if (at === 40 && isCutShort) {
          await cp.api('PUT', `/v1/maintenance-windows/${window.id}`, { endsAt: iso(clock.now()) });
        }
        await sweepOnceRead(services);
        await evaluateDueAlerts(services);
        if (!(at in said)) continue;
        const all = await alertTypes(bench);
        assert.deepEqual(all.slice(0, seen.length), seen);
        assert.deepEqual(all.slice(seen.length), said[at as keyof typeof said], `${at}`);
        seen = all;
      }
    }
  }
});

test('a heartbeat that fails in a window that silences is alerted when the window ends, unless it is pinged', async () => {
  for (const [selects, isPinged, expected] of [
    [{ silenceAlertsTags: ['shop'] }, false, [0, 1]],
    [{ silenceAllAlerts: true }, true, [0, 0]],
    [{ silenceAlertsTags: ['other'] }, false, [1, 1]],
  ] as const) {
    await using bench = await setUp();
    const { cp, clock } = bench;
    const { services } = cp.controlPlane;
    const made = await cp.api('POST', '/v1/maintenance-windows', {
      ...{ name: 'deploy', startsAt: iso(now + 2 * minute), endsAt: iso(now + 60 * minute) },
      ...selects,
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const { body: check } = await cp.api('POST', '/v1/checks/heartbeat', {
      ...{ name: 'nightly', tags: ['shop'] },
      heartbeat: { period: 10, periodUnit: 'minutes', grace: 1, graceUnit: 'minutes' },
    });
    const ping = () => fetch(check.heartbeat.pingUrl);
    const after = async (minutes: number) => {
      for (let passed = 0; passed < minutes; passed += 1) {
        clock.advance(minute);
        await sweepOnceRead(services);
        await evaluateDueAlerts(services);
      }
      return (await alertTypes(bench)).filter((type) => type !== 'ALERT_RECOVERY').length;
    };
    await ping();
    const during = await after(58);
    if (isPinged) await ping();
    assert.deepEqual([during, await after(4)], expected, JSON.stringify(selects));
  }
});
