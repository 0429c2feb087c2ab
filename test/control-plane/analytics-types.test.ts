import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { analyticsOf } from '@monitor/shared/domain/metrics.ts';
import { sweepHeartbeats } from '../../control-plane/heartbeats/heartbeats.ts';
import { hour, insertResults, iso, minute, now, setUp, unix } from '../support/results.ts';

test('what is wrong with a query is refused by the name of its field', async () => {
  await using bench = await setUp();
  const id = await bench.check('url');
  const url = `analytics/url-monitors/${id}?metrics=availability`;
  const rows: [path: string, keys: string[]][] = [
    [`analytics/url-monitors/${id}`, ['metrics']],
    [`analytics/url-monitors/${id}?metrics=`, ['metrics']],
    [`analytics/url-monitors/${id}?metrics=availability,packetLoss_avg`, ['metrics']],
    [`analytics/url-monitors/${id}?metrics=availability_avg`, ['metrics']],
    [`analytics/url-monitors/${id}?metrics=responseTime_p42`, ['metrics']],
    [`${url}&groupBy=pageIndex`, ['groupBy']],
    [`${url}&from=2000&to=1000`, ['to']],
    [`${url}&from=${unix(now) + 1}`, ['from']],
    [`${url}&from=soon`, ['from']],
    [`${url}&quickRange=last24Hrs`, ['quickRange']],
    [`${url}&aggregationInterval=0`, ['aggregationInterval']],
    [`${url}&aggregationInterval=43201`, ['aggregationInterval']],
    [`${url}&filterByStatus=success,broken`, ['filterByStatus']],
    [`${url}&limit=101`, ['limit']],
    [`${url}&page=0`, ['page']],
    [`analytics/tcp-checks/${id}?metrics=total&groupBy=statusCode`, ['groupBy']],
    [`analytics/heartbeat-checks/${id}?filterByStatus=success`, ['filterByStatus']],
    ['analytics/metrics', ['checkType']],
    ['analytics/metrics?checkType=PING', ['checkType']],
    ['reporting?quickRange=last24Hours', ['quickRange']],
    ['reporting?from=2000&to=1000', ['to']],
    ['reporting?deactivated=yes', ['deactivated']],
  ];
  for (const [path, keys] of rows) assert.deepEqual(await bench.refused(path), keys, path);
});

test('a check is found by its own type only', async () => {
  await using bench = await setUp();
  const ids = new Map<string, string>();
  for (const [type, path] of [
    ['URL', 'url'],
    ['TCP', 'tcp'],
    ['DNS', 'dns'],
    ['ICMP', 'icmp'],
  ] as const) {
    ids.set(type, await bench.check(path));
  }
  const statusOf = async (path: string, id: string) => {
    const target = `/v1/analytics/${path}/${id}?metrics=availability`;
    return (await bench.cp.api('GET', target)).status;
  };
  for (const [type, { operation }] of Object.entries(analyticsOf)) {
    if (operation === null) continue;
    const { path } = operation;
    for (const [ownType, id] of ids) {
      assert.equal(await statusOf(path, id), type === ownType ? 200 : 404, path);
    }
    assert.equal(await statusOf(path, randomUUID()), 404);
  }
});

test('each monitor has the metrics of what its runner saw', async () => {
  await using bench = await setUp();
  const numbers = async (path: string, id: string, metrics: string) => {
    const { series } = await bench.get(`analytics/${path}/${id}?metrics=${metrics}`);
    return Object.values(series[0].data[0] as object);
  };
  const tcp = await bench.check('tcp');
  const phases = { dns: 1.5, connection: 10, data: 3, total: 14.5 };
  await bench.submit(tcp, 'TCP', now - 2 * hour, { response: { timingPhases: phases } });
  await bench.submit(tcp, 'TCP', now - hour, { response: null, hasFailures: true });
  assert.deepEqual(
    await numbers('tcp-checks', tcp, 'total_avg,dns_max,connection_min,data_sum,availability'),
    [14.5, 1.5, 10, 3, 50],
  );
  const dns = await bench.check('dns');
  for (const total of [0.5, 1.25]) {
    await bench.submit(dns, 'DNS', now - total * hour, { response: { timingPhases: { total } } });
  }
  assert.deepEqual(await numbers('dns', dns, 'total_avg,total_p50'), [0.875, 0.875]);
  const icmp = await bench.check('icmp');
  await bench.submit(icmp, 'ICMP', now - 2 * hour, {
    response: { packetLoss: 10, latency: { min: 1, max: 9, avg: 4.5, stdDev: 2 } },
  });
  await bench.submit(icmp, 'ICMP', now - hour, {
    response: { packetLoss: 100, latency: null },
    hasFailures: true,
  });
  assert.deepEqual(
    await numbers(
      'icmp',
      icmp,
      'packetLoss_avg,latencyMin_avg,latencyMax_avg,latencyAvg_avg,latencyStdDev_avg',
    ),
    [55, 1, 9, 4.5, 2],
  );
});

