// PostgreSQL in the long tier: projects.test.ts runs its statements on both.
import assert from 'node:assert/strict';
import test from 'node:test';
import { startTestControlPlane } from '../../support/control-plane.ts';

const csv = 'name,target\nShop,https://shop.example\nWiki,https://wiki.example\n';

test('files of another product are planned, applied and applied again, and refused with their field', async () => {
  await using cp = await startTestControlPlane();
  const post = (query: string, path: string, text: string, more = {}) =>
    cp.api('POST', `/v1/imports${query}`, { files: [{ path, text }], ...more });
  const count = async () => ((await cp.api('GET', '/v1/checks')).body as unknown[]).length;

  const planned = await post('', 'checks.csv', csv, { locations: ['eu-west-1'] });
  assert.equal(planned.status, 200, JSON.stringify(planned.body));
  assert.deepEqual(
    [planned.body.isApplied, planned.body.resources, planned.body.changes.length, await count()],
    [false, { check: 2 }, 2, 0],
  );
  for (const changes of [2, 0]) {
    const { body } = await post('?dryRun=false', 'checks.csv', csv, { locations: ['eu-west-1'] });
    assert.deepEqual([body.isApplied, body.changes.length, await count()], [true, changes, 2]);
  }

  const needsMore =
    'endpoints:\n  - name: A\n    url: https://${HOST}/\n    conditions: ["[STATUS] == 200"]\n';
  const asked = await post('', 'gatus.yaml', needsMore);
  assert.equal(asked.body.changes, null);
  assert.ok(asked.body.missing.length > 0);
  for (const [path, text, expected] of [
    ['gatus.yaml', needsMore, /needs .*HOST/],
    ['notes.yaml', 'hello: world\n', /format is not known/],
    ['page.yaml', '<!doctype html><p>Sign in', /HTML page/],
  ] as const) {
    const { status, body } = await post('?dryRun=false', path, text);
    assert.equal(status, 400, path);
    assert.match(body.message, expected);
    assert.match(JSON.stringify(body.attributes), /files/);
  }
  assert.equal(await count(), 2);
  assert.equal((await post('', 'checks.csv', csv, { locations: ['No Such!'] })).status, 400);
});
