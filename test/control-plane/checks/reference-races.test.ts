import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import type { Kysely } from 'kysely';
import { checkTypes } from '@monitor/shared/contract/checks/index.ts';
import { createCheck, updateCheck } from '../../../control-plane/checks/save-check.ts';
import { createGroup, deleteGroup } from '../../../control-plane/checks/save-group.ts';
import { createCheckGroupBody } from '@monitor/shared/contract/check-group.ts';
import { createLocationKey } from '../../../control-plane/accounts/index.ts';
import { CommitQueue } from '../../../control-plane/db/commit-queue.ts';
import type { Database } from '../../../control-plane/db/tables.ts';
import { ApiError } from '../../../control-plane/errors/api-error.ts';
import { privateLocationHandlers } from '../../../control-plane/scheduling/index.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { everyInterleaving } from '../../support/interleaving.ts';

const url = checkTypes.URL;
const parsed = (fields: Record<string, unknown>) =>
  url.create.parse({
    ...{ name: 'shop', frequency: 1, request: { url: 'https://a.example' } },
    ...fields,
  }) as unknown as Record<string, unknown>;

/** What a replica with this connection has. */
function servicesOf(cp: TestControlPlane, db: Kysely<Database>) {
  return { ...cp.controlPlane.services, db, commits: new CommitQueue(db) };
}

/** The status of the refusal; null for a success. */
async function refusalOf(work: Promise<unknown>): Promise<number | null> {
  try {
    await work;
    return null;
  } catch (error) {
    if (error instanceof ApiError) return error.statusCode;
    throw error;
  }
}

/** Works that begin to name the location `slug`. */
const users = {
  'a check that is made': (cp, db, slug) =>
    createCheck(servicesOf(cp, db), cp.accountId, url, parsed({ privateLocations: [slug] }), true),
  'a check that is changed': (cp, db, slug, checkId) =>
    updateCheck(servicesOf(cp, db), cp.accountId, url, checkId, { privateLocations: [slug] }),
  'a group that is made': (cp, db, slug) =>
    createGroup(
      servicesOf(cp, db),
      cp.accountId,
      createCheckGroupBody.parse({ name: 'g', privateLocations: [slug] }),
      true,
    ),
} satisfies Record<
  string,
  (cp: TestControlPlane, db: Kysely<Database>, slug: string, checkId: string) => Promise<unknown>
>;

/** A location, and a check in another one. */
async function prepare(cp: TestControlPlane) {
  const slug = `l-${randomUUID().slice(0, 8)}`;
  const { body: location } = await cp.api('POST', '/v1/private-locations', {
    ...{ name: slug, slugName: slug },
  });
  const fields = { name: 'a', locations: ['eu-west-1'], request: { url: 'https://a.example' } };
  const { body: check } = await cp.api('POST', '/v1/checks/url', fields);
  return { slug, locationId: location.id as string, checkId: check.id as string };
}

/** Does it to a location as a replica with this connection. */
function onLocation(
  cp: TestControlPlane,
  db: Kysely<Database>,
  operation: 'deletePrivateLocation' | 'createPrivateLocationKey',
  id: string,
): Promise<unknown> {
  const services = servicesOf(cp, db);
  const handlers = privateLocationHandlers(services, {
    create: (unit, ...key) => createLocationKey({ ...services, db: unit }, ...key),
    forget: () => {},
  });
  const principal = { kind: 'apiKey', accountId: cp.accountId, keyId: 'k', role: 'ADMIN' };
  return Promise.resolve(handlers[operation]({ params: { id } } as never, { principal } as never));
}

for (const [name, use] of Object.entries(users)) {
  test(`either ${name} names a location, or the location is deleted`, async () => {
    await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
    const { db } = cp.controlPlane.services;
    const remove = (from: Kysely<Database>, id: string) =>
      onLocation(cp, from, 'deletePrivateLocation', id);
    const assertOne = (saved: number | null, deleted: number | null, at: string): void => {
      assert.ok(
        (saved === null && deleted === 409) || (saved === 400 && deleted === null),
        `${at}: saved ${saved}, deleted ${deleted}`,
      );
    };
    await everyInterleaving(db, () => prepare(cp), {
      first: (stopped, { slug, checkId }) => refusalOf(use(cp, stopped, slug, checkId)),
      second: ({ locationId }) => refusalOf(remove(db, locationId)),
      check: async (_round, { first, second }, at) => {
        assertOne(first, second, at);
      },
    });
    await everyInterleaving(db, () => prepare(cp), {
      first: (stopped, { locationId }) => refusalOf(remove(stopped, locationId)),
      second: ({ slug, checkId }) => refusalOf(use(cp, db, slug, checkId)),
      check: async (_round, { first, second }, at) => {
        assertOne(second, first, `deletion ${at}`);
      },
    });
  });
}

test('either a check joins a group, or the group is deleted', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const { db } = cp.controlPlane.services;
  const rounds = await everyInterleaving(
    db,
    async () => {
      const { body } = await cp.api('POST', '/v2/check-groups', { name: 'g' });
      return { groupId: body.id as number };
    },
    {
      first: (stopped, { groupId }) =>
        refusalOf(
          createCheck(
            servicesOf(cp, stopped),
            cp.accountId,
            url,
            parsed({ groupId, locations: ['eu-west-1'] }),
            true,
          ),
        ),
      second: ({ groupId }) => refusalOf(deleteGroup(servicesOf(cp, db), cp.accountId, groupId)),
      check: async (_round, { first, second }, at) => {
        assert.ok(
          (first === null && second === 409) || (first === 400 && second === null),
          `${at}: saved ${first}, deleted ${second}`,
        );
      },
    },
  );
  assert.ok(rounds >= 5, `${rounds} rounds`);
});

test('two that make the last key of a location at once get one', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const { db } = cp.controlPlane.services;
  const rounds = await everyInterleaving(
    db,
    async () => {
      const { locationId } = await prepare(cp);
      return locationId;
    },
    {
      first: (stopped, id) => refusalOf(onLocation(cp, stopped, 'createPrivateLocationKey', id)),
      second: (id) => refusalOf(onLocation(cp, db, 'createPrivateLocationKey', id)),
      check: async (_round, { first, second }, at) => {
        assert.deepEqual([first, second].toSorted(), [409, null], at);
      },
    },
  );
  assert.ok(rounds >= 2, `${rounds} rounds`);
});