test('heartbeats: availability is the default, and results are filtered by their event', async () => {
  await using bench = await setUp();
  const { body: check } = await bench.cp.api('POST', '/v1/checks/heartbeat', {
    name: 'job',
    heartbeat: { period: 10, periodUnit: 'minutes', grace: 2, graceUnit: 'minutes' },
  });
  const ping = async () => {
    assert.equal((await fetch(check.heartbeat.pingUrl as string)).status, 200);
  };
  await ping();
  bench.clock.advance(5 * minute);
  await ping();
  bench.clock.advance(11 * minute);
  await ping();
  bench.clock.advance(13 * minute);
  await sweepHeartbeats(bench.cp.controlPlane.services);
  bench.clock.advance(minute);
  const numbers = async (query: string) => {
    const { series } = await bench.get(`analytics/heartbeat-checks/${check.id}?${query}`);
    return series[0].data[0];
  };
  // Failing for the last of thirty minutes; of pings asked for, it is their share that counts.
  assert.deepEqual(await numbers(''), { availability: 96.667 });
  const both = 'metrics=availability,retries';
  assert.deepEqual(await numbers(both), { availability: 96.667, retries: 0 });
  assert.deepEqual(await numbers('filterByStatus=FAILING'), { availability: 0 });
  assert.deepEqual(await numbers('filterByStatus=FAILING,GRACE'), { availability: 50 });
  assert.deepEqual(await numbers('filterByStatus=EARLY&filterByStatus=FAILING'), {
    availability: 50,
  });
  assert.deepEqual(await numbers('filterByStatus=LATE'), { availability: null });
});

test('browser checks: vitals are those of the pages, which can be grouped', async () => {
  await using bench = await setUp();
  const id = await bench.check('url', { name: 'shop' });
  const { db } = bench.cp.controlPlane.services;
  await db.updateTable('checks').set({ type: 'BROWSER' }).where('id', '=', id).execute();
  const page = (LCP: number, CLS: number) => ({
    webVitals: { LCP: { score: 'GOOD', value: LCP }, CLS: { score: 'GOOD', value: CLS } },
  });
  const traceSummary = { consoleErrors: 2, networkErrors: 0, documentErrors: 1 };
  await insertResults(bench, id, 'BROWSER', [
    {
      at: now - 2 * hour,
      responseTime: 5000,
      payload: { traceSummary, pages: [page(100, 0.1), page(300, 0.3)] },
    },
    {
      at: now - hour,
      responseTime: 7000,
      payload: { traceSummary: { consoleErrors: 4 }, pages: [page(400, 0)] },
    },
  ]);
  const path = `analytics/browser-checks/${id}?metrics=LCP_avg,CLS_max,consoleErrors_sum,TBT_avg,availability`;
  assert.deepEqual((await bench.get(path)).series, [
    {
      data: [
        { LCP_avg: 300, CLS_max: 0.2, consoleErrors_sum: 6, TBT_avg: null, availability: 100 },
      ],
    },
  ]);
  const pages = await bench.get(`${path}&groupBy=pageIndex`);
  assert.deepEqual(
    pages.series.map((series: { pageIndex: number; data: Record<string, unknown>[] }) => [
      series.pageIndex,
      series.data[0]?.['LCP_avg'],
      series.data[0]?.['CLS_max'],
    ]),
    [
      [0, 250, 0.1],
      [1, 300, 0.3],
    ],
  );
  const points = await bench.get(`analytics/browser-checks/${id}?metrics=LCP,responseTime`);
  assert.deepEqual(points.series[0].data, [
    { startedAt: iso(now - hour), LCP: 400, responseTime: 7000 },
    { startedAt: iso(now - 2 * hour), LCP: 200, responseTime: 5000 },
  ]);
  const figures = await bench.cp.api('POST', '/v1/analytics/checks', { checkIds: [id] });
  assert.equal(figures.body[0].responseTime_avg, 6000);
});

