// PostgreSQL in the long tier: grpc-checks.test.ts runs its statements on both.
import assert from 'node:assert/strict';
import test from 'node:test';
import { nothingSeen } from '../support/plain.ts';
import { hour, now, setUp } from '../support/results.ts';

const request = { url: 'gateway.example' };

test('a check is answered with the defaults of its protocol, and without a port for echo requests', async () => {
  await using bench = await setUp();
  const made = await bench.cp.api('POST', '/v1/checks/traceroute', { name: 'way', request });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.deepEqual([made.body.checkType, made.body.maxResponseTime], ['TRACEROUTE', 20_000]);
  const { assertions, ...answered } = made.body.request;
  assert.deepEqual(
    [answered, assertions],
    [
      {
        ...{ url: 'gateway.example', ipFamily: 'IPv4', protocol: 'TCP', port: 443 },
        ...{ maxHops: 30, maxUnknownHops: 15, ptrLookup: true, timeout: 10 },
      },
      [],
    ],
  );
  const changed = await bench.cp.api('PUT', `/v1/checks/traceroute/${made.body.id}`, {
    request: { ...request, protocol: 'ICMP', port: 80 },
  });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  assert.equal('port' in changed.body.request, false);
  for (const [key, fields] of [
    ['request.maxUnknownHops', { request: { ...request, maxHops: 4, maxUnknownHops: 5 } }],
    ['frequencyOffset', { frequency: 0, frequencyOffset: 10, request }],
    ['degradedResponseTime', { degradedResponseTime: 2, maxResponseTime: 1, request }],
  ] as const) {
    const body = { name: 'way', ...fields };
    const refused = await bench.cp.api('POST', '/v1/checks/traceroute', body);
    assert.deepEqual([refused.status, refused.body.attributes.keys], [400, [key]]);
  }
  const twiceAMinute = { name: 'way', frequency: 0, frequencyOffset: 30, request };
  const taken = await bench.cp.api('POST', '/v1/checks/traceroute', twiceAMinute);
  assert.equal(taken.status, 201, JSON.stringify(taken.body));
});

test('a result is read in a field of its own, and the final hop is what analytics count', async () => {
  await using bench = await setUp();
  const id = await bench.check('traceroute', { request });
  const seen = (avg: number, totalHops: number) => {
    const latency = { avg, min: avg, max: avg, stdDev: 0, best: avg, worst: avg };
    const timingPhases = { dns: 1, total: 900 };
    return {
      ...nothingSeen,
      ...{ totalHops, destinationReached: true, finalHopLatency: latency, timingPhases },
      response: { totalHops, finalHopLatency: latency, packetLoss: 0, timingPhases },
    };
  };
  await bench.submit(id, 'TRACEROUTE', now - 2 * hour, { tracerouteCheckResult: seen(10, 4) });
  await bench.submit(id, 'TRACEROUTE', now - hour, { tracerouteCheckResult: seen(20, 6) });
  const { series } = await bench.get(
    `analytics/traceroute/${id}?metrics=finalHopLatencyAvg_avg,totalHops_avg,packetLoss_max,availability`,
  );
  assert.deepEqual(Object.values(series[0].data[0] as object), [15, 5, 0, 100]);
  const { body: figures } = await bench.cp.api('POST', '/v1/analytics/checks', { checkIds: [id] });
  assert.deepEqual([figures[0].responseTime_avg, figures[0].hopCount_avg], [15, 5]);
  const { body } = await bench.cp.api('GET', `/v2/check-results/${id}`);
  assert.equal(body.entries[0].tracerouteCheckResult.totalHops, 6);
});
