import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import {
  maxSortedByFigures,
  type CheckList,
  type CheckOverview,
} from '@monitor/shared/contract/check-overview.ts';
import { hour, insertResults, iso, minute, now, setUp, type Bench } from '../support/results.ts';

const overview = async (bench: Bench, query = '') =>
  (await bench.get(`check-overview${query}`)) as CheckOverview[];

test('a check without a result is unknown and has no runs', async () => {
  await using bench = await setUp();
  const id = await bench.check('url', { name: 'new', tags: ['b', 'a'] });
  const [check] = await overview(bench);
  assert.equal(check?.id, id);
  assert.equal(check.state, 'UNKNOWN');
  assert.deepEqual(check.tags, ['a', 'b']);
  assert.deepEqual(check.unservedLocations, check.locations);
  assert.deepEqual(check.recentRuns, {
    outcomes: '',
    responseTimes: [],
    newestAt: null,
    oldestAt: null,
  });
});

test('the latest runs come oldest first, with agent errors separate from failures', async () => {
  await using bench = await setUp();
  const id = await bench.check('url');
  const run = (minutesAgo: number, fields: object) =>
    bench.submit(id, 'URL', now - minutesAgo * minute, fields);
  await run(9, { responseTime: 10 });
  await run(7, { responseTime: 20, isDegraded: true });
  await run(5, { responseTime: 30, hasFailures: true });
  await run(3, { responseTime: 7777, hasFailures: true, resultType: 'ATTEMPT' });
  await run(1, { responseTime: 40, hasFailures: true, hasErrors: true });
  const [check] = await overview(bench);
  assert.deepEqual(check?.recentRuns, {
    outcomes: 'PDFE',
    responseTimes: [10, 20, 30, 40],
    newestAt: iso(now - minute),
    oldestAt: iso(now - 9 * minute),
  });
  assert.equal(check.state, 'FAILING');
  assert.equal(check.hasErrors, true);
  assert.equal(check.lastRunAt, iso(now - minute));
  const [short] = await overview(bench, '?runs=2');
  assert.equal(short?.recentRuns.outcomes, 'FE');
  const [none] = await overview(bench, '?runs=0');
  assert.equal(none?.recentRuns.outcomes, '');
});

test('what a group mutes and switches off is muted and off in its checks', async () => {
  await using bench = await setUp();
  const { body } = await bench.cp.api('POST', '/v2/check-groups', {
    name: 'Shop',
    activated: false,
    muted: true,
    locations: ['eu-west-1'],
  });
  const groupId = (body as { id: number }).id;
  await bench.check('url', { name: 'alone' });
  await bench.check('url', { name: 'grouped', groupId });
  const [alone, grouped] = await overview(bench);
  assert.deepEqual([alone?.groupName, alone?.activated, alone?.muted], [null, true, false]);
  assert.deepEqual([grouped?.groupName, grouped?.activated, grouped?.muted], ['Shop', false, true]);
});

test('one check can be asked for; one that does not exist is not found', async () => {
  await using bench = await setUp();
  await bench.check('url', { name: 'a' });
  const id = await bench.check('tcp', { name: 'b' });
  assert.deepEqual(
    (await overview(bench, `?checkId=${id}`)).map(({ name }) => name),
    ['b'],
  );
  const missing = await bench.cp.api('GET', '/v1/check-overview?checkId=nothing');
  assert.equal(missing.status, 404);
  const foreign = await bench.cp.api('GET', `/v1/check-overview?checkId=${id}`, undefined, {
    authorization: `Bearer ${await bench.cp.foreignKey()}`,
  });
  assert.equal(foreign.status, 404);
});

test('results that were cancelled are not among the runs', async () => {
  await using bench = await setUp();
  const id = await bench.check('url');
  await insertResults(bench, id, 'URL', [
    { at: now - 2 * hour, responseTime: 1 },
    { at: now - hour, responseTime: 2 },
  ]);
  await bench.cp.controlPlane.services.db
    .updateTable('check_results')
    .set({ is_cancelled: 1 })
    .where('response_time_ms', '=', 2)
    .execute();
  const [check] = await overview(bench);
  assert.deepEqual(check?.recentRuns.responseTimes, [1]);
});

test('the overview of some checks leaves the others out', async () => {
  await using bench = await setUp();
  const names = ['a', 'b', 'c'];
  const ids: string[] = [];
  for (const name of names) ids.push(await bench.check('url', { name, tags: [name] }));
  const of = async (...given: string[]) =>
    (await overview(bench, `?${given.map((id) => `checkId=${id}`).join('&')}`)).map(
      ({ name, tags, locations }) => [name, tags, locations.length],
    );
  const [a = '', , c = ''] = ids;
  assert.deepEqual(await of(c, a), [
    ['a', ['a'], 2],
    ['c', ['c'], 2],
  ]);
  const gone = '00000000-0000-4000-8000-000000000000';
  assert.deepEqual(
    await of(gone, c),
    [['c', ['c'], 2]],
    'one that is deleted meanwhile is left out',
  );
  assert.equal((await bench.cp.api('GET', `/v1/check-overview?checkId=${gone}`)).status, 404);
});

