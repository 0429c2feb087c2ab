import assert from 'node:assert/strict';
import test from 'node:test';
import { keyOfMachine, machineSlug } from '../../../control-plane/scheduling/index.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';

test('the location of the machine is made once, a key that works is kept, and one that was revoked or lost is replaced', async () => {
  await using cp = await startTestControlPlane();
  const { services } = cp.controlPlane;
  const ask = (known: string | null) => keyOfMachine(services, cp.accountId, known);
  const read = async (): Promise<{ id: string; keys: { id: string; maskedKey: string }[] }> => {
    const { body } = await cp.api('GET', '/v1/private-locations');
    assert.deepEqual(
      body.map(({ slugName }: { slugName: string }) => slugName),
      [machineSlug],
    );
    return body[0];
  };
  // Two replicas may start at the same moment.
  const [first, other] = await Promise.all([ask(null), ask(null)]);
  assert.deepEqual([first.isNew, other.isNew], [true, true]);
  assert.equal((await read()).keys.length, 2);
  assert.deepEqual(await ask(first.rawKey), { rawKey: first.rawKey, isNew: false });

  const { id, keys } = await read();
  const masked = `pl_…${first.rawKey.slice(-4)}`;
  const [own] = keys.filter(({ maskedKey }) => maskedKey === masked);
  assert.equal((await cp.api('DELETE', `/v1/private-locations/${id}/keys/${own?.id}`)).status, 204);
  const next = await ask(first.rawKey);
  assert.ok(next.isNew && next.rawKey !== first.rawKey);

  // A location has two keys at most: the older one makes way.
  const third = await ask(null);
  assert.equal((await read()).keys.length, 2);
  assert.equal((await ask(other.rawKey)).isNew, true);
  assert.equal((await ask(third.rawKey)).isNew, false);
  const { body: log } = await cp.api('GET', '/v1/audit-log');
  const text = JSON.stringify(log);
  assert.match(text, /serve --with-agent/);
  assert.doesNotMatch(text, new RegExp(`${third.rawKey}|${next.rawKey}`));
});

test('a location of that name that people have made is theirs', async () => {
  await using cp = await startTestControlPlane();
  const { body } = await cp.api('POST', '/v1/private-locations', {
    ...{ name: 'Mine', slugName: machineSlug },
  });
  await assert.rejects(
    keyOfMachine(cp.controlPlane.services, cp.accountId, null),
    /people have made or renamed the private location "this-machine"/,
  );
  const { body: after } = await cp.api('GET', `/v1/private-locations/${body.id}`);
  assert.deepEqual([after.name, after.keys.length], ['Mine', 1]);
});
