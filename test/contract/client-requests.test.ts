/**
 * Every request that published clients of versions 7 to 9 were seen to send (`test/lab/record-client-requests.test.ts`)
 * is answered with success and in the shape of the contract: an answer that a client swallows is not enough.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { allRoutes } from '@monitor/shared/contract/index.ts';
import type { Route } from '@monitor/shared/contract/route.ts';
import { startTestControlPlane } from '../support/control-plane.ts';
import { buildWorld, exampleBodies, kindsOfParams, pathOf, type World } from '../support/world.ts';

interface Recorded {
  method: string;
  path: string;
  query: string;
  versions: string[];
}

const recorded = JSON.parse(
  readFileSync(join(import.meta.dirname, '..', 'fixtures', 'client-requests.json'), 'utf8'),
) as Recorded[];

/** The parameters of a path are ids in a recording, and names such as that of a variable. */
function routeOf({ method, path }: Recorded): Route | undefined {
  const fits = (route: Route): boolean =>
    route.method === method &&
    new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);
  const literal = (route: Route): number => route.path.replaceAll(/\{\w+\}/g, '').length;
  return allRoutes.filter(fits).toSorted((one, other) => literal(other) - literal(one))[0];
}

const idsOf = (route: Route, world: World): Record<string, unknown> =>
  Object.fromEntries([...kindsOfParams(route)].map(([name, kind]) => [name, world.ids[kind][0]]));

test('requests of published clients are answered rightly, whatever their version', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const target = { url: cp.url, key: cp.apiKey };
  const world = await buildWorld(cp.controlPlane.services, target, cp.accountId, 'clients');
  const bodies = await exampleBodies(world);
  const wrong: string[] = [];
  // What deletes comes last.
  const inTurn = recorded.toSorted(
    (one, other) => Number(one.method === 'DELETE') - Number(other.method === 'DELETE'),
  );
  for (const one of inTurn) {
    const name = `${one.method} ${one.path}?${one.query} of ${one.versions.join(', ')}`;
    const route = routeOf(one);
    if (route === undefined) {
      wrong.push(`${name}: no operation`);
      continue;
    }
    // Bundles and events: the tests of these operations show them.
    if (route.bodyStream === true || route.responseStream !== undefined) continue;
    const query = one.query
      .replaceAll('{number}', '1')
      .replaceAll('{id}', String(world.ids.check[0]));
    const body = bodies.get(route.operationId);
    const path = `${pathOf(route, idsOf(route, world))}${query === '' ? '' : `?${query}`}`;
    const response = await fetch(cp.url + path, {
      method: one.method,
      headers: {
        authorization: `Bearer ${cp.apiKey}`,
        'x-checkly-account': cp.accountId,
        'x-checkly-source': 'CLI',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const expected = [route.status, ...(route.otherStatuses ?? [])];
    if (!expected.includes(response.status as never)) {
      wrong.push(`${name}: ${response.status} ${text.slice(0, 200)}`);
      continue;
    }
    if (route.response === undefined || route.contentType !== undefined) continue;
    const { error } = route.response.safeParse(JSON.parse(text));
    if (error !== undefined) wrong.push(`${name}: ${error.message}`);
  }
  assert.ok(recorded.length >= 25, String(recorded.length));
  assert.deepEqual(wrong, []);
});
