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
