// SQLite only: the statements of results, analytics and pages run on both in their own tests.
import assert from 'node:assert/strict';
import test from 'node:test';
import { gzipSync } from 'node:zlib';
import {
  followedState,
  isMeasured,
  shownState,
  type Run,
  type ServiceRule,
} from '../../control-plane/status-pages/decide/follow-checks.ts';
import { sweepOnceRead } from '../support/control-plane.ts';
import { iso, minute, now, setUp, type Bench } from '../support/results.ts';

const rule = (fields: Partial<ServiceRule> = {}): ServiceRule => ({
  ...{ by: 'ANY', failing: 'major_outage', degraded: 'degraded_performance', afterMinutes: 0 },
  ...fields,
});
const outcomes = { P: 'passing', D: 'degraded', F: 'failing', E: 'inconclusive' } as const;
/** `PPF@a`: runs of a minute each, the newest last; of a location. */
const runs = (text: string): Run[] => {
  const [letters = '', location = 'a'] = text.split('@');
  return [...letters].map((letter, at) => ({
    startedAt: (at - letters.length + 1) * minute,
    location,
    outcome: outcomes[letter as keyof typeof outcomes],
  }));
};
/** Those of several locations are one check's. */
const check = (text: string) => text.split(' ').flatMap(runs);

test('a service is in the state that its rule makes of its checks', () => {
  for (const [fields, checks, expected] of [
    [{}, [], 'operational'],
    [{}, ['PPP', 'PPP'], 'operational'],
    [{}, ['PPP', 'PPF'], 'major_outage'],
    [{}, ['PPP', 'PFE'], 'major_outage'],
    [{}, ['PPE', ''], 'operational'],
    [{}, ['PPD', 'PPP'], 'degraded_performance'],
    [{ failing: 'partial_outage' }, ['PPF'], 'partial_outage'],
    [{ degraded: 'operational' }, ['PPD'], 'operational'],
    [{ by: 'MAJORITY' }, ['F', 'P', 'P'], 'operational'],
    [{ by: 'MAJORITY' }, ['F', 'P'], 'operational'],
    [{ by: 'MAJORITY' }, ['F', 'F', 'P'], 'major_outage'],
    [{ by: 'MAJORITY' }, ['F', 'D', 'P'], 'degraded_performance'],
    [{ by: 'LOCATION' }, ['F@a P@b P@c'], 'operational'],
    [{ by: 'LOCATION' }, ['F@a F@b P@c'], 'major_outage'],
    [{ by: 'LOCATION' }, ['F@a P@b', 'P@a F@b'], 'major_outage'],
    // The check no longer runs at a and b.
    [{ by: 'LOCATION' }, ['F@a F@b P@c P@c P@c P@c P@c P@c'], 'operational'],
    [{ afterMinutes: 2 }, ['PPF'], 'operational'],
    [{ afterMinutes: 2 }, ['PFF'], 'operational'],
    [{ afterMinutes: 2 }, ['FFF'], 'major_outage'],
    [{ afterMinutes: 2 }, ['DFF'], 'degraded_performance'],
    [{ afterMinutes: 2, by: 'MAJORITY' }, ['FFF', 'PPF', 'PPP'], 'operational'],
  ] as const) {
    assert.equal(followedState(rule(fields), checks.map(check), 0), expected, checks.join());
  }
  const override = { state: 'operational', until: 5 } as const;
  assert.equal(shownState('major_outage', override, false, 4), 'operational');
  assert.equal(shownState('major_outage', override, false, 5), 'major_outage');
  assert.equal(shownState('major_outage', null, true, 5), 'operational', 'it is planned');
});

test('what nobody measures is not known to be well', () => {
  const every = (intervalMs: number | null) => (text: string) => ({ runs: runs(text), intervalMs });
  for (const [checks, afterMs, expected] of [
    [[], 0, true],
    [['PPP'].map(every(minute)), 10 * minute, true],
    [['PPP'].map(every(minute)), 10 * minute + 1, false],
    [['PPP'].map(every(10 * minute)), 30 * minute, true],
    [['PPP'].map(every(10 * minute)), 30 * minute + 1, false],
    [['FEEEEEEEEEEEE'].map(every(minute)), 0, false],
    [['FEEEEEEEEEE'].map(every(minute)), 0, true],
    [['EE'].map(every(minute)), 0, false],
    [[''].map(every(minute)), 0, false],
    [[...['E'].map(every(minute)), ...['P'].map(every(minute))], 0, true],
    [[''].map(every(null)), 60 * minute, true],
  ] as const) {
    assert.equal(isMeasured(checks, afterMs), expected, JSON.stringify(checks));
  }
  // Turns that maintenance left out are not missed.
  for (const [paused, afterMs, expected] of [
    [[[5, 65]], 70 * minute, true],
    [[[5, 65]], 70 * minute + 1, false],
    [[[-30, 60]], 70 * minute, true],
    [
      [
        [5, 25],
        [30, 50],
      ],
      50 * minute,
      true,
    ],
    [[[5, 65]], 9 * minute, true],
    [[[5, 600]], 60 * minute, true],
    [[], 10 * minute + 1, false],
  ] as const) {
    const spans = paused.map(([from, to]) => ({ startsAt: from * minute, endsAt: to * minute }));
    const checks = [{ ...every(minute)('P'), paused: spans }];
    assert.equal(isMeasured(checks, afterMs), expected, JSON.stringify(paused));
  }
});

