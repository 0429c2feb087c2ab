import assert from 'node:assert/strict';
import test from 'node:test';
import { startTestControlPlane } from '../support/control-plane.ts';
import { TestClock } from '../support/test-clock.ts';

const hour = 3_600_000;
const start = Date.parse('2026-11-21T08:00:00Z');
const window = {
  name: 'deploy',
  startsAt: '2026-11-21T22:00:00Z',
  endsAt: '2026-11-21T23:30:00+01:00',
  repeatUnit: 'WEEK',
};

const defaults = { severity: 'MINOR', affectAllServices: false, reminderMinutesBefore: [] };
const nothing = { checkIds: [], groupIds: [], serviceIds: [], statusPageIds: [] };

test('a window is stored in UTC, with what it does not say at its default', async () => {
  await using cp = await startTestControlPlane({ clock: new TestClock(start) });
  const { status, body } = await cp.api('POST', '/v1/maintenance-windows', window);
  assert.equal(status, 201);
  const { id, created_at: created, ...rest } = body;
  assert.equal(typeof id, 'number');
  assert.ok(Date.parse(created as string) > 0);
  assert.deepEqual(rest, {
    name: 'deploy',
    startsAt: '2026-11-21T22:00:00.000Z',
    endsAt: '2026-11-21T22:30:00.000Z',
    repeatUnit: 'WEEK',
    tags: [],
    repeatInterval: null,
    repeatEndsAt: null,
    timezone: null,
    description: null,
    pauseAllChecks: false,
    silenceAlertsTags: [],
    silenceAllAlerts: false,
    pauseScope: nothing,
    silenceScope: nothing,
    statusPageVisibility: null,
    ownerAlertChannelIds: [],
    projectBindings: { owner: null, references: [] },
    warnings: ['it applies to no check: it has no tags, and pauses or silences not all'],
    nextOccurrences: [21, 28, 35, 42, 49].map((day) => {
      const startsAt = new Date(Date.UTC(2026, 10, day, 22));
      return {
        id: `${id}-${startsAt.getTime()}`,
        startsAt: startsAt.toISOString(),
        endsAt: new Date(startsAt.getTime() + 1_800_000).toISOString(),
      };
    }),
    updated_at: null,
  });
});

test('an instant without an offset is one in UTC, a date its first moment', async () => {
  await using cp = await startTestControlPlane();
  const { body } = await cp.api('POST', '/v1/maintenance-windows', {
    ...window,
    startsAt: '2026-11-21',
    endsAt: '2026-11-21T10:00',
    repeatUnit: undefined,
  });
  assert.deepEqual(
    [body.startsAt, body.endsAt, body.repeatUnit],
    ['2026-11-21T00:00:00.000Z', '2026-11-21T10:00:00.000Z', null],
  );
});

test('an instant may be written without seconds, whatever its offset', async () => {
  await using cp = await startTestControlPlane();
  const { status, body } = await cp.api('POST', '/v1/maintenance-windows', {
    ...window,
    startsAt: '2026-11-21T22:00Z',
    endsAt: '2026-11-22T01:30+02:00',
    repeatUnit: null,
  });
  assert.equal(status, 201);
  assert.deepEqual(
    [body.startsAt, body.endsAt],
    ['2026-11-21T22:00:00.000Z', '2026-11-21T23:30:00.000Z'],
  );
});

test('what is missing or makes no sense is refused, by field', async () => {
  await using cp = await startTestControlPlane();
  for (const [fields, keys] of [
    [{ name: undefined }, ['name']],
    [{ startsAt: undefined }, ['startsAt']],
    [{ endsAt: undefined }, ['endsAt']],
    [{ repeatUnit: 'YEAR' }, ['repeatUnit']],
    [{ repeatInterval: 0 }, ['repeatInterval']],
    [{ endsAt: window.startsAt }, ['endsAt']],
    [{ repeatEndsAt: '2026-11-20' }, ['repeatEndsAt']],
    [{ startsAt: 'tomorrow' }, ['startsAt']],
    [{ endsAt: '9999-12-31T23:59:59-10:00', repeatUnit: null }, ['endsAt']],
    [{ endsAt: '9999-12-31T23:00', timezone: 'Pacific/Honolulu' }, ['endsAt']],
    [{ timezone: 'Europe/Atlantis' }, ['timezone']],
    [{ timezone: '+02:00' }, ['timezone']],
    [{ description: 'a'.repeat(2001) }, ['description']],
    [{ endsAt: '2026-11-29T00:00:00Z' }, ['endsAt']],
  ] as const) {
    const { status, body } = await cp.api('POST', '/v1/maintenance-windows', {
      ...window,
      ...fields,
    });
    assert.deepEqual([status, body.attributes?.keys], [400, keys], JSON.stringify(fields));
  }
});

