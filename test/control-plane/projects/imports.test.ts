import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { checkGroupRoutes } from '@monitor/shared/contract/check-group.ts';
import { alertChannelRoutes } from '@monitor/shared/contract/alert-channel.ts';
import { checkTypeRoutes } from '@monitor/shared/contract/check-routes.ts';
import type { ImportPlanWire } from '@monitor/shared/contract/compatibility/imports.ts';
import { dashboardRoutes } from '@monitor/shared/contract/dashboard.ts';
import { maintenanceWindowRoutes } from '@monitor/shared/contract/maintenance-window.ts';
import { privateLocationRoutes } from '@monitor/shared/contract/private-location.ts';
import type { Route } from '@monitor/shared/contract/route.ts';
import { serviceRoutes, statusPageRoutes } from '@monitor/shared/contract/status-page.ts';
import { CommitQueue } from '../../../control-plane/db/commit-queue.ts';
import { ApiError } from '../../../control-plane/errors/api-error.ts';
import { planImport, requireProject } from '../../../control-plane/projects/import-plans.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { everyInterleaving } from '../../support/interleaving.ts';
import { deployed, destroyed, everything, projectOf, url } from '../../support/projects.ts';
import { bodiesOf } from '../../support/random-bodies.ts';
import { testSeed, tries } from '../../support/random.ts';

type Fields = Record<string, unknown>;

const imports = '/next/projects/shop/imports';

async function plan(cp: TestControlPlane, body: Fields = {}, query = ''): Promise<ImportPlanWire> {
  const answer = await cp.api('POST', `${imports}${query}`, body);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

async function makeProject(cp: TestControlPlane): Promise<void> {
  const { status } = await cp.api('POST', '/next/projects', { logicalId: 'shop', name: 'Shop' });
  assert.equal(status, 201);
}

const step = async (cp: TestControlPlane, { id }: ImportPlanWire, name: string) =>
  (await cp.api('POST', `/next/projects/imports/${id}/${name}`)).status;

const planned = ({ changes }: ImportPlanWire) =>
  projectOf(changes?.resources.map((each) => ({ ...each })) ?? []);

test('what is imported and then deployed changes nothing, and belongs to the project', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  await deployed(cp, everything());
  await destroyed(cp, '?preserveResources=true');
  // Clients know how to write files of all but suites.
  const [suite] = (await cp.api('GET', '/v1/checks?checkType=PLAYWRIGHT')).body;
  await cp.api('PUT', `/v1/checks/playwright/${suite.id}`, {
    ...{ groupId: null, privateLocations: [] },
  });
  await makeProject(cp);
  const made = await plan(cp);
  const types = new Set(made.changes?.resources.map(({ type }) => type));
  assert.deepEqual(
    [...types].toSorted(),
    [...new Set(everything().resources.map(({ type }) => type))].toSorted(),
  );
  assert.equal(await step(cp, made, 'apply'), 200);
  const body = planned(made);
  assert.deepEqual(await deployed(cp, body), []);
  // What is not committed is left alone by deployments that do not list it.
  assert.deepEqual(await deployed(cp, projectOf([])), []);
  assert.equal(await step(cp, made, 'commit'), 200);
  assert.deepEqual(await deployed(cp, body), []);
  const gone = await destroyed(cp);
  assert.equal(gone.length, body.resources.length);
  const { body: left } = await cp.api('GET', '/v1/checks');
  assert.deepEqual(
    left.map(({ id }: Fields) => id),
    [suite.id],
  );
});

test('secrets are not in a plan, and stay what they are', async () => {
  await using cp = await startTestControlPlane();
  const environmentVariables = [{ key: 'PASSWORD', value: 'hunter2', secret: true }];
  await cp.api('POST', '/v1/checks/browser', { name: 'a', script: '', environmentVariables });
  await makeProject(cp);
  const made = await plan(cp);
  assert.doesNotMatch(JSON.stringify(made), /hunter2/);
  await step(cp, made, 'apply');
  assert.deepEqual(await deployed(cp, planned(made)), []);
});