test('suites: the numbers of tests, by project and by test, are those of their reports', async () => {
  await using bench = await setUp();
  const id = await bench.check('url', { name: 'shop' });
  const { db } = bench.cp.controlPlane.services;
  await db.updateTable('checks').set({ type: 'PLAYWRIGHT' }).where('id', '=', id).execute();
  const ran = (
    title: string,
    project: string,
    outcome: string,
    durationMs: number,
    retries = 0,
  ) => ({
    ...{ title, project, outcome, durationMs, retries, file: `${title}.spec.ts` },
  });
  const reports = [
    [ran('basket', 'chromium', 'expected', 100), ran('login', 'chromium', 'flaky', 400, 1)],
    [ran('basket', 'chromium', 'unexpected', 300, 2), ran('login', 'chromium', 'skipped', 0)],
    [ran('basket', 'chromium', 'expected', 200), ran('basket', 'firefox', 'expected', 600)],
    // The installation failed: nothing is known of any test.
    [],
  ];
  const count = (tests: (typeof reports)[number], outcome: string) =>
    tests.filter((each) => each.outcome === outcome).length;
  await insertResults(
    bench,
    id,
    'PLAYWRIGHT',
    reports.map((tests, index) => ({
      at: now - (index + 1) * hour,
      responseTime: 1_000,
      hasFailures: count(tests, 'unexpected') > 0,
      payload: {
        tests,
        metrics: {
          ...{ total: tests.length, passed: count(tests, 'expected') },
          ...{ failed: count(tests, 'unexpected'), flaky: count(tests, 'flaky') },
          ...{ skipped: count(tests, 'skipped'), retries: 0, durationMs: 500, installMs: 40 },
          ...(tests.length === 0 ? {} : { requests: 12, bytes: 3_000, browserStartMs: 300 }),
        },
        pages: tests.map(({ title }, index) => ({
          ...{ url: `https://shop.example/${title}`, visits: 1, requests: 6, bytes: 1_500 },
          webVitals: { LCP: { score: 'GOOD', value: 1_000 + index * 100 } },
        })),
      },
    })),
  );
  const path = `analytics/playwright-checks/${id}?metrics=`;
  const [all] = (
    await bench.get(
      `${path}tests_sum,testsPassed_sum,testsFailed_sum,testsFlaky_sum,installTime_max,requests_sum,bytes_sum,browserStart_max,LCP_max`,
    )
  ).series;
  assert.deepEqual(all.data, [
    {
      ...{ tests_sum: 6, testsPassed_sum: 3, testsFailed_sum: 1, testsFlaky_sum: 1 },
      ...{ installTime_max: 40, requests_sum: 36, bytes_sum: 9_000, browserStart_max: 300 },
      // Of a run: the mean of its pages.
      LCP_max: 1_050,
    },
  ]);
  const by = async (groupBy: string) =>
    (
      await bench.get(
        `${path}availability,tests_sum,testsFailed_sum,testsFlaky_sum,testRetries_sum,testDuration_max&groupBy=${groupBy}`,
      )
    ).series.map((series: Record<string, unknown> & { data: object[] }) => [
      series[groupBy],
      ...Object.values(series.data[0] ?? {}),
    ]);
  // Availability, tests, failed, flaky, retries, the longest in ms.
  assert.deepEqual(await by('test'), [
    ['basket.spec.ts › basket [chromium]', 66.667, 3, 1, 0, 2, 300],
    ['basket.spec.ts › basket [firefox]', 100, 1, 0, 0, 0, 600],
    ['login.spec.ts › login [chromium]', 100, 1, 0, 1, 1, 400],
  ]);
  assert.deepEqual(await by('project'), [
    ['chromium', 66.667, 5, 1, 1, 3, 500],
    ['firefox', 100, 1, 0, 0, 0, 600],
  ]);
  // It would be the time and the verdict of the whole suite.
  for (const metric of ['responseTime', 'availability', 'tests_sum']) {
    const { status } = await bench.cp.api('GET', `/v1/${path}${metric}&groupBy=page`);
    assert.equal(status, 400, metric);
  }
  const ofPages = await bench.get(`${path}requests_sum,bytes_max,LCP_avg&groupBy=page`);
  assert.deepEqual(
    ofPages.series.map(({ page, data }: { page: string; data: object[] }) => [
      page,
      ...Object.values(data[0] ?? {}),
    ]),
    [
      // Of two browsers in the third run.
      ['https://shop.example/basket', 24, 1_500, 1_025],
      ['https://shop.example/login', 12, 1_500, 1_100],
    ],
  );
  interface Listed {
    recent: { outcome: string }[];
    failingSinceCommit: unknown;
  }
  const { tests, truncated } = await bench.get(`analytics/playwright-checks/${id}/tests`);
  assert.equal(truncated, false);
  assert.deepEqual(
    tests.map(({ recent, failingSinceCommit: _commit, ...one }: Listed) => ({
      ...one,
      recent: recent.map(({ outcome }) => outcome),
    })),
    [
      {
        ...{ test: 'basket.spec.ts › basket [chromium]', runs: 3, failed: 1, flaky: 0 },
        durationMs: { median: 200, p95: 290, max: 300 },
        ...{ lastOutcome: 'passed', lastRunAt: iso(now - hour), failingSince: null },
        recent: ['passed', 'failed', 'passed'],
      },
      {
        ...{ test: 'basket.spec.ts › basket [firefox]', runs: 1, failed: 0, flaky: 0 },
        durationMs: { median: 600, p95: 600, max: 600 },
        ...{ lastOutcome: 'passed', lastRunAt: iso(now - 3 * hour), failingSince: null },
        recent: ['passed'],
      },
      {
        ...{ test: 'login.spec.ts › login [chromium]', runs: 1, failed: 0, flaky: 1 },
        durationMs: { median: 400, p95: 400, max: 400 },
        ...{ lastOutcome: 'flaky', lastRunAt: iso(now - hour), failingSince: null },
        recent: ['flaky'],
      },
    ],
  );
  const firstBy = async (order: string) =>
    (await bench.get(`analytics/playwright-checks/${id}/tests?limit=1&order=${order}`)).tests[0]
      .test;
  assert.equal(await firstBy('flakiest'), 'login.spec.ts › login [chromium]');
  assert.equal(await firstBy('slowest'), 'basket.spec.ts › basket [firefox]');
  // Since two hours ago, as far as the window goes back: then it failed.
  const until = `from=${unix(now - 3 * hour) - 60}&to=${unix(now - hour) - 60}`;
  const [failing] = (await bench.get(`analytics/playwright-checks/${id}/tests?${until}`)).tests;
  assert.deepEqual([failing.lastOutcome, failing.failingSince], ['failed', iso(now - 2 * hour)]);
  assert.equal(failing.failingSinceCommit, null, 'nothing was deployed');
  const deploy = async (commitId: string) => {
    const repoInfo = { commitId, commitMessage: `Change ${commitId}`, branchName: 7 };
    const body = { project: { logicalId: 'suite', name: 'Suite' }, resources: [], repoInfo };
    const answer = await bench.cp.api('POST', '/next-v2/projects/deploy', body);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
  };
  await deploy('a1');
  bench.clock.advance(2 * hour);
  await deploy('b2');
  const project = await db.selectFrom('projects').select('id').executeTakeFirstOrThrow();
  await db
    .insertInto('project_resources')
    .values({
      ...{ account_id: bench.cp.accountId, project_id: project.id, type: 'check' },
      ...{ logical_id: 'suite', physical_id: id, is_uncommitted: 0 },
    })
    .execute();
  const tests2 = [ran('basket', 'chromium', 'unexpected', 1)];
  const failed = { at: now + hour, responseTime: 1, hasFailures: true, payload: { tests: tests2 } };
  await insertResults(bench, id, 'PLAYWRIGHT', [failed]);
  const { tests: after } = await bench.get(`analytics/playwright-checks/${id}/tests?order=failing`);
  assert.deepEqual(after[0].failingSinceCommit, {
    ...{ id: 'a1', message: 'Change a1', author: null, branch: null },
  });
});
