/** What the charts of a check mark: from the modules that know of it, of this account alone. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { createApiKey } from '../../../control-plane/accounts/index.ts';
import { maxEventsOfKind, type CheckEvent } from '@monitor/shared/contract/check-event.ts';
import { isLeftOutOnPostgres } from '../../support/postgres.ts';
import { deployed, projectOf, url } from '../../support/projects.ts';
import { hour, iso, minute, now, setUp, unix, type Bench } from '../../support/results.ts';

const eventsOf = async (bench: Bench, id: string, query = '') =>
  (await bench.get(`check-events/${id}${query}`)) as CheckEvent[];

const shortOf = ({ kind, name, fields, startedAt, endedAt }: CheckEvent) =>
  [kind, name, fields.join(), startedAt, endedAt].join(' ');

async function send(bench: Bench, method: string, path: string, body: unknown) {
  const answer = await bench.cp.api(method, `/v1/${path}`, body);
  assert.ok(answer.status < 300, `${path}: ${JSON.stringify(answer.body)}`);
  return answer.body as { id: string };
}

test('a check without events has none', async () => {
  await using bench = await setUp();
  assert.deepEqual(await eventsOf(bench, await bench.check('url')), []);
});

test('maintenance, incidents, changes and those of its group are events, in the order of time', async () => {
  await using bench = await setUp({ requestsPerMinute: 0 });
  const service = await send(bench, 'POST', 'status-pages/services', { name: 'Shop' });
  const other = await send(bench, 'POST', 'status-pages/services', { name: 'Blog' });
  const group = await send(bench, 'POST', 'check-groups', { name: 'Shops', locations: [] });
  const triggerIncident = {
    ...{ serviceId: service.id, name: 'Shop is down', severity: 'MAJOR', description: '' },
    notifySubscribers: false,
  };
  const id = await bench.check('url', { tags: ['db'], groupId: group.id, triggerIncident });
  const alone = await bench.check('tcp');
  const window = { startsAt: iso(now - 3 * hour), endsAt: iso(now - 2 * hour) };
  await send(bench, 'POST', 'maintenance-windows', { name: 'Upgrade', tags: ['db'], ...window });
  const open = (name: string, serviceId: string, updates: object[]) =>
    send(bench, 'POST', 'status-pages/incidents', {
      ...{ name, severity: 'MAJOR', services: [{ id: serviceId }] },
      incidentUpdates: updates.map((update) => ({ description: '', ...update })),
    });
  const at = (ago: number) => ({ publicIncidentUpdateDate: iso(now - ago) });
  await open('Slow', service.id, [
    { status: 'INVESTIGATING', ...at(2 * hour) },
    { status: 'RESOLVED', ...at(hour) },
  ]);
  await open('Down', service.id, [{ status: 'INVESTIGATING', ...at(30 * minute) }]);
  await open('Blog is down', other.id, [{ status: 'INVESTIGATING', ...at(30 * minute) }]);
  bench.clock.advance(minute);
  await send(bench, 'PUT', `checks/${id}`, { name: 'Shop', frequency: 5 });
  bench.clock.advance(minute);
  await send(bench, 'PUT', `check-groups/${group.id}`, { name: 'Shops', concurrency: 7 });
  // The same values again are no change.
  await send(bench, 'PUT', `checks/${id}`, { name: 'Shop' });

  const events = await eventsOf(bench, id);
  assert.deepEqual(events.map(shortOf), [
    `MAINTENANCE Upgrade  ${iso(now - 3 * hour)} ${iso(now - 2 * hour)}`,
    `INCIDENT Slow  ${iso(now - 2 * hour)} ${iso(now - hour)}`,
    `INCIDENT Down  ${iso(now - 30 * minute)} `,
    `CHANGE Shop frequency,name ${iso(now + minute)} `,
    `CHANGE Shops concurrency ${iso(now + 2 * minute)} `,
  ]);
  assert.deepEqual(await eventsOf(bench, alone), []);

  const narrow = `?from=${unix(now - 90 * minute)}&to=${unix(now - 40 * minute)}`;
  assert.deepEqual(
    (await eventsOf(bench, id, narrow)).map(({ name }) => name),
    ['Slow'],
  );
  assert.deepEqual(await bench.refused(`check-events/${id}?from=0&to=${unix(now)}`), ['to']);
});

test('a deployment is an event of the checks that it made or changed, and of no other', async () => {
  await using bench = await setUp();
  const deploy = async (home: string) => {
    await deployed(bench.cp, projectOf([url('home', { name: home }), url('cart')]));
    bench.clock.advance(hour);
  };
  await deploy('Home');
  await deploy('Home page');
  await deploy('Home page');
  const checks = (await bench.get('checks')) as { id: string; name: string }[];
  const idOf = (wanted: string) => checks.find(({ name }) => name === wanted)?.id ?? '';
  const mark = (ago: number) => `DEPLOYMENT Shop  ${iso(now + ago)} `;
  assert.deepEqual((await eventsOf(bench, idOf('Home page'))).map(shortOf), [mark(0), mark(hour)]);
  assert.deepEqual((await eventsOf(bench, idOf('cart'))).map(shortOf), [mark(0)]);
});

test('of each kind the newest are given, however many there are', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  await using bench = await setUp({ requestsPerMinute: 0 });
  const id = await bench.check('url');
  for (let index = 0; index < maxEventsOfKind + 2; index += 1) {
    bench.clock.advance(minute);
    await send(bench, 'PUT', `checks/${id}`, { name: `Shop ${index}` });
  }
  const events = await eventsOf(bench, id);
  assert.equal(events.length, maxEventsOfKind);
  assert.equal(events.at(-1)?.name, `Shop ${maxEventsOfKind + 1}`);
});

test('the newest by time are given, whatever was entered later or selects other times', async () => {
  await using bench = await setUp({ requestsPerMinute: 0 });
  const { db } = bench.cp.controlPlane.services;
  await deployed(bench.cp, projectOf([url('home', { tags: ['db'] }), url('cart')]));
  const checks = (await bench.get('checks')) as { id: string; name: string }[];
  const id = checks.find(({ name }) => name === 'home')?.id ?? '';
  const service = await send(bench, 'POST', 'status-pages/services', { name: 'Shop' });
  const triggerIncident = {
    ...{ serviceId: service.id, name: 'Shop is down', severity: 'MAJOR', description: '' },
    notifySubscribers: false,
  };
  await send(bench, 'PUT', `checks/${id}`, { triggerIncident });
  const ago = (days: number) => iso(now - days * 24 * hour);
  const maintained = (name: string, days: number, more: object) =>
    send(bench, 'POST', 'maintenance-windows', {
      ...{ name, tags: ['db'], startsAt: ago(days), endsAt: ago(days - 0.01), ...more },
    });
  const open = (name: string, updates: [string, number][]) =>
    send(bench, 'POST', 'status-pages/incidents', {
      ...{ name, severity: 'MAJOR', services: [{ id: service.id }] },
      incidentUpdates: updates.map(([status, days]) => ({
        ...{ description: '', status, publicIncidentUpdateDate: ago(days) },
      })),
    });
  await maintained('Newest', 1, {});
  await open('Newest', [['INVESTIGATING', 1]]);
  // Open since before the window.
  await open('Lasting', [['INVESTIGATING', 40]]);
  const daily = { repeatUnit: 'DAY', repeatEndsAt: ago(3) };
  for (let index = 0; index < 2; index += 1) await maintained('Daily', 30, daily);
  for (let index = 0; index < maxEventsOfKind + 1; index += 1) {
    await open(`Over ${index}`, [
      ['INVESTIGATING', 50],
      ['RESOLVED', 45],
    ]);
  }
  const [deployment] = await db
    .selectFrom('audit_log')
    .selectAll()
    .where('operation', '=', 'deployProject')
    .where('after_json', 'is not', null)
    .execute();
  assert.ok(deployment !== undefined);
  const { seq: _seq, ...row } = deployment;
  for (let index = 0; index < maxEventsOfKind + 1; index += 1) {
    const other = {
      id: `other-${index}`,
      at: now + index,
      after_json: '{"updated":["check cart"]}',
    };
    await db
      .insertInto('audit_log')
      .values({ ...row, ...other })
      .execute();
  }
  const cut = { id: 'cut', at: now + minute, after_json: '{"updated":{"count":900}}' };
  await db
    .insertInto('audit_log')
    .values({ ...row, ...cut })
    .execute();
  bench.clock.advance(hour);
  const events = await eventsOf(bench, id);
  const of = (kind: string) => events.filter((event) => event.kind === kind);
  assert.deepEqual(
    of('INCIDENT').map(({ name }) => name),
    ['Lasting', 'Newest'],
  );
  assert.deepEqual(
    [of('MAINTENANCE').length, of('MAINTENANCE').at(-1)?.name],
    [maxEventsOfKind, 'Newest'],
  );
  assert.deepEqual(
    of('DEPLOYMENT').map((event) => event.id),
    [row.id, 'cut'],
  );
});

test('names of changed fields are for those who may read the audit log', async () => {
  await using bench = await setUp();
  const id = await bench.check('url');
  bench.clock.advance(minute);
  await send(bench, 'PUT', `checks/${id}`, { frequency: 5 });
  for (const [role, fields] of [
    ['READ_ONLY', []],
    ['READ_WRITE', []],
    ['ADMIN', ['frequency']],
  ] as const) {
    const { services } = bench.cp.controlPlane;
    const { rawKey } = await createApiKey(services, bench.cp.accountId, { name: role, role });
    const headers = { authorization: `Bearer ${rawKey}` };
    const { body } = await bench.cp.api('GET', `/v1/check-events/${id}`, undefined, headers);
    assert.deepEqual(
      body.map((event: CheckEvent) => event.fields),
      [fields],
      role,
    );
  }
});

test('the events of a check of another account are not there', async () => {
  await using bench = await setUp();
  const id = await bench.check('url');
  const headers = { authorization: `Bearer ${await bench.cp.foreignKey()}` };
  const { status } = await bench.cp.api('GET', `/v1/check-events/${id}`, undefined, headers);
  assert.equal(status, 404);
});