test('filters choose what is imported, and what is not there answers 404', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const path = `${imports}?preview=true`;
  assert.equal((await cp.api('POST', path, {})).status, 404);
  await makeProject(cp);
  const nothing = await cp.api('POST', path, {});
  assert.match(nothing.body.message, /^No importable resources were found/);
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c']) {
    const { body } = await cp.api('POST', '/v1/checks/url', {
      ...{ name, request: { url: 'https://a.example/' } },
    });
    ids.push(body.id);
  }
  const [a, b] = ids;
  const names = async (filters: object[]) =>
    (await plan(cp, { filters }, '?preview=true')).changes?.resources.map(
      ({ payload }) => payload['name'],
    );
  const only = { type: 'include', resource: { type: 'check', physicalId: a } };
  assert.deepEqual(await names([{ type: 'exclude' }, only]), ['a']);
  const not = { type: 'exclude', resource: { type: 'check', physicalId: b } };
  assert.deepEqual(await names([{ type: 'include' }, not]), ['a', 'c']);
  assert.deepEqual((await cp.api('GET', imports)).body, []);
});

test('a plan is applied once, committed once, and can be cancelled before that', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  await makeProject(cp);
  const request = { url: 'https://a.example/' };
  const { body: check } = await cp.api('POST', '/v1/checks/url', { name: 'a', request });
  const first = await plan(cp);
  const path = (id: string) => `/next/projects/imports/${id}`;
  assert.equal(await step(cp, first, 'commit'), 409);
  assert.equal(await step(cp, first, 'apply'), 200);
  assert.equal(await step(cp, first, 'apply'), 200);
  assert.equal((await cp.api('DELETE', path(first.id))).status, 204);
  assert.equal(await step(cp, first, 'apply'), 404);
  const { body: stays } = await cp.api('GET', `/v1/checks/${check.id}`);
  assert.equal(stays.name, 'a');

  const second = await plan(cp);
  const asked = { type: 'include', resource: { type: 'check', physicalId: check.id } };
  await cp.api('POST', '/next/projects', { logicalId: 'other', name: 'Other' });
  const other = '/next/projects/other/imports';
  assert.equal((await cp.api('POST', other, { filters: [asked] })).status, 409);
  assert.equal((await cp.api('POST', other, {})).status, 404);
  assert.equal((await cp.api('GET', `${imports}?onlyUnapplied=true`)).body.length, 1);
  await step(cp, second, 'apply');
  assert.equal((await cp.api('GET', `${imports}?onlyUnapplied=true`)).body.length, 0);
  assert.equal((await cp.api('GET', '/next/projects/imports?onlyUncommitted=true')).body.length, 1);
  const headers = { authorization: `Bearer ${await cp.foreignKey()}` };
  assert.equal((await cp.api('POST', `${path(second.id)}/commit`, undefined, headers)).status, 404);
  assert.equal(await step(cp, second, 'commit'), 200);
  assert.equal((await cp.api('DELETE', path(second.id))).status, 409);
  const made = second.changes?.resources[0]?.logicalId ?? '';
  assert.deepEqual(await deployed(cp, projectOf([url(made, { name: 'a' })])), []);
});

test('a plan is refused when the project has made something of the same name since', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  await makeProject(cp);
  await cp.api('POST', '/v1/checks/url', { name: 'a', request: { url: 'https://a.example/' } });
  const made = await plan(cp);
  await deployed(cp, projectOf([url(made.changes?.resources[0]?.logicalId ?? '')]));
  const refused = await cp.api('POST', `/next/projects/imports/${made.id}/apply`);
  assert.equal(refused.status, 409, JSON.stringify(refused.body));
  assert.match(refused.body.message, /the project has another check "a-.*"; cancel this plan/);
  assert.equal((await cp.api('DELETE', `/next/projects/imports/${made.id}`)).status, 204);
});

