/** Incidents and drafts that services open, one for each cause, and their end. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Run } from '../../control-plane/status-pages/decide/follow-checks.ts';
import {
  grouped,
  judge,
  leaving,
  type Troubled,
} from '../../control-plane/status-pages/decide/service-incidents.ts';
import { openServiceIncidents } from '../../control-plane/status-pages/index.ts';
import { iso, minute, setUp, type Bench } from '../support/results.ts';

const outcomes = { P: 'passing', F: 'failing', E: 'inconclusive' } as const;
const runsOf = (letters: string): Run[] =>
  [...letters].map((letter, at) => ({
    startedAt: (at - letters.length + 1) * minute,
    location: 'a',
    outcome: outcomes[letter as keyof typeof outcomes],
  }));

test('a service has trouble, has recovered, or neither can be said', () => {
  const rule = {
    by: 'ANY',
    failing: 'major_outage',
    degraded: 'operational',
    afterMinutes: 0,
  } as const;
  const shown = { state: 'operational', until: 5 } as const;
  const judged = (
    runs: Record<string, string>,
    { planned = [] as string[], fields = {}, override = null as typeof shown | null } = {},
  ) => {
    const byCheck = new Map(Object.entries(runs).map(([id, each]) => [id, runsOf(each)]));
    const service = { rule: { ...rule, ...fields }, override, runs: byCheck };
    return judge(service, new Set(planned), 0);
  };
  assert.equal(judged({ a: 'PF' }), 'trouble');
  assert.equal(judged({ a: 'FP' }), 'recovered');
  assert.equal(judged({ a: 'FE' }), 'trouble', 'a run without a verdict changes nothing');
  assert.equal(judged({ a: 'EEE' }), 'undecided', 'nobody knows how it is');
  assert.equal(judged({ a: 'P', b: 'EE' }), 'undecided');
  assert.equal(judged({ a: '' }), 'undecided', 'nothing ran');
  assert.equal(judged({ a: 'P', b: '' }), 'recovered', 'b never ran');
  assert.equal(judged({}), 'noChecks');
  assert.equal(judged({ a: 'F' }, { override: shown }), 'undecided', 'a person says otherwise');
  assert.equal(judged({ a: 'F' }, { planned: ['a'] }), 'undecided', 'planned work');
  assert.equal(judged({ a: 'F', b: 'F' }, { planned: ['a'] }), 'trouble', 'b is not planned');
  assert.equal(judged({ a: 'F', b: 'P' }, { planned: ['a'] }), 'undecided', 'a may still fail');
  assert.equal(judged({ a: 'F' }, { fields: { afterMinutes: 1 } }), 'recovered', 'not shown yet');
  assert.equal(judged({ a: 'F', b: 'P', c: 'P' }, { fields: { by: 'MAJORITY' } }), 'recovered');
});

test('services with one cause or one failing check share an incident, others do not', () => {
  const service = (id: string, fields: Partial<Troubled> = {}): Troubled => ({
    ...{
      id,
      checkIds: [id],
      cause: null,
      pages: 'p',
      isPublic: true,
      groupId: null,
      isOpen: false,
    },
    ...fields,
  });
  const one = { cause: 'host-down/a' };
  const member = { ...one, groupId: 'g', isOpen: true };
  for (const [given, expected] of [
    [[service('a', one), service('b', one)], [[null, ['a', 'b']]]],
    [
      [service('a', one), service('b', { cause: 'host-down/b' })],
      [
        [null, ['a']],
        [null, ['b']],
      ],
    ],
    [
      [service('a'), service('b')],
      [
        [null, ['a']],
        [null, ['b']],
      ],
    ],
    [[service('a'), service('b', { checkIds: ['a', 'b'] })], [[null, ['a', 'b']]]],
    // A shares a check with B, and B a cause with C.
    [
      [service('a'), service('c', one), service('b', { ...one, checkIds: ['a'] })],
      [[null, ['a', 'b', 'c']]],
    ],
    [[service('m', member), service('a', one)], [['g', ['a']]]],
    [[service('m', { ...member, isOpen: false }), service('a', one)], [[null, ['a']]]],
    [[service('m', member), service('a', { ...one, isPublic: false })], [[null, ['a']]]],
    [[service('m', { ...member, isPublic: false }), service('a', one)], [[null, ['a']]]],
    [[service('m', member)], []],
    // Who may read of one may not read of the other.
    [
      [service('a', one), service('b', { ...one, pages: 'p q' })],
      [
        [null, ['a']],
        [null, ['b']],
      ],
    ],
  ] as const) {
    assert.deepEqual(
      grouped(given).map(({ joins, ids }) => [joins, ids]),
      expected,
    );
  }
});

test('what is open ends together, what a person closed each by itself', () => {
  const member = (id: string, isOpen: boolean) => ({ id, groupId: 'g', isOpen });
  const [a, b] = [member('a', true), member('b', true)];
  assert.deepEqual(leaving([a, b], new Set(['a'])), []);
  assert.deepEqual(leaving([a, b], new Set(['a', 'b'])), ['a', 'b']);
  assert.deepEqual(leaving([member('a', false), member('b', false)], new Set(['a'])), ['a']);
});

const log = { setup: [], request: [], teardown: [] };
const exchange = (further: Record<string, unknown>) => ({
  ...{ assertions: [], request: {}, response: null, requestError: null, jobLog: log },
  ...{ jobAssets: null, pcapDataUrl: null, networkDiagnostics: null },
  ...further,
});
const refused = (hostname: string) => ({
  hasFailures: true,
  apiCheckResult: exchange({
    request: { hostname, port: 80 },
    requestError: `the connection was refused: ${hostname}:80 (ECONNREFUSED)`,
  }),
});
const connected = (hostname: string) => ({
  apiCheckResult: exchange({
    request: { hostname, port: 80 },
    response: { remoteAddress: '10.0.0.7', timingPhases: { dns: 1, connection: 2, total: 3 } },
  }),
});

class Scene {
  readonly bench: Bench;
  constructor(bench: Bench) {
    this.bench = bench;
  }

  async post(path: string, body: unknown) {
    const answer = await this.bench.cp.api('POST', `/v1/${path}`, body);
    assert.match(String(answer.status), /^20/, JSON.stringify(answer.body));
    return answer.body;
  }

  async service(name: string, hostname: string, opens: Record<string, unknown>, follows = {}) {
    const check = await this.bench.check('tcp', {
      ...{ name, request: { hostname, port: 80 }, runParallel: true, locations: ['eu-west-1'] },
    });
    const given = { name: `${name} is down`, ...opens };
    const body = { name, follows: { checkIds: [check], opens: given, ...follows } };
    const service = await this.post('status-pages/services', body);
    return { check, hostname, id: service.id as string };
  }

  async run(services: readonly { check: string; hostname: string }[], isUp: boolean) {
    const at = this.bench.clock.now();
    for (const { check, hostname } of services) {
      await this.bench.submit(check, 'TCP', at, isUp ? connected(hostname) : refused(hostname));
    }
    this.bench.clock.advance(minute);
    await openServiceIncidents(this.bench.cp.controlPlane.services);
    await openServiceIncidents(this.bench.cp.controlPlane.services);
  }

  async incidents(): Promise<[string, string, string[]][]> {
    const { entries } = await this.bench.get('status-pages/incidents?limit=50');
    return entries.map(
      (one: { name: string; lastUpdateStatus: string; services: { name: string }[] }) => [
        ...[one.name, one.lastUpdateStatus],
        one.services.map(({ name }) => name),
      ],
    );
  }

  drafts() {
    return this.bench.get('status-pages/incident-drafts');
  }
}

test('services open one incident for each cause, which ends with the last of them', async () => {
  await using bench = await setUp({ requestsPerMinute: 0 });
  const scene = new Scene(bench);
  const opens = { as: 'INCIDENT', notifySubscribers: true };
  const shop = await scene.service('Shop', 'a.example', { ...opens, severity: 'MINOR' });
  const search = await scene.service('Search', 'a.example', { ...opens, severity: 'CRITICAL' });
  const mail = await scene.service('Mail', 'b.example', opens);
  const late = await scene.service('Late', 'a.example', opens);
  const plain = await scene.post('status-pages/services', {
    ...{ name: 'Plain', follows: { checkIds: [shop.check] } },
  });
  assert.equal(plain.follows.opens, null);
  const all = [shop, search, mail, late];
  await scene.run(all, true);
  assert.deepEqual(await scene.incidents(), []);

  await scene.run([shop, search, mail], false);
  assert.deepEqual(await scene.incidents(), [
    ['Mail is down', 'INVESTIGATING', ['Mail']],
    ['Shop is down', 'INVESTIGATING', ['Shop', 'Search']],
  ]);
  const { entries } = await bench.get('status-pages/incidents?limit=50');
  assert.deepEqual(
    entries.map(({ severity }: { severity: string }) => severity),
    ['MAJOR', 'CRITICAL'],
    'as severe as the worst of its services',
  );
  assert.ok(!JSON.stringify(entries).includes('a.example'), 'no cause is public');

  await scene.run([late], false);
  assert.deepEqual((await scene.incidents())[1], [
    ...['Shop is down', 'INVESTIGATING'],
    ['Shop', 'Search', 'Late'],
  ]);
  const updates = await bench.get(`status-pages/incidents/${entries[1].id}/incident-updates`);
  assert.equal(updates[0].description, 'Also affected: Late.');

  await scene.run([shop, late], true);
  assert.equal((await scene.incidents())[1]?.[1], 'INVESTIGATING', 'Search still fails');
  await scene.run([search], true);
  assert.deepEqual(
    (await scene.incidents()).map(([, status]) => status),
    ['INVESTIGATING', 'RESOLVED'],
  );

  // Somebody resolves what still fails: nothing is opened before the recovery.
  const resolved = { description: 'We live with it.', status: 'RESOLVED' };
  await scene.post(`status-pages/incidents/${entries[0].id}/incident-updates`, resolved);
  await scene.run([mail], false);
  assert.equal((await scene.incidents()).length, 2);
  await scene.run([mail], true);
  await scene.run([mail], false);
  assert.equal((await scene.incidents()).length, 3, 'a new problem opens a new one');
  assert.equal((await bench.cp.api('DELETE', `/v1/status-pages/services/${mail.id}`)).status, 204);
  assert.equal((await scene.incidents())[0]?.[1], 'RESOLVED', 'nobody else would end it');
});

test('a draft is public when a person publishes it, and never after its services recovered', async () => {
  await using bench = await setUp({ requestsPerMinute: 0 });
  const scene = new Scene(bench);
  const shop = await scene.service('Shop', 'a.example', { description: 'We look into it.' });
  const search = await scene.service('Search', 'a.example', {});
  const both = [shop, search];
  await scene.run(both, true);
  await scene.run(both, false);
  assert.deepEqual(await scene.incidents(), []);
  const [draft, ...others] = await scene.drafts();
  assert.deepEqual(others, []);
  assert.match(draft.cause, /^nothing listens at a\.example:80, since /);
  assert.deepEqual([draft.name, draft.severity], ['Shop is down', 'MAJOR']);
  assert.deepEqual(
    draft.services.map(({ name }: { name: string }) => name),
    ['Shop', 'Search'],
  );
  const publish = `status-pages/incident-drafts/${draft.id}/publish`;
  const incident = await scene.post(publish, { name: 'Shop and search', severity: 'MINOR' });
  assert.deepEqual([incident.name, incident.severity], ['Shop and search', 'MINOR']);
  assert.equal(incident.incidentUpdates[0].description, 'We look into it.');
  assert.deepEqual(await scene.drafts(), []);
  assert.equal((await bench.cp.api('POST', `/v1/${publish}`, {})).status, 404, 'once');
  await scene.run(both, true);
  assert.deepEqual(await scene.incidents(), [['Shop and search', 'RESOLVED', ['Shop', 'Search']]]);

  await scene.run(both, false);
  const [second] = await scene.drafts();
  await scene.run(both, true);
  assert.deepEqual(await scene.drafts(), [], 'it is over');
  const over = `/v1/status-pages/incident-drafts/${second.id}`;
  assert.equal((await bench.cp.api('POST', `${over}/publish`, {})).status, 404);

  await scene.run(both, false);
  const [third] = await scene.drafts();
  const dismissed = `/v1/status-pages/incident-drafts/${third.id}`;
  assert.equal((await bench.cp.api('DELETE', dismissed)).status, 204);
  await scene.run(both, false);
  assert.deepEqual(await scene.drafts(), [], 'dismissed until they recovered');
  await scene.run(both, true);
  await scene.run(both, false);
  assert.equal((await scene.drafts()).length, 1);
  assert.equal((await scene.incidents()).length, 1);
});

test('planned work opens nothing, what lasts longer does, and a deactivated check ends what it opened', async () => {
  await using bench = await setUp({ requestsPerMinute: 0 });
  const scene = new Scene(bench);
  const shop = await scene.service('Shop', 'a.example', { as: 'INCIDENT' });
  await scene.run([shop], true);
  const start = bench.clock.now();
  const window = { name: 'Move', startsAt: iso(start), endsAt: iso(start + 3.5 * minute) };
  await scene.post('maintenance-windows', { ...window, silenceScope: { checkIds: [shop.check] } });
  await scene.run([shop], false);
  await scene.run([shop], false);
  await scene.run([shop], false);
  assert.deepEqual(await scene.incidents(), []);
  bench.clock.advance(minute);
  await openServiceIncidents(bench.cp.controlPlane.services);
  assert.deepEqual(await scene.incidents(), [], 'its last run was part of the work');
  await scene.run([shop], false);
  assert.deepEqual(await scene.incidents(), [['Shop is down', 'INVESTIGATING', ['Shop']]]);
  const path = `/v1/checks/tcp/${shop.check}`;
  const { body: check } = await bench.cp.api('GET', `/v1/checks/${shop.check}`);
  const changed = await bench.cp.api('PUT', path, { ...check, activated: false });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  await openServiceIncidents(bench.cp.controlPlane.services);
  assert.deepEqual(await scene.incidents(), [['Shop is down', 'RESOLVED', ['Shop']]]);
});

test('one location that fails is one incident, not one a minute, and ends when that location passes', async () => {
  await using bench = await setUp({ requestsPerMinute: 0 });
  const scene = new Scene(bench);
  const opens = { as: 'INCIDENT' };
  const shop = await scene.service('Shop', 'a.example', opens);
  const later = await scene.service('Later', 'b.example', opens, { afterMinutes: 3 });
  const turns = async (runLocation: string, isUp: boolean) => {
    for (const { check, hostname } of [shop, later]) {
      const fields = { runLocation, ...(isUp ? connected(hostname) : refused(hostname)) };
      await bench.submit(check, 'TCP', bench.clock.now(), fields);
    }
    bench.clock.advance(minute);
    await openServiceIncidents(bench.cp.controlPlane.services);
  };
  await turns('us-east-1', true);
  for (let turn = 0; turn < 4; turn += 1) {
    await turns('eu-west-1', false);
    await turns('us-east-1', true);
  }
  const states = async () => (await scene.incidents()).map(([name, status]) => [name, status]);
  assert.deepEqual((await states()).sort(), [
    ['Later is down', 'INVESTIGATING'],
    ['Shop is down', 'INVESTIGATING'],
  ]);
  await turns('eu-west-1', true);
  assert.deepEqual((await states()).sort(), [
    ['Later is down', 'RESOLVED'],
    ['Shop is down', 'RESOLVED'],
  ]);
});

test('what fails at one location has its cause, also where another one passed since', async () => {
  await using bench = await setUp({ requestsPerMinute: 0 });
  const scene = new Scene(bench);
  const shop = await scene.service('Shop', 'a.example', { as: 'INCIDENT' });
  const search = await scene.service('Search', 'a.example', { as: 'INCIDENT' });
  for (const [runLocation, isUp] of [
    ['us-east-1', true],
    ['eu-west-1', false],
    ['us-east-1', true],
  ] as const) {
    for (const { check, hostname } of [shop, search]) {
      const fields = { runLocation, ...(isUp ? connected(hostname) : refused(hostname)) };
      await bench.submit(check, 'TCP', bench.clock.now(), fields);
    }
    bench.clock.advance(minute);
  }
  await openServiceIncidents(bench.cp.controlPlane.services);
  assert.deepEqual(await scene.incidents(), [
    ['Shop is down', 'INVESTIGATING', ['Shop', 'Search']],
  ]);
});

test('what people wrote and added stays, and a monitor that is switched off is no recovery', async () => {
  await using bench = await setUp({ requestsPerMinute: 0 });
  const scene = new Scene(bench);
  const minor = { as: 'INCIDENT', severity: 'MINOR' };
  const shop = await scene.service('Shop', 'a.example', minor);
  const search = await scene.service('Search', 'a.example', {
    ...{ ...minor, severity: 'CRITICAL', notifySubscribers: true },
  });
  const manual = await scene.post('status-pages/services', { name: 'Manual' });
  await scene.run([shop, search], true);
  await scene.run([shop], false);
  const [first] = (await bench.get('status-pages/incidents?limit=50')).entries;
  const path = `status-pages/incidents/${first.id}`;
  const identified = { description: 'A disk is full.', status: 'IDENTIFIED' };
  await scene.post(`${path}/incident-updates`, identified);
  await scene.run([search], false);
  const joined = await bench.get(path);
  assert.deepEqual([joined.lastUpdateStatus, joined.severity], ['IDENTIFIED', 'CRITICAL']);
  assert.equal(joined.incidentUpdates[0].notifySubscribers, true);
  const services = [...joined.services, manual].map(({ id }: { id: string }) => ({ id }));
  await bench.cp.api('PATCH', `/v1/${path}`, { services });
  await scene.run([shop, search], true);
  const after = await bench.get(path);
  assert.equal(
    after.lastUpdateStatus,
    'IDENTIFIED',
    'a person added a service that may still fail',
  );
  assert.equal(after.incidentUpdates[0].description, 'No longer affected: Shop, Search.');

  const passing = await bench.check('tcp', { name: 'passing' });
  const both = { checkIds: [shop.check, passing], opens: { name: 'Again', ...minor } };
  const body = { name: 'Shop', follows: both };
  await bench.cp.api('PUT', `/v1/status-pages/services/${shop.id}`, body);
  await bench.submit(passing, 'TCP', bench.clock.now(), connected('c.example'));
  await scene.run([shop], false);
  assert.deepEqual((await scene.incidents())[0]?.slice(0, 2), ['Again', 'INVESTIGATING']);
  const { body: check } = await bench.cp.api('GET', `/v1/checks/${shop.check}`);
  await bench.cp.api('PUT', `/v1/checks/tcp/${shop.check}`, { ...check, activated: false });
  await openServiceIncidents(bench.cp.controlPlane.services);
  const { entries } = await bench.get('status-pages/incidents?limit=50');
  assert.equal(
    entries[0].incidentUpdates[0].description,
    'Closed without a recovery: what failed is no longer monitored.',
  );
});
