import assert from 'node:assert/strict';
import test from 'node:test';
import { startTestControlPlane } from '../support/control-plane.ts';

const window = {
  name: 'deploy',
  startsAt: '2026-11-21T22:00:00Z',
  endsAt: '2026-11-21T23:30:00+01:00',
  repeatUnit: 'WEEK',
};

test('a window is stored in UTC, with what it does not say at its default', async () => {
  await using cp = await startTestControlPlane();
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
    updated_at: null,
  });
});

test('an instant without an offset is one in UTC, a date its first moment', async () => {
  await using cp = await startTestControlPlane();
  const { body } = await cp.api('POST', '/v1/maintenance-windows', {
    ...window,
    startsAt: '2026-11-21',
    endsAt: '2026-11-21T10:00',
    repeatUnit: null,
  });
  assert.deepEqual(
    [body.startsAt, body.endsAt, body.repeatUnit],
    ['2026-11-21T00:00:00.000Z', '2026-11-21T10:00:00.000Z', null],
  );
});

test('what is missing or makes no sense is refused, by field', async () => {
  await using cp = await startTestControlPlane();
  for (const [fields, keys] of [
    [{ name: undefined }, ['name']],
    [{ startsAt: undefined }, ['startsAt']],
    [{ endsAt: undefined }, ['endsAt']],
    [{ repeatUnit: undefined }, ['repeatUnit']],
    [{ repeatUnit: 'YEAR' }, ['repeatUnit']],
    [{ repeatInterval: 0 }, ['repeatInterval']],
    [{ endsAt: window.startsAt }, ['endsAt']],
    [{ repeatEndsAt: '2026-11-20' }, ['repeatEndsAt']],
    [{ startsAt: 'tomorrow' }, ['startsAt']],
    [{ endsAt: '9999-12-31T23:59:59-10:00' }, ['endsAt']],
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
