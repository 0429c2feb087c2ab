// Runs on both engines: what is left of lists of ids once an entry that they name is deleted.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { ProjectBody } from '@monitor/shared/contract/compatibility/projects.ts';
import { evaluateDueAlerts } from '../../../control-plane/alerting/index.ts';
import { sweepHeartbeats } from '../../../control-plane/heartbeats/index.ts';
import {
  checksOfOccurrence,
  suppressesIncidents,
  windowsSince,
} from '../../../control-plane/maintenance/index.ts';
import { readWindows } from '../../../control-plane/status-pages/read-windows.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { deployed } from '../../support/projects.ts';
import { hour, iso, minute, now, setUp, type Bench } from '../../support/results.ts';

async function made(bench: Bench, path: string, body: unknown) {
  const answer = await bench.cp.api('POST', `/v1/${path}`, body);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

/** Two of everything that a window may name, of which each first one is deleted. */
async function world(bench: Bench) {
  const pair = async (make: (name: 'gone' | 'left') => Promise<{ id: string | number }>) => {
    const [gone, left] = [await make('gone'), await make('left')];
    return { gone: gone.id, left: left.id };
  };
  const services = await pair((name) => made(bench, 'status-pages/services', { name }));
  const groups = await pair((name) => made(bench, 'check-groups', { name, locations: [] }));
  const pages = await pair((name) =>
    made(bench, 'status-pages', {
      ...{ name, url: name },
      cards: [{ name, services: [{ id: services[name] }] }],
    }),
  );
  const channels = await pair((address) =>
    made(bench, 'alert-channels', { type: 'EMAIL', config: { address: `${address}@a.example` } }),
  );
  const checks = { gone: await bench.check('url'), left: await bench.check('url') };
  return { checks, groups, services, pages, channels };
}

const paths = {
  checks: 'checks',
  groups: 'check-groups',
  services: 'status-pages/services',
  pages: 'status-pages',
  channels: 'alert-channels',
} as const;
type Of = keyof typeof paths;

const none = { checkIds: [], groupIds: [], serviceIds: [], statusPageIds: [] };
const idle = /applies to no check/;
const unseen = /no status page shows it/;

interface Row {
  of: Of;
  /** What names the ids. */
  fields: (ids: readonly unknown[]) => object;
  warns: RegExp;
}

const scoped: [Of, keyof typeof none][] = [
  ['checks', 'checkIds'],
  ['groups', 'groupIds'],
  ['services', 'serviceIds'],
  ['pages', 'statusPageIds'],
];
const rows: Row[] = [
  ...scoped.flatMap(([of, list]): Row[] => [
    { of, fields: (ids) => ({ pauseScope: { ...none, [list]: ids } }), warns: idle },
    { of, fields: (ids) => ({ silenceScope: { ...none, [list]: ids } }), warns: idle },
  ]),
  {
    of: 'services',
    fields: (serviceIds) => ({ tags: ['x'], statusPageVisibility: { serviceIds } }),
    warns: unseen,
  },
  ...[true, false].map((affectAllServices): Row => ({
    of: 'pages',
    fields: (statusPageIds) => ({
      tags: ['x'],
      statusPageVisibility: { statusPageIds, affectAllServices, suppressAutoIncidents: true },
    }),
    warns: unseen,
  })),
  {
    of: 'channels',
    fields: (ownerAlertChannelIds) => ({
      ...{ tags: ['x'], ownerAlertChannelIds },
      statusPageVisibility: { affectAllServices: true, autoEnd: false },
    }),
    warns: /nobody is notified/,
  },
];

test('windows lose the ids of what is deleted, select no more than before, and can be saved, exported and imported', async () => {
  await using bench = await setUp({ requestsPerMinute: 0 });
  const { cp } = bench;
  const { db } = cp.controlPlane.services;
  const ids = await world(bench);
  const page = { accountId: cp.accountId, pageId: String(ids.pages.left) };
  const windows: (Row & { id: number; what: string; isLast: boolean; startsAt: number })[] = [];
  // Each at an hour of its own.
  for (const [at, row] of rows.entries()) {
    for (const isLast of [false, true]) {
      const { gone, left } = ids[row.of];
      const startsAt = now + (2 * at + Number(isLast)) * 2 * hour;
      const { id } = await made(bench, 'maintenance-windows', {
        ...{ name: 'deploy', startsAt: iso(startsAt), endsAt: iso(startsAt + hour) },
        ...row.fields(isLast ? [gone] : [gone, left]),
      });
      const what = `${row.of} ${JSON.stringify(row.fields(isLast ? ['gone'] : ['gone', 'left']))}`;
      windows.push({ ...row, id, what, isLast, startsAt });
    }
  }
  const selected = async () => {
    const all = await windowsSince(db, cp.accountId, now);
    const shown = await readWindows(db, page, now, now);
    return Promise.all(
      windows.map(async ({ id, what, startsAt }) => {
        const planned = all.find((window) => window.id === id);
        assert.ok(planned !== undefined);
        const serviceId = String(ids.services.left);
        const checks = await checksOfOccurrence(db, cp.accountId, planned);
        return {
          ...{ what, checks: checks.filter((check) => check !== ids.checks.gone) },
          isShown: shown.some(({ window }) => window.id === id),
          suppresses: await suppressesIncidents(db, cp.accountId, serviceId, startsAt),
        };
      }),
    );
  };
  const before = await selected();
  for (const of of Object.keys(paths) as Of[]) {
    const { status } = await cp.api('DELETE', `/v1/${paths[of]}/${ids[of].gone}`);
    assert.equal(status, 204, of);
  }
  assert.deepEqual(await selected(), before);
  for (const { id, of, what, isLast, warns } of windows) {
    const path = `/v1/maintenance-windows/${id}`;
    const { body } = await cp.api('GET', path);
    const { pauseScope, silenceScope, statusPageVisibility, ownerAlertChannelIds } = body;
    const lists = [pauseScope, silenceScope, statusPageVisibility, ownerAlertChannelIds];
    const isNamed = new RegExp(`[[,]${JSON.stringify(ids[of].gone)}[\\],]`);
    assert.doesNotMatch(JSON.stringify(lists), isNamed, what);
    if (isLast) assert.match(body.warnings.join(), warns, what);
    else assert.equal(body.warnings, undefined, what);
    const { id: _id, nextOccurrences: _next, created_at: _made, updated_at: _on, ...put } = body;
    delete put.warnings;
    const saved = await cp.api('PUT', path, put);
    assert.equal(saved.status, 200, `${what} ${JSON.stringify(saved.body)}`);
  }
  assert.deepEqual(await selected(), before);
  const exported = await cp.api('GET', '/v1/projects/export?logicalId=shop&name=Shop');
  await using other = await startTestControlPlane({ requestsPerMinute: 0 });
  await deployed(other, exported.body as ProjectBody);
});

test('a step of an escalation policy loses a channel that is deleted; the only one that it notifies stays', async () => {
  await using bench = await setUp({ requestsPerMinute: 0 });
  const { cp } = bench;
  const { channels } = await world(bench);
  const steps = [
    { alertChannelIds: [channels.gone, channels.left] },
    { alertChannelIds: [channels.left] },
  ];
  const { id } = await made(bench, 'escalation-policies', { name: 'Night', steps });
  const stepsNow = async () =>
    (await cp.api('GET', `/v1/escalation-policies/${id}`)).body.steps.map(
      (step: { alertChannelIds: number[] }) => step.alertChannelIds,
    );
  const refused = await cp.api('DELETE', `/v1/alert-channels/${channels.left}`);
  assert.equal(refused.status, 409);
  assert.match(refused.body.message, /policy "Night" notifies this channel and nobody else/);
  assert.deepEqual(await stepsNow(), [[channels.gone, channels.left], [channels.left]]);
  assert.equal((await cp.api('DELETE', `/v1/alert-channels/${channels.gone}`)).status, 204);
  assert.deepEqual(await stepsNow(), [[channels.left], [channels.left]]);
});

interface Left {
  bench: Bench;
  check: string;
  group: number;
  service: string;
  page: string;
}

const put = ({ bench }: Left, path: string, body: object) => bench.cp.api('PUT', path, body);
const remove = ({ bench }: Left, path: string) => bench.cp.api('DELETE', path);
const isReleased = true;
/** By what a window selects a check, what is changed, and whether the check leaves it. */
const leaving: [string, string, (left: Left) => Promise<{ status: number }>, boolean][] = [
  ['tags', 'its tags', (it) => put(it, `/v1/checks/${it.check}`, { tags: [] }), isReleased],
  ['tags', 'its name', (it) => put(it, `/v1/checks/${it.check}`, { name: 'b' }), !isReleased],
  [
    'groupTags',
    'the tags of its group',
    (it) => put(it, `/v1/check-groups/${it.group}`, { name: 'g', tags: [] }),
    isReleased,
  ],
  [
    'groupIds',
    'its group',
    (it) => put(it, `/v1/checks/${it.check}`, { groupId: null }),
    isReleased,
  ],
  [
    'groupIds',
    'the name of its group',
    (it) => put(it, `/v1/check-groups/${it.group}`, { name: 'h' }),
    !isReleased,
  ],
  [
    'serviceIds',
    'what its service follows',
    (it) => put(it, `/v1/status-pages/services/${it.service}`, { name: 'a', follows: null }),
    isReleased,
  ],
  [
    'serviceIds',
    'the name of its service',
    (it) => put(it, `/v1/status-pages/services/${it.service}`, { name: 'b' }),
    !isReleased,
  ],
  [
    'serviceIds',
    'its service',
    (it) => remove(it, `/v1/status-pages/services/${it.service}`),
    isReleased,
  ],
  [
    'statusPageIds',
    'the cards of its page',
    (it) => put(it, `/v1/status-pages/${it.page}`, { name: 'p', url: it.check, cards: [] }),
    isReleased,
  ],
  ['statusPageIds', 'its page', (it) => remove(it, `/v1/status-pages/${it.page}`), isReleased],
];

test('what a window holds is released within seconds once a check leaves it, by whatever way', async () => {
  await using bench = await setUp({ requestsPerMinute: 0 });
  const { cp, clock } = bench;
  const { services } = cp.controlPlane;
  const cases: { what: string; check: string; leave: () => Promise<unknown>; isGone: boolean }[] =
    [];
  for (const [selects, how, leave, isGone] of leaving) {
    for (const way of ['paused', 'silenced'] as const) {
      const what = `${how}, ${way}`;
      const { id: group } = await made(bench, 'check-groups', {
        ...{ name: 'g', tags: [`group ${what}`], locations: [] },
      });
      const { id: check, heartbeat } = await made(bench, 'checks/heartbeat', {
        ...{ name: 'nightly', tags: [what], groupId: group },
        heartbeat: { period: 10, periodUnit: 'minutes', grace: 1, graceUnit: 'minutes' },
      });
      const follows = { checkIds: [check], rule: 'ANY' };
      const { id: service } = await made(bench, 'status-pages/services', { name: 'a', follows });
      const { id: page } = await made(bench, 'status-pages', {
        ...{ name: 'p', url: check, cards: [{ name: 'c', services: [{ id: service }] }] },
      });
      const lists = { groupIds: [group], serviceIds: [service], statusPageIds: [page] };
      const isByTags = selects === 'tags' || selects === 'groupTags';
      const tags = [selects === 'tags' ? what : `group ${what}`];
      const scope = { [selects]: lists[selects as keyof typeof lists] };
      await made(bench, 'maintenance-windows', {
        ...{ name: 'deploy', startsAt: iso(now + 2 * minute), endsAt: iso(now + 600 * minute) },
        ...(way === 'paused'
          ? isByTags
            ? { tags }
            : { pauseScope: scope }
          : isByTags
            ? { silenceAlertsTags: tags }
            : { silenceScope: scope }),
      });
      await fetch(heartbeat.pingUrl);
      const it = { bench, check, group, service, page };
      cases.push({ what, check, leave: () => leave(it), isGone });
    }
  }
  const alerted = async () => {
    const rows = await services.db.selectFrom('check_alerts').select('check_id').execute();
    return cases
      .filter(({ check }) => rows.some((row) => row.check_id === check))
      .map(({ what }) => what);
  };
  const after = async (ms: number) => {
    clock.advance(ms);
    await sweepHeartbeats(services);
    await evaluateDueAlerts(services);
  };
  for (let passed = 0; passed < 60; passed += 5) await after(5 * minute);
  assert.deepEqual(await alerted(), []);
  for (const { what, leave } of cases) {
    const done = (await leave()) as { status: number; body: unknown };
    assert.match(String(done.status), /^20/, `${what} ${JSON.stringify(done.body)}`);
  }
  const gone = cases.filter(({ isGone }) => isGone).map(({ what }) => what);
  await after(2_000);
  assert.deepEqual(
    await alerted(),
    gone.filter((what) => what.endsWith('silenced')),
  );
  // A heartbeat that was paused has its grace time from now on.
  await after(minute);
  assert.deepEqual(await alerted(), gone);
  for (let passed = 0; passed < 60; passed += 10) await after(10 * minute);
  assert.deepEqual(await alerted(), gone, 'an hour later');
});
