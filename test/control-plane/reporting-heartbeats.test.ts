// PostgreSQL in the long tier: analytics-types.test.ts, prometheus.test.ts, lock-checks.test.ts,
// result-fields.test.ts and reporting-levels.test.ts run its statements on both.
import assert from 'node:assert/strict';
import test from 'node:test';
import { sweepHeartbeats } from '../../control-plane/heartbeats/heartbeats.ts';
import { hour, minute, now, setUp, unix } from '../support/results.ts';

test('a heartbeat was down for as long as pings were missing, however many came otherwise', async () => {
  await using bench = await setUp();
  const { body } = await bench.cp.api('POST', '/v1/checks/heartbeat', {
    name: 'job',
    muted: true,
    heartbeat: { period: 30, periodUnit: 'minutes', grace: 0, graceUnit: 'minutes' },
  });
  const ping = () => fetch(body.heartbeat.pingUrl as string, { method: 'POST' });
  // An hour of pings every ten minutes, then none for three and a half, then again.
  for (let pings = 0; pings < 6; pings += 1) {
    await ping();
    bench.clock.advance(10 * minute);
  }
  bench.clock.advance(20 * minute);
  await sweepHeartbeats(bench.cp.controlPlane.services);
  bench.clock.advance(100 * minute);
  await ping();
  bench.clock.advance(20 * minute);
  const window = `from=${unix(now)}&to=${unix(now + 4 * hour)}`;
  const [report] = await bench.get(`reporting?${window}&target=99`);
  // Failing from minute 80 to minute 180 of 200.
  assert.equal(report.aggregate.successRatio, 50);
  assert.equal(report.aggregate.slo.downtimeMinutes, 100);
  assert.equal(report.aggregate.slo.isMet, false);

  // Whoever asks hears the same, by whichever door.
  const analytics = `analytics/heartbeat-checks/${body.id}?${window}`;
  const { series } = await bench.get(analytics);
  assert.deepEqual(series[0].data, [{ availability: 50 }]);
  const ofPings = await bench.get(`${analytics}&filterByStatus=RECEIVED,EARLY,FAILING`);
  assert.equal(ofPings.series[0].data[0].availability, 87.5);
  const silence = `from=${unix(now + 2 * hour)}&to=${unix(now + 2.5 * hour)}`;
  const silent = await bench.get(`analytics/heartbeat-checks/${body.id}?${silence}`);
  assert.deepEqual(silent.series[0].data, [{ availability: 0 }]);
  const { body: figures } = await bench.cp.api('POST', '/v1/analytics/checks', {
    checkIds: [body.id],
  });
  assert.equal(figures[0].availability, 50);
  const times = `startTime=${unix(now)}&endTime=${unix(bench.clock.now())}`;
  const seen = await bench.get(`checks/heartbeats/${body.id}/availability?${times}`);
  assert.equal(seen.successRatio.currentPeriod, 0.5);
  const scraped = await fetch(`${bench.cp.url}/v1/prometheus/metrics`, {
    headers: { authorization: `Bearer ${bench.cp.apiKey}` },
  });
  assert.match(await scraped.text(), /^monitor_check_success_ratio\{.*\} 0\.5$/m);
});

/** Each made at minute 0, pinged then, and watched to minute 600; its period is an hour. */
const pauses: {
  name: string;
  /** Minutes of pings, and from when to when it is deactivated, by itself or by its group. */
  pings: number[];
  paused: [from: number, to: number];
  by: 'check' | 'group';
  /** Minutes of a report from `from`: those that count, and those of them in which it failed. */
  from?: number;
  active: number;
  down: number;
}[] = [
  { name: 'failing', pings: [0], paused: [100, 600], by: 'check', active: 100, down: 40 },
  { name: 'passing', pings: [0, 50], paused: [100, 600], by: 'check', active: 100, down: 0 },
  // Activated again, it has its period.
  { name: 'activated', pings: [0], paused: [100, 400], by: 'check', active: 300, down: 180 },
  { name: 'by its group', pings: [0], paused: [100, 400], by: 'group', active: 300, down: 180 },
  {
    ...{ name: 'begun before the report', pings: [0], paused: [100, 400], by: 'check' },
    ...{ from: 200, active: 200, down: 140 },
  },
  // The time before the first ping is not known.
  {
    name: 'first ping later',
    pings: [300],
    paused: [380, 500],
    by: 'check',
    active: 180,
    down: 60,
  },
];

test('a heartbeat that is deactivated is neither up nor down meanwhile, by whichever door', async () => {
  for (const { name, pings, paused, by, from = 0, active, down } of pauses) {
    await using bench = await setUp();
    const { services } = bench.cp.controlPlane;
    const { body: group } = await bench.cp.api('POST', '/v2/check-groups', { name: 'jobs' });
    const { body } = await bench.cp.api('POST', '/v1/checks/heartbeat', {
      ...{ name: 'job', muted: true, groupId: group.id },
      heartbeat: { period: 60, periodUnit: 'minutes', grace: 0, graceUnit: 'minutes' },
    });
    const activate = (activated: boolean) =>
      by === 'group'
        ? bench.cp.api('PUT', `/v2/check-groups/${group.id}`, { name: 'jobs', activated })
        : bench.cp.api('PUT', `/v1/checks/heartbeat/${body.id}`, { activated });
    for (let at = 0; at < 600; at += 10) {
      if (paused.includes(at)) assert.equal((await activate(at === paused[1])).status, 200);
      if (pings.includes(at)) await fetch(body.heartbeat.pingUrl as string);
      bench.clock.advance(10 * minute);
      await sweepHeartbeats(services);
    }
    const expected = Math.round(100_000 * (1 - down / active)) / 1000;
    const window = `from=${unix(now + from * minute)}&to=${unix(bench.clock.now())}`;
    const [report] = await bench.get(`reporting?${window}&target=99`);
    const { successRatio, slo } = report.aggregate;
    assert.deepEqual([successRatio, slo.downtimeMinutes], [expected, down], name);
    assert.equal(slo.errorBudget.allowedMinutes, active / 100, name);
    const { series } = await bench.get(`analytics/heartbeat-checks/${body.id}?${window}`);
    assert.deepEqual(series[0].data, [{ availability: expected }], name);
    const times = window.replace('from', 'startTime').replace('to', 'endTime');
    const seen = await bench.get(`checks/heartbeats/${body.id}/availability?${times}`);
    assert.equal(Math.round(100_000 * seen.successRatio.currentPeriod) / 1000, expected, name);
    // Nobody is shown a pause as a ping.
    const [{ events }] = await bench.get(`checks/heartbeats/${body.id}/events`);
    const known = ['RECEIVED', 'EARLY', 'FAILING'];
    assert.ok(events.every(({ state }: { state: string }) => known.includes(state)));
  }
});
