import assert from 'node:assert/strict';
import test from 'node:test';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { buildWorld } from '../../support/world.ts';

test('results have the fields that are asked for; an empty list asks for none in particular', async () => {
  await using cp = await startTestControlPlane();
  const target = { url: cp.url, key: cp.apiKey };
  const world = await buildWorld(cp.controlPlane.services, target, cp.accountId, 'fields');
  const path = `/v2/check-results/${String(world.ids.check[0])}`;
  const list = async (query: string) => {
    const { status, body } = await cp.api('GET', `${path}?${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body as unknown as { length: number; entries: Record<string, unknown>[] };
  };
  const whole = await list('');
  const [entry = {}] = whole.entries;
  assert.ok(Object.keys(entry).length > 20);
  assert.deepEqual(await list('fields='), whole);
  assert.deepEqual(await list('fields[]='), whole);
  for (const query of ['fields=id,hasFailures', 'fields=id&fields=hasFailures']) {
    const { id, hasFailures } = entry;
    assert.deepEqual((await list(query)).entries, [{ id, hasFailures }]);
  }
  const { status, body } = await cp.api('GET', `${path}?fields=id,colour`);
  assert.equal(status, 400);
  assert.match(String(body['message']), /"fields" has "colour", which is not a field of a result/);
});