const post = async (bench: Bench, path: string, body: unknown) => {
  const answer = await bench.cp.api('POST', path, body);
  assert.match(String(answer.status), /^20/, JSON.stringify(answer.body));
  return answer.body;
};
const pageOf = (bench: Bench, services: object[]) =>
  post(bench, '/v1/status-pages', {
    ...{ name: 'Shop', url: 'shop', cards: [{ name: 'Web', services }] },
  });
const seen = async (bench: Bench, path: string) => (await fetch(`${bench.cp.url}${path}`)).text();
const failed = { hasFailures: true, errorMessages: ['HTTP 500'] };

test('a page shows what the checks of a service report, and the uptime that analytics has', async () => {
  await using bench = await setUp({ requestsPerMinute: 0 });
  const [one, two] = [await bench.check('url'), await bench.check('url')];
  const follows = { checkIds: [one], rule: 'ANY' };
  const service = await post(bench, '/v1/status-pages/services', { name: 'Search', follows });
  const path = `/v1/status-pages/services/${service.id}`;
  assert.deepEqual(service.follows.checkIds, [one]);
  await pageOf(bench, [{ id: service.id }]);
  const stateNow = async () => {
    // Pages are read once a second; this is the next one.
    bench.clock.advance(1_000);
    const summary = await seen(bench, '/status/shop/api/v2/components.json');
    return (JSON.parse(summary) as { components: { status: string }[] }).components[0]?.status;
  };
  for (let at = 0; at < 6; at += 1) {
    await bench.submit(one, 'URL', now - (60 - at) * minute, at === 2 ? failed : {});
  }
  assert.equal(await stateNow(), 'operational');
  const at = bench.clock.now();
  await bench.submit(one, 'URL', at, failed);
  assert.equal(await stateNow(), 'major_outage');

  const overridden = {
    name: 'Search',
    stateOverride: { state: 'DEGRADED_PERFORMANCE', until: iso(at + 2 * minute) },
  };
  const { body } = await bench.cp.api('PUT', path, overridden);
  assert.deepEqual(body.follows.checkIds, [one], 'what is not said stays');
  assert.equal(await stateNow(), 'degraded_performance');
  bench.clock.advance(2 * minute);
  assert.equal(await stateNow(), 'major_outage');
  assert.doesNotMatch(await seen(bench, '/status/shop'), /Not measured/);

  const report = await bench.get(
    `analytics/url-monitors/${one}?quickRange=last30Days&metrics=availability`,
  );
  const expected = report.series[0].data[0].availability as number;
  const html = await seen(bench, '/status/shop');
  const shown = Number(/([\d.]+)% uptime/.exec(html)?.[1]);
  assert.ok(Math.abs(shown - expected) <= 0.01, `${shown} is not ${expected}`);

  const silent = await post(bench, '/v1/maintenance-windows', {
    ...{
      name: 'Move',
      startsAt: iso(bench.clock.now()),
      endsAt: iso(bench.clock.now() + 60 * minute),
    },
    silenceScope: { serviceIds: [service.id] },
    statusPageVisibility: { serviceIds: [service.id] },
  });
  assert.equal(await stateNow(), 'under_maintenance');
  await bench.cp.api('DELETE', `/v1/maintenance-windows/${silent.id}`);
  const changed = await bench.cp.api('PUT', path, { name: 'Search', follows: { checkIds: [two] } });
  assert.equal(changed.status, 200);
  // Nobody has run it yet.
  assert.equal(await stateNow(), 'operational');
  const unmeasured = await seen(bench, '/status/shop');
  assert.match(unmeasured, /<h1>No known problems<\/h1>/);
  assert.match(unmeasured, /Not measured at the moment/);
  assert.doesNotMatch(unmeasured, /All systems operational/);
  const badge = JSON.parse(await seen(bench, '/status/shop/badge.json')) as object;
  assert.deepEqual({ ...badge, message: 'no known problems', color: 'lightgrey' }, badge);
  const feed = `/status/shop/services/${service.id}/feed.json`;
  const isWell = async () => [
    // The sign of what is well is a hook.
    (await seen(bench, '/status/shop')).includes('M5.8%2010.4l2.8%202.8'),
    JSON.parse(await seen(bench, feed)).description as string,
  ];
  assert.deepEqual(await isWell(), [false, 'Not measured at the moment']);
  await bench.submit(two, 'URL', bench.clock.now());
  assert.equal(await stateNow(), 'operational');
  assert.deepEqual(await isWell(), [true, 'Operational']);
  assert.match(await seen(bench, '/status/shop'), /<h1>All systems operational<\/h1>/);
  const unknown = { name: 'Search', follows: { groupIds: [900_000] } };
  assert.equal((await bench.cp.api('PUT', path, unknown)).status, 400);
});

