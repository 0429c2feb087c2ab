import assert from 'node:assert/strict';
import test from 'node:test';
import { fiveRuns, hour, iso, now, setUp, unix } from '../support/results.ts';

test('each statistic of five response times is the one computed by hand', async () => {
  await using bench = await setUp();
  const id = await fiveRuns(bench);
  const expected = {
    responseTime_avg: 400,
    responseTime_max: 1000,
    responseTime_median: 300,
    responseTime_min: 100,
    responseTime_p50: 300,
    responseTime_p90: 760,
    responseTime_p95: 880,
    responseTime_p99: 976,
    responseTime_stddev: 316.228,
    responseTime_sum: 2000,
    dns_avg: 4,
    download_sum: 28.5,
    availability: 80,
    retries: 1,
  };
  const names = Object.keys(expected);
  const answer = await bench.get(`analytics/url-monitors/${id}?metrics=${names.join(',')}`);
  assert.deepEqual(answer.series, [{ data: [expected] }]);
  const { series: _series, metadata, ...rest } = answer;
  assert.deepEqual(rest, {
    checkId: id,
    name: 'url',
    checkType: 'URL',
    activated: true,
    muted: true,
    frequency: 1,
    from: iso(now - 24 * hour),
    to: iso(now),
    tags: ['shop'],
    pagination: { page: 1, limit: 10 },
    truncated: false,
  });
  assert.deepEqual(Object.keys(metadata), names);
  assert.deepEqual(metadata.responseTime_p95, {
    unit: 'milliseconds',
    label: 'Response time (p95)',
    aggregation: 'p95',
  });
  assert.deepEqual(
    [metadata.availability, metadata.retries],
    [
      { unit: 'percentage', label: 'Availability', aggregation: 'avg' },
      { unit: 'count', label: 'Retries', aggregation: 'sum' },
    ],
  );
  const repeated = await bench.get(
    `analytics/url-monitors/${id}?${names.map((name) => `metrics=${name}`).join('&')}`,
  );
  assert.deepEqual(repeated.series, answer.series);
});

test('a metric without suffix gives raw points, newest first, in pages', async () => {
  await using bench = await setUp();
  const id = await fiveRuns(bench);
  const path = `analytics/url-monitors/${id}?metrics=responseTime,wait,dns,tcp,firstByte,download`;
  const point = (hoursAgo: number, responseTime: number, phases: (number | null)[]) => ({
    startedAt: iso(now - hoursAgo * hour),
    responseTime,
    ...Object.fromEntries(
      ['wait', 'dns', 'tcp', 'firstByte', 'download'].map((name, index) => [name, phases[index]]),
    ),
  });
  const points = [
    point(0.5, 1000, [null, null, null, null, null]),
    point(1.4, 400, [0, 7, 8, 9, 10]),
    point(1.5, 300, [0, 5, 6, 7, 8]),
    point(2.8, 200, [0, 3, 4, 5, 6.5]),
    point(2.9, 100, [0, 1, 2, 3, 4]),
  ];
  const all = await bench.get(path);
  assert.deepEqual(all.series, [{ data: points }]);
  assert.deepEqual(all.metadata.dns, {
    unit: 'milliseconds',
    label: 'Name resolution',
    aggregation: 'raw',
  });
  for (const [page, expected] of [
    points.slice(0, 2),
    points.slice(2, 4),
    points.slice(4),
    [],
  ].entries()) {
    const { series, pagination, truncated } = await bench.get(`${path}&limit=2&page=${page + 1}`);
    assert.deepEqual(series, [{ data: expected }]);
    assert.deepEqual(pagination, { page: page + 1, limit: 2 });
    assert.equal(truncated, false);
  }
  const both = await bench.get(`analytics/url-monitors/${id}?metrics=responseTime,availability`);
  assert.deepEqual(both.series[0], { data: [{ availability: 80 }] });
  assert.equal(both.series[1].data.length, 5);
  assert.equal(both.series.length, 2);
});

test('with an interval there is one aggregate for each bucket that has results', async () => {
  await using bench = await setUp();
  const id = await fiveRuns(bench);
  const path = `analytics/url-monitors/${id}?metrics=responseTime_avg,availability,retries`;
  const { series } = await bench.get(`${path}&aggregationInterval=60`);
  const bucket = (hoursAgo: number, average: number, availability: number, retries: number) => ({
    startedAt: iso(now - hoursAgo * hour),
    responseTime_avg: average,
    availability,
    retries,
  });
  const buckets = [bucket(1, 1000, 0, 1), bucket(2, 350, 100, 0), bucket(3, 150, 100, 0)];
  assert.deepEqual(series, [{ data: buckets }]);
  const second = await bench.get(`${path}&aggregationInterval=60&limit=1&page=2`);
  assert.deepEqual(second.series, [{ data: buckets.slice(1, 2) }]);
  const days = await bench.get(`${path}&aggregationInterval=1440&quickRange=last7Days`);
  assert.deepEqual(
    days.series[0].data.map((day: Record<string, unknown>) => [day['startedAt'], day['retries']]),
    [
      ['2026-11-21T00:00:00.000Z', 1],
      ['2026-11-20T00:00:00.000Z', 0],
    ],
  );
});