test('windows are changed in part, filtered by their bounds, and deleted', async () => {
  await using cp = await startTestControlPlane();
  const day = (date: number) => ({
    ...window,
    startsAt: `2026-11-${date}T10:00:00Z`,
    endsAt: `2026-11-${date}T11:00:00Z`,
  });
  const ids: number[] = [];
  for (const date of [21, 22, 23]) {
    ids.push((await cp.api('POST', '/v1/maintenance-windows', day(date))).body.id as number);
  }
  const listed = async (query: string) =>
    (await cp.api('GET', `/v1/maintenance-windows?${query}`)).body.map(
      (one: { id: number }) => ids.indexOf(one.id) + 21,
    );
  assert.deepEqual(await listed(''), [21, 22, 23]);
  assert.deepEqual(await listed('startsAt[gte]=2026-11-22T10:00:00Z'), [22, 23]);
  assert.deepEqual(await listed('startsAt[gt]=2026-11-22T10:00:00Z'), [23]);
  assert.deepEqual(await listed('endsAt[lt]=2026-11-22T11:00:00Z'), [21]);
  assert.deepEqual(await listed('endsAt[lte]=2026-11-22T11:00:00Z&startsAt[gt]=2026-11-22'), [22]);
  assert.equal((await cp.api('GET', '/v1/maintenance-windows?endsAt[lt]=x')).status, 400);
  const path = `/v1/maintenance-windows/${ids[0]}`;
  const changed = await cp.api('PUT', path, { tags: ['a', 'a', 'b'], repeatInterval: 2 });
  assert.deepEqual(
    [changed.body.name, changed.body.tags, changed.body.repeatInterval],
    ['deploy', ['a', 'b'], 2],
  );
  assert.equal((await cp.api('PUT', path, { endsAt: '2026-11-01' })).status, 400);
  assert.equal((await cp.api('DELETE', path)).status, 204);
  assert.equal((await cp.api('GET', path)).status, 404);
  assert.equal((await cp.api('PUT', path, {})).status, 404);
});

test('a change of a part of the visibility leaves the rest as it is', async () => {
  await using cp = await startTestControlPlane();
  const shown = { severity: 'MAJOR', affectAllServices: true, reminderMinutesBefore: [30] };
  const { body: made } = await cp.api('POST', '/v1/maintenance-windows', {
    ...{ ...window, pauseAllChecks: true },
    statusPageVisibility: shown,
  });
  const before = made.statusPageVisibility;
  assert.partialDeepStrictEqual(before, { ...shown, enabled: true, notifyOnEnd: false });
  for (const [given, expected] of [
    [{ notifyOnEnd: true }, { ...before, notifyOnEnd: true }],
    [{ reminderMinutesBefore: [] }, { ...before, notifyOnEnd: true, reminderMinutesBefore: [] }],
    [{}, { ...before, notifyOnEnd: true, reminderMinutesBefore: [] }],
    [null, null],
    // Nothing is left of what it was.
    [{ notifyOnStart: true }, { ...before, ...defaults, notifyOnStart: true }],
    [before, before],
  ]) {
    const path = `/v1/maintenance-windows/${made.id}`;
    const { body } = await cp.api('PUT', path, { statusPageVisibility: given });
    assert.deepEqual(body.statusPageVisibility, expected, JSON.stringify(given));
  }
});

test('in a zone of its own a window is given, and repeats, in local time', async () => {
  await using cp = await startTestControlPlane({ clock: new TestClock(start) });
  const { body } = await cp.api('POST', '/v1/maintenance-windows', {
    name: 'monthly',
    startsAt: '2027-01-31T02:30',
    endsAt: '2027-01-31T04:00',
    repeatUnit: 'MONTH',
    timezone: 'Europe/Berlin',
    description: 'reboots',
    pauseAllChecks: true,
  });
  assert.deepEqual(
    [body.startsAt, body.timezone, body.description, body.pauseAllChecks],
    ['2027-01-31T01:30:00.000Z', 'Europe/Berlin', 'reboots', true],
  );
  assert.deepEqual(
    body.nextOccurrences.map(({ startsAt, endsAt }: Record<string, string>) => [startsAt, endsAt]),
    [
      ['2027-01-31T01:30:00.000Z', '2027-01-31T03:00:00.000Z'],
      ['2027-02-28T01:30:00.000Z', '2027-02-28T03:00:00.000Z'],
      ['2027-03-31T00:30:00.000Z', '2027-03-31T02:00:00.000Z'],
      ['2027-04-30T00:30:00.000Z', '2027-04-30T02:00:00.000Z'],
      ['2027-05-31T00:30:00.000Z', '2027-05-31T02:00:00.000Z'],
    ],
  );
});