test('an account has a hundred plans that are not applied', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  await makeProject(cp);
  const check = { name: 'a', request: { url: 'https://a.example/' } };
  await cp.api('POST', '/v1/checks/url', check);
  const made = await plan(cp);
  const { db, newId } = cp.controlPlane.services;
  const row = await db.selectFrom('import_plans').selectAll().executeTakeFirstOrThrow();
  const more = Array.from({ length: 99 }, () => ({ ...row, id: newId() }));
  await db.insertInto('import_plans').values(more).execute();
  await cp.api('POST', '/v1/checks/url', check);
  const refused = await cp.api('POST', imports, {});
  assert.equal(refused.status, 409, JSON.stringify(refused.body));
  assert.match(refused.body.message, /100 import plans of this account are not applied/);
  assert.equal((await cp.api('POST', `${imports}?preview=true`, {})).status, 201);
  await cp.api('DELETE', `/next/projects/imports/${made.id}`);
  assert.equal((await cp.api('POST', imports, {})).status, 201);
});

test('two projects that take over everything at once do not both have it', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  await makeProject(cp);
  await cp.api('POST', '/next/projects', { logicalId: 'other', name: 'Other' });
  await cp.api('POST', '/v1/checks/url', { name: 'a', request: { url: 'https://a.example/' } });
  const { services } = cp.controlPlane;
  /** Whether a replica with this connection makes the plan. */
  const makes = async (db: typeof services.db, logicalId: string): Promise<boolean> => {
    const project = await requireProject(services.db, cp.accountId, logicalId);
    const asked = { filters: [{ type: 'include' as const }], friends: [], preview: false };
    try {
      await planImport({ ...services, db, commits: new CommitQueue(db) }, project, asked);
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.code === 'NOT_FOUND') return false;
      throw error;
    }
  };
  const rounds = await everyInterleaving(
    services.db,
    () => services.db.deleteFrom('import_plans').execute(),
    {
      first: (db) => makes(db, 'shop'),
      second: () => makes(services.db, 'other'),
      check: async (_round, { first, second }, at) => {
        assert.notEqual(first, second, at);
      },
    },
  );
  assert.ok(rounds > 3, `${rounds} rounds`);
});

test('resources that files of the project define already are its friends', async () => {
  await using cp = await startTestControlPlane();
  const [a] = await deployed(cp, projectOf([url('a')]));
  await cp.api('POST', '/v1/alert-channels', {
    type: 'SMS',
    config: { name: 'n', number: '+4930123456' },
  });
  const friends = [
    { type: 'check', logicalId: 'a' },
    { type: 'check', logicalId: 'no' },
  ];
  const { changes } = await plan(cp, { friends });
  assert.deepEqual(changes?.friends, [
    { type: 'check', logicalId: 'a', physicalId: a?.physicalId },
  ]);
  assert.deepEqual(
    changes?.resources.map(({ type }) => type),
    ['alert-channel'],
  );
});

test('whatever the contract accepts is imported and deployed without a difference', async () => {
  const routes: Route[] = [
    ...checkTypeRoutes.flatMap(({ definition, create }) =>
      definition.type === 'PLAYWRIGHT' ? [] : [create],
    ),
    ...[checkGroupRoutes.createCheckGroup, alertChannelRoutes.createAlertChannel],
    ...[privateLocationRoutes.createPrivateLocation, serviceRoutes.createService],
    ...[maintenanceWindowRoutes.createMaintenanceWindow, dashboardRoutes.createDashboard],
    statusPageRoutes.createStatusPage,
  ];
  let made = 0;
  const some = fc.oneof(
    ...routes.map((route) => bodiesOf(route).map((body) => ({ path: route.path, body }))),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(some, { minLength: 20, maxLength: 40 }), async (drawn) => {
      await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
      for (const { path, body } of drawn) {
        const { status } = await cp.api('POST', path, body);
        if (status === 201) made += 1;
      }
      await cp.api('POST', '/next/projects', { logicalId: 'shop', name: 'Shop' });
      const { status, body: found } = await cp.api('POST', imports, {});
      if (status === 404) return;
      assert.equal(await step(cp, found, 'apply'), 200);
      assert.equal(await step(cp, found, 'commit'), 200);
      assert.deepEqual(await deployed(cp, planned(found)), []);
    }),
    { seed: testSeed() | 0, numRuns: tries(200), endOnFailure: true },
  );
  assert.ok(made > 20, `${made} bodies were accepted`);
});
