import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { maxResultsPerCheck } from '@monitor/shared/contract/analytics.ts';
import { isLeftOutOnPostgres } from '../support/postgres.ts';
import { fiveRuns, hour, insertResults, now, setUp, unix } from '../support/results.ts';

test('the newest results are read up to the bound, and the answer says that there are more', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  await using bench = await setUp();
  const id = await bench.check('url');
  // In pairs that share an instant, and out of step with batches of rows: none may be lost or repeated.
  const results = Array.from({ length: maxResultsPerCheck }, (_, index) => ({
    at: now - hour + Math.floor((index + 1) / 2),
    responseTime: 1,
  }));
  await insertResults(bench, id, 'URL', results);
  const path = `analytics/url-monitors/${id}?metrics=responseTime_sum`;
  const numbers = async () => {
    const { series, truncated } = await bench.get(path);
    return [series[0].data[0].responseTime_sum, truncated];
  };
  assert.deepEqual(await numbers(), [maxResultsPerCheck, false]);
  await insertResults(bench, id, 'URL', [{ at: now - 2 * hour, responseTime: 1_000_000 }]);
  assert.deepEqual(await numbers(), [maxResultsPerCheck, true]);
});

test('the figures of many checks: absent where they do not apply, null without data', async () => {
  await using bench = await setUp();
  const url = await fiveRuns(bench);
  const icmp = await bench.check('icmp');
  await bench.submit(icmp, 'ICMP', now - hour, {
    response: { packetLoss: 20, latency: { avg: 0.75 } },
    hasFailures: true,
  });
  const { body: heartbeat } = await bench.cp.api('POST', '/v1/checks/heartbeat', {
    name: 'job',
    heartbeat: { period: 10, periodUnit: 'minutes', grace: 2, graceUnit: 'minutes' },
  });
  const idle = await bench.check('tcp');
  const ask = (body: unknown, query = '', headers = {}) =>
    bench.cp.api('POST', `/v1/analytics/checks${query}`, body, headers);
  const checkIds = [icmp, heartbeat.id, url, randomUUID(), idle];
  const { status, body } = await ask({ checkIds });
  assert.equal(status, 200);
  const none = {
    responseTime_avg: null,
    responseTime_p50: null,
    responseTime_p95: null,
    responseTime_p99: null,
  };
  assert.deepEqual(body, [
    {
      checkId: icmp,
      checkType: 'ICMP',
      availability: 0,
      latency_avg: 0.75,
      latency_p50: 0.75,
      latency_p95: 0.75,
      latency_p99: 0.75,
      packetLoss_avg: 20,
      packetLoss_p95: 20,
      packetLoss_p99: 20,
    },
    { checkId: heartbeat.id, checkType: 'HEARTBEAT', availability: null },
    {
      checkId: url,
      checkType: 'URL',
      availability: 80,
      responseTime_avg: 400,
      responseTime_p50: 300,
      responseTime_p95: 880,
      responseTime_p99: 976,
    },
    { checkId: idle, checkType: 'TCP', availability: null, ...none },
  ]);
  const week = await ask({ checkIds: [url] }, '?quickRange=last7Days');
  assert.equal(week.body[0].responseTime_avg, 888.833);
  for (const [wrong, query, keys] of [
    [{ checkIds: [] }, '', ['checkIds']],
    [{ checkIds: Array.from({ length: 101 }, () => randomUUID()) }, '', ['checkIds']],
    [{}, '', ['checkIds']],
    [{ checkIds }, '?quickRange=last30Days', ['quickRange']],
  ] as const) {
    const refusal = await ask(wrong, query);
    assert.deepEqual([refusal.status, refusal.body.attributes.keys], [400, keys]);
  }
});

test('the metrics of a type are listed with their variants', async () => {
  await using bench = await setUp();
  const names = async (type: string): Promise<string[]> =>
    (await bench.get(`analytics/metrics?checkType=${type}`)).map(
      ({ name }: { name: string }) => name,
    );
  assert.deepEqual(await names('HEARTBEAT'), ['availability', 'retries']);
  assert.equal((await names('URL')).length, 6 * 11 + 2);
  assert.equal((await names('BROWSER')).length, 10 * 11 + 2);
  assert.deepEqual((await names('DNS')).slice(0, 3), ['total', 'total_avg', 'total_max']);
  const metrics = await bench.get('analytics/metrics?checkType=BROWSER');
  const described = (name: string) =>
    metrics.find((metric: { name: string }) => metric.name === name);
  assert.deepEqual(described('CLS'), {
    name: 'CLS',
    unit: 'score',
    label: 'Cumulative layout shift',
    type: 'Float',
    aggregated: false,
  });
  assert.equal(described('consoleErrors_sum').type, 'Integer');
  assert.equal(described('consoleErrors_avg').type, 'Float');
  assert.equal(described('availability').aggregated, true);
});

test('the report has a row for each check, by name, and can be narrowed', async () => {
  await using bench = await setUp();
  const url = await fiveRuns(bench);
  const idle = await bench.check('tcp', {
    name: 'an idle one',
    activated: false,
    tags: ['a', 'b'],
  });
  const rows = await bench.get('reporting');
  assert.deepEqual(rows, [
    {
      name: 'an idle one',
      checkId: idle,
      checkType: 'TCP',
      deactivated: true,
      tags: ['a', 'b'],
      aggregate: { successRatio: null, avg: null, p95: null, p99: null },
    },
    {
      name: 'url',
      checkId: url,
      checkType: 'URL',
      deactivated: false,
      tags: ['shop'],
      aggregate: { successRatio: 80, avg: 400, p95: 880, p99: 976 },
    },
  ]);
  const named = async (query: string): Promise<string[]> =>
    (await bench.get(`reporting?${query}`)).map(({ name }: { name: string }) => name);
  assert.deepEqual(await named('deactivated=true'), ['an idle one']);
  assert.deepEqual(await named('deactivated=false'), ['url']);
  assert.deepEqual(await named('filterByTags=shop'), ['url']);
  assert.deepEqual(await named('filterByTags=shop&filterByTags=b'), ['an idle one', 'url']);
  assert.deepEqual(await named('filterByTags=none'), []);
  const earlier = `from=${unix(now - 3 * hour)}&to=${unix(now - hour)}`;
  assert.deepEqual((await bench.get(`reporting?quickRange=lastMonth&${earlier}`))[1].aggregate, {
    successRatio: 100,
    avg: 250,
    p95: 385,
    p99: 397,
  });
});