test('results are grouped by location and by status code', async () => {
  await using bench = await setUp();
  const id = await fiveRuns(bench);
  const path = `analytics/url-monitors/${id}?metrics=responseTime_avg,availability,retries`;
  assert.deepEqual((await bench.get(`${path}&groupBy=runLocation`)).series, [
    {
      data: [{ responseTime_avg: 425, availability: 75, retries: 1 }],
      runLocation: 'eu-west-1',
    },
    {
      data: [{ responseTime_avg: 300, availability: 100, retries: 0 }],
      runLocation: 'us-east-1',
    },
  ]);
  const points = await bench.get(
    `analytics/url-monitors/${id}?metrics=responseTime&groupBy=runLocation&limit=1`,
  );
  assert.deepEqual(
    points.series.map(
      (series: { data: { responseTime: number }[] }) => series.data[0]?.responseTime,
    ),
    [1000, 300],
  );
  const byStatus = await bench.get(`${path}&groupBy=statusCode`);
  assert.deepEqual(byStatus.series, [
    { data: [{ responseTime_avg: 233.333, availability: 100, retries: 0 }], statusCode: 200 },
    { data: [{ responseTime_avg: 300, availability: 100, retries: 0 }], statusCode: 204 },
    { data: [{ responseTime_avg: 1000, availability: 0, retries: 1 }], statusCode: null },
  ]);
});

test('results are filtered by status', async () => {
  await using bench = await setUp();
  const id = await fiveRuns(bench);
  await bench.submit(id, 'URL', now - 0.3 * hour, { resultType: 'ATTEMPT', hasErrors: true });
  const numbers = async (query: string) => {
    const path = `analytics/url-monitors/${id}?metrics=responseTime_sum,availability,retries`;
    return Object.values((await bench.get(path + query)).series[0].data[0] as object);
  };
  assert.deepEqual(await numbers(''), [2000, 80, 2]);
  assert.deepEqual(await numbers('&filterByStatus=success'), [1000, 100, 0]);
  assert.deepEqual(await numbers('&filterByStatus=failure'), [1000, 0, 1]);
  assert.deepEqual(await numbers('&filterByStatus=success,failure'), [2000, 80, 1]);
  assert.deepEqual(await numbers('&filterByStatus=success&filterByStatus=failure'), [2000, 80, 1]);
});

test('windows: ends in UNIX seconds override the range; the end is not part of it', async () => {
  await using bench = await setUp();
  const id = await bench.check('url');
  const monday = Date.parse('2026-11-16T00:00:00Z');
  const november = Date.parse('2026-11-01T00:00:00Z');
  for (const [responseTime, at] of [
    [1, monday],
    [2, monday - 1],
    [4, november],
    [8, november - 1],
  ] as const) {
    await bench.submit(id, 'URL', at, { responseTime });
  }
  const sum = async (query: string) => {
    const answer = await bench.get(
      `analytics/url-monitors/${id}?metrics=responseTime_sum&${query}`,
    );
    return [answer.series[0].data[0].responseTime_sum, answer.from, answer.to];
  };
  assert.deepEqual(await sum('quickRange=last24Hours'), [null, iso(now - 24 * hour), iso(now)]);
  assert.deepEqual(await sum('quickRange=last7Days'), [3, iso(now - 168 * hour), iso(now)]);
  assert.deepEqual(await sum('quickRange=last30Days'), [15, iso(now - 720 * hour), iso(now)]);
  assert.deepEqual(await sum('quickRange=thisWeek'), [1, iso(monday), iso(now)]);
  assert.deepEqual(await sum('quickRange=lastWeek'), [2, iso(monday - 168 * hour), iso(monday)]);
  assert.deepEqual(await sum('quickRange=thisMonth'), [7, iso(november), iso(now)]);
  assert.deepEqual(await sum('quickRange=lastMonth'), [
    8,
    '2026-10-01T00:00:00.000Z',
    iso(november),
  ]);
  assert.deepEqual(await sum(`quickRange=lastMonth&from=${unix(november)}&to=${unix(monday)}`), [
    6,
    iso(november),
    iso(monday),
  ]);
  assert.deepEqual(await sum(`from=${unix(monday)}`), [1, iso(monday), iso(now)]);
  assert.deepEqual(await sum(`to=${unix(monday)}`), [2, iso(monday - 24 * hour), iso(monday)]);
});