test('after maintenance a service is what it was, until its monitors had time to run', async () => {
  for (const [selects, isMeasuredThen] of [
    [(id: string) => ({ pauseScope: { serviceIds: [id] } }), true],
    // Its monitors ran on, and said nothing.
    [(id: string) => ({ silenceScope: { serviceIds: [id] } }), false],
  ] as const) {
    await using bench = await setUp({ requestsPerMinute: 0 });
    const check = await bench.check('url');
    const follows = { checkIds: [check], rule: 'ANY' };
    const service = await post(bench, '/v1/status-pages/services', { name: 'Search', follows });
    await pageOf(bench, [{ id: service.id }]);
    await post(bench, '/v1/maintenance-windows', {
      ...{ name: 'Move', startsAt: iso(now + minute), endsAt: iso(now + 31 * minute) },
      ...{ ...selects(service.id), statusPageVisibility: { serviceIds: [service.id] } },
    });
    await bench.submit(check, 'URL', now);
    const said: (string | undefined)[] = [];
    for (const at of [30, 32, 42]) {
      bench.clock.setWall(now + at * minute);
      bench.clock.advance(1_000);
      const html = await seen(bench, '/status/shop');
      said.push(/<h1>([^<]+)/.exec(html)?.[1]);
    }
    const then = isMeasuredThen ? 'All systems operational' : 'No known problems';
    assert.deepEqual(said, ['Under maintenance', then, 'No known problems']);
  }
});

test('a heartbeat that is activated again does not fail until it misses a ping, by whichever door', async () => {
  const period = { period: 10, periodUnit: 'minutes', grace: 0, graceUnit: 'minutes' };
  for (const by of ['check', 'group'] as const) {
    await using bench = await setUp({ requestsPerMinute: 0 });
    const { services } = bench.cp.controlPlane;
    const group = await post(bench, '/v2/check-groups', { name: 'jobs' });
    const { id, heartbeat } = await post(bench, '/v1/checks/heartbeat', {
      ...{ name: 'job', groupId: group.id, heartbeat: period },
    });
    const follows = { checkIds: [id], rule: 'ANY' };
    const service = await post(bench, '/v1/status-pages/services', { name: 'Backup', follows });
    await pageOf(bench, [{ id: service.id }]);
    const put = (body: object) =>
      by === 'group'
        ? bench.cp.api('PUT', `/v2/check-groups/${group.id}`, { name: 'jobs', ...body })
        : bench.cp.api('PUT', `/v1/checks/heartbeat/${id}`, body);
    const after = async (minutes: number) => {
      bench.clock.advance(minutes * minute);
      await sweepOnceRead(services);
      bench.clock.advance(1_000);
      const [{ status }] = await bench.get('check-overview');
      const { hasFailures } = await bench.get(`check-statuses/${id}`);
      const html = await seen(bench, '/status/shop');
      return [status, hasFailures, /<h1>([^<]+)/.exec(html)?.[1]];
    };
    const well = ['PASSING', false, 'All systems operational'];
    const failing = ['FAILING', true, 'Major outage'];
    await fetch(heartbeat.pingUrl as string);
    assert.deepEqual(await after(1), well);
    assert.deepEqual(await after(10), failing);
    // A save alone is no news.
    await put({ tags: ['night'] });
    assert.deepEqual(await after(1), failing);
    await put({ activated: false });
    assert.equal((await after(1))[0], 'INACTIVE');
    await put({ activated: true });
    assert.deepEqual(await after(1), well);
    assert.deepEqual(await after(10), failing);
    await fetch(heartbeat.pingUrl as string);
    assert.deepEqual(await after(1), well);
  }
});

test('a page of 300 services can be searched without a script, folds its cards and stays small', async () => {
  await using bench = await setUp({ requestsPerMinute: 0 });
  const ids: string[] = [];
  for (let at = 0; at < 300; at += 1) {
    const { id } = await post(bench, '/v1/status-pages/services', { name: `Service ${at}` });
    ids.push(id as string);
  }
  const cards = Array.from({ length: 10 }, (_, card) => ({
    name: `Group ${card}`,
    services: ids.slice(card * 30, card * 30 + 30).map((id) => ({ id })),
  }));
  await post(bench, '/v1/status-pages', { name: 'Shop', url: 'shop', cards });
  const page = await seen(bench, '/status/shop');
  const size = gzipSync(page).length;
  assert.ok(size <= 25 * 1024, `${size} bytes`);
  assert.doesNotMatch(page, /<script/);
  assert.equal([...page.matchAll(/<details class="fold"/g)].length, 10);
  assert.equal(
    [...page.matchAll(/feed\.rss/g)].length,
    2,
    'feeds of services are behind one choice',
  );
  const found = await seen(bench, '/status/shop?q=service+29');
  assert.match(found, /[^-\d]11 of 300 services/);
  assert.doesNotMatch(found, /<b>Service 1<\/b>/);
  const feeds = await seen(bench, `/status/shop/feeds?service=${ids[7]}`);
  assert.match(feeds, new RegExp(`/services/${ids[7]}/feed.rss`));
});