test('occurrences are listed, the coming ones first, and called off one by one', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const daily = {
    name: 'daily',
    startsAt: '2026-11-20T09:00:00Z',
    endsAt: '2026-11-20T11:00:00Z',
    repeatUnit: 'DAY',
    repeatEndsAt: '2026-11-23T09:00:00Z',
  };
  const { body: made } = await cp.api('POST', '/v1/maintenance-windows', daily);
  const path = `/v1/maintenance-windows/${made.id}/maintenances`;
  const listed = async (query = '') => {
    const { body, headers } = await cp.api('GET', `${path}${query}`);
    const rows = body.map((one: Record<string, string>) =>
      [one['startsAt']?.slice(8, 13), one['endsAt']?.slice(8, 13), one['status']].join(' '),
    );
    return { body, rows, range: headers.get('content-range') };
  };
  const { body: all, rows } = await listed();
  assert.deepEqual(rows, [
    '21T09 21T11 SCHEDULED',
    '22T09 22T11 SCHEDULED',
    '23T09 23T11 SCHEDULED',
    '20T09 20T11 COMPLETED',
  ]);
  assert.deepEqual((await listed('?limit=3&page=2')).rows, ['20T09 20T11 COMPLETED']);
  assert.equal((await cp.api('GET', `${path}?limit=51`)).status, 400);
  assert.deepEqual((await cp.api('GET', `${path}/${all[1].id}`)).body, all[1]);

  clock.advance(2 * hour);
  assert.equal((await cp.api('DELETE', `${path}/${all[0].id}`)).status, 204);
  assert.equal((await cp.api('DELETE', `${path}/${all[1].id}`)).status, 204);
  assert.equal((await cp.api('DELETE', `${path}/${all[1].id}`)).status, 204);
  assert.equal((await cp.api('DELETE', `${path}/${all[3].id}`)).status, 409);
  const why = { description: 'The supplier is ill' };
  assert.equal((await cp.api('POST', `${path}/${all[1].id}/updates`, why)).status, 201);
  const begun = { ...why, status: 'IN_PROGRESS' };
  assert.equal((await cp.api('POST', `${path}/${all[1].id}/updates`, begun)).status, 409);
  for (const id of [`${made.id}-${start}`, `${Number(made.id) + 1}-${start}`, 'x']) {
    assert.equal((await cp.api('DELETE', `${path}/${id}`)).status, 404, id);
    assert.equal((await cp.api('GET', `${path}/${id}`)).status, 404, id);
  }
  assert.deepEqual((await listed()).rows, [
    '21T09 21T10 CANCELLED',
    '22T09 22T11 CANCELLED',
    '23T09 23T11 SCHEDULED',
    '20T09 20T11 COMPLETED',
  ]);
  const { body: after } = await cp.api('GET', `/v1/maintenance-windows/${made.id}`);
  assert.deepEqual(
    after.nextOccurrences.map(({ id }: { id: string }) => id),
    [all[2].id],
  );
});

test('a window that is said to apply to nothing is refused; one of which nothing is said is warned of', async () => {
  await using cp = await startTestControlPlane({ clock: new TestClock(start) });
  const create = (fields: object) =>
    cp.api('POST', '/v1/maintenance-windows', { ...window, ...fields });
  for (const [fields, status, isWarned] of [
    [{}, 201, true],
    [{ tags: [] }, 400, false],
    [{ tags: [], pauseAllChecks: false, silenceAllAlerts: false }, 400, false],
    [{ tags: [], silenceAllAlerts: true }, 201, false],
    [{ tags: [], silenceAlertsTags: ['shop'] }, 201, false],
    [{ tags: ['shop'] }, 201, false],
    [{ pauseAllChecks: true }, 201, false],
  ] as const) {
    const { status: answered, body } = await create(fields);
    assert.equal(answered, status, JSON.stringify(fields));
    assert.equal('warnings' in body, isWarned, JSON.stringify(fields));
    if (status === 400) assert.match(String(body.message), /^"tags" must not be empty/);
  }
  const { body: idle } = await create({});
  const path = `/v1/maintenance-windows/${idle.id}`;
  assert.equal((await cp.api('PUT', path, { name: 'renamed' })).status, 200);
  // What it applied to may have been deleted: it can be saved as it is.
  const same = await cp.api('PUT', path, { tags: [] });
  assert.deepEqual([same.status, same.body.warnings.length], [200, 1]);
  assert.equal((await cp.api('PUT', path, { silenceAllAlerts: true })).status, 200);
  assert.equal((await cp.api('PUT', path, { silenceAllAlerts: false })).status, 400);
});
