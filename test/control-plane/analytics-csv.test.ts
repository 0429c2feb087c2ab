// SQLite only: it tests the form of figures that other tests compute on both.
import assert from 'node:assert/strict';
import test from 'node:test';
import { RollUp } from '../../control-plane/analytics/roll-up.ts';
import { fiveRuns, hour, iso, now, setUp, type Bench } from '../support/results.ts';

interface Table {
  type: string | null;
  disposition: string | null;
  lines: string[];
}

async function table(
  bench: Bench,
  path: string,
  { accept, body }: { accept?: string; body?: unknown } = {},
): Promise<Table> {
  const response = await fetch(`${bench.cp.url}/v1/${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${bench.cp.apiKey}`,
      ...(accept !== undefined && { accept }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  assert.equal(response.status, 200);
  assert.match(response.headers.get('vary') ?? '', /(^|, )Accept(,|$)/);
  const text = await response.text();
  return {
    type: response.headers.get('content-type'),
    disposition: response.headers.get('content-disposition'),
    lines: text.trimEnd().split('\r\n'),
  };
}

test('analytics of a check as a table: aggregates and points of all groups and pages', async () => {
  await using bench = await setUp();
  const id = await fiveRuns(bench);
  const path = `analytics/url-monitors/${id}?metrics=responseTime,availability&groupBy=runLocation&limit=1`;
  const { type, disposition, lines } = await table(bench, path, { accept: 'text/csv' });
  assert.equal(type, 'text/csv; charset=utf-8; header=present');
  assert.equal(disposition, `attachment; filename="${id}.csv"`);
  assert.deepEqual(lines, [
    'runLocation,startedAt,responseTime,availability',
    'eu-west-1,,,75',
    `eu-west-1,${iso(now - 0.5 * hour)},1000,`,
    `eu-west-1,${iso(now - 1.4 * hour)},400,`,
    `eu-west-1,${iso(now - 2.8 * hour)},200,`,
    `eu-west-1,${iso(now - 2.9 * hour)},100,`,
    'us-east-1,,,100',
    `us-east-1,${iso(now - 1.5 * hour)},300,`,
  ]);
});

test('CSV is given to who asks for it, by header or by parameter, and JSON to everybody else', async () => {
  await using bench = await setUp();
  const id = await fiveRuns(bench);
  const path = `analytics/url-monitors/${id}?metrics=availability`;
  const typeOf = async (query: string, accept?: string) =>
    (await table(bench, path + query, accept === undefined ? {} : { accept })).type?.split(';')[0];
  assert.equal(await typeOf(''), 'application/json');
  assert.equal(await typeOf('', '*/*'), 'application/json');
  assert.equal(await typeOf('', 'application/json, text/csv'), 'application/json');
  assert.equal(await typeOf('', 'text/csv;q=0'), 'application/json');
  assert.equal(await typeOf('', 'text/csv, application/json;q=0.5'), 'text/csv');
  assert.equal(await typeOf('&format=csv'), 'text/csv');
  assert.equal(await typeOf('&format=json', 'text/csv'), 'application/json');
  assert.deepEqual(await bench.refused(`${path}&format=xml`), ['format']);
});

test('the figures of many checks have the columns of all types', async () => {
  await using bench = await setUp();
  const url = await fiveRuns(bench);
  const icmp = await bench.check('icmp');
  const { lines } = await table(bench, 'analytics/checks?format=csv', {
    body: { checkIds: [icmp, url] },
  });
  assert.deepEqual(lines, [
    'checkId,checkType,availability,responseTime_avg,responseTime_p50,responseTime_p95,responseTime_p99,latency_avg,latency_p50,latency_p95,latency_p99,packetLoss_avg,packetLoss_p95,packetLoss_p99,handshakeTimeMs_avg,handshakeTimeMs_p50,handshakeTimeMs_p95,handshakeTimeMs_p99,daysUntilExpiry_avg,hopCount_avg,total_avg,total_p50,total_p95,total_p99',
    `${icmp},ICMP${','.repeat(22)}`,
    `${url},URL,80,400,300,880,976${','.repeat(17)}`,
  ]);
});

test('a report as a table: names that look like formulas are text', async () => {
  await using bench = await setUp();
  await bench.check('url', { name: '=1+1', tags: ['a', 'b'] });
  const { lines } = await table(bench, 'reporting?format=csv&target=99.5');
  assert.equal(
    lines[0],
    'name,checkId,checkType,deactivated,tags,successRatio,avg,p95,p99,target,isMet,downtimeMinutes,allowedMinutes,usedMinutes,remainingMinutes,usedPercent',
  );
  assert.match(lines[1] ?? '', /^'=1\+1,[-0-9a-f]{36},URL,false,a b,,,,,,,,,,,$/);
  const days = await table(bench, 'reporting?format=csv&granularity=day&quickRange=last7Days');
  assert.equal(days.lines.length, 1 + 8);
  assert.match(days.lines[1] ?? '', /,a b,2026-11-14T12:00:00.000Z,2026-11-15T00:00:00.000Z,/);
});

test('a table of what is rolled up says the same', async () => {
  await using bench = await setUp();
  const id = await fiveRuns(bench);
  const path = `analytics/url-monitors/${id}?metrics=responseTime_sum,retries&aggregationInterval=60&format=csv`;
  const before = await table(bench, path);
  while (await new RollUp(bench.cp.controlPlane.services).run());
  assert.deepEqual(await table(bench, path), before);
  assert.equal(before.lines.length, 4);
});