test('a check that only ever ended with agent errors is unknown, not passing', async () => {
  await using bench = await setUp();
  const id = await bench.check('url');
  await bench.submit(id, 'URL', now - minute, { hasFailures: true, hasErrors: true });
  const [check] = await overview(bench);
  assert.deepEqual([check?.state, check?.status], ['UNKNOWN', 'UNSERVED']);
});

test('the list gives a page of lines by group, of the checks that match', async () => {
  await using bench = await setUp();
  const group = async (fields: object): Promise<number> => {
    const { body } = await bench.cp.api('POST', '/v2/check-groups', { ...fields, locations: [] });
    return (body as { id: number }).id;
  };
  const shop = await group({ name: 'Shop' });
  const old = await group({ name: 'Old', activated: false });
  const failing = await bench.check('url', { name: 'b', tags: ['Public'] });
  await bench.submit(failing, 'URL', now - minute, { hasFailures: true });
  await bench.check('tcp', { name: 'Port 10', groupId: shop });
  await bench.check('tcp', { name: 'Port 9', groupId: shop, locations: ['eu-west-1'] });
  await bench.check('url', { name: 'was', groupId: old });
  const trial = await bench.check('url', { name: 'trial', tags: ['tried'] });
  const { db } = bench.cp.controlPlane.services;
  await db.updateTable('checks').set({ is_trial: 1 }).where('id', '=', trial).execute();
  const list = async (query = ''): Promise<CheckList> =>
    (await bench.get(`check-overview/list?${query}`)) as CheckList;
  const lines = async (query: string): Promise<unknown[]> =>
    (await list(query)).lines.map(({ group: of, check }) => check?.name ?? of?.name ?? null);

  const all = await list();
  assert.deepEqual(all.statusCounts, [
    { status: 'FAILING', checks: 1 },
    { status: 'UNSERVED', checks: 2 },
    { status: 'INACTIVE', checks: 1 },
  ]);
  assert.deepEqual([all.matching, all.types, all.tags], [4, ['TCP', 'URL'], ['Public']]);
  const inOrder = [null, 'b', 'Shop', 'Port 9', 'Port 10', 'Old', 'was'];
  for (const [query, expected] of [
    ['', inOrder],
    ['limit=3&page=2', inOrder.slice(3, 6)],
    ['limit=3&page=4', []],
    [`folded=${shop}&folded=0`, [null, 'Shop', 'Old', 'was']],
    ['sort=name&reversed=true&search=o', ['Old', 'was', 'Shop', 'Port 10', 'Port 9']],
    ['search=pub', ['b']],
    ['search=PORT shop', ['Shop', 'Port 9', 'Port 10']],
    ['search=us-east port', ['Shop', 'Port 10']],
    ['search=port nothing', []],
    ['search=url', [null, 'b', 'Old', 'was']],
    ['search=públic', ['b']],
    ['name=9', ['Shop', 'Port 9']],
    ['name=shop', []],
    ['tag=tried', []],
    ['tag=Public', ['b']],
    ['tag=public', []],
    ['status=UNSERVED&checkType=TCP', ['Shop', 'Port 9', 'Port 10']],
    ['status=UNSERVED&checkType=URL', []],
    ['sort=availability', inOrder],
  ] as const) {
    assert.deepEqual(await lines(query), expected, query);
  }
  const foreign = await bench.cp.api('GET', '/v1/check-overview/list', undefined, {
    authorization: `Bearer ${await bench.cp.foreignKey()}`,
  });
  assert.deepEqual(
    [foreign.body.lines, foreign.body.statusCounts, foreign.body.tags],
    [[], [], []],
  );
  for (const wrong of ['sort=size', `search=${'a+'.repeat(21)}`, 'status=passing', 'folded=-1']) {
    assert.equal(
      (await bench.cp.api('GET', `/v1/check-overview/list?${wrong}`)).status,
      400,
      wrong,
    );
  }
});

test('more checks than can be sorted by figures are by status, and the answer says so', async () => {
  await using bench = await setUp();
  await bench.check('url', { name: 'first' });
  const { db } = bench.cp.controlPlane.services;
  const row = await db.selectFrom('checks').selectAll().executeTakeFirstOrThrow();
  await db.transaction().execute(async (unit) => {
    for (let index = 0; index < maxSortedByFigures; index += 1) {
      const id = randomUUID();
      await unit
        .insertInto('checks')
        .values({ ...row, id, name: `Check ${index}` })
        .execute();
    }
  });
  for (const [query, sort] of [
    ['sort=p95', 'status'],
    ['sort=p95&name=check', 'p95'],
    ['sort=name', 'name'],
  ]) {
    const list = (await bench.get(`check-overview/list?limit=1&${query}`)) as CheckList;
    assert.equal(list.sort, sort, query);
  }
});
