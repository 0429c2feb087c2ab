import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import test from 'node:test';
import { checkTypes } from '@monitor/shared/contract/checks/index.ts';
import type { CheckConsumer } from '../../../control-plane/checks/index.ts';
import { CommitQueue } from '../../../control-plane/db/commit-queue.ts';
import { ApiError } from '../../../control-plane/errors/api-error.ts';
import { deployProject } from '../../../control-plane/projects/deploy-project.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import {
  deploy,
  deployed,
  destroyed,
  ended,
  everything,
  hasLocations,
  inWords,
  pathOf,
  projectOf,
  ref,
  resource,
  url,
} from '../../support/projects.ts';
import { everyInterleaving } from '../../support/interleaving.ts';
import { eventually } from '../../support/system.ts';

type Fields = Record<string, unknown>;

/** Every row that a deployment may write, but those of its own record. */
async function rowsOf({ controlPlane }: TestControlPlane): Promise<Fields> {
  const { db } = controlPlane.services;
  const tables = [
    ...(['projects', 'project_resources', 'checks', 'check_groups', 'alert_channels'] as const),
    ...(['alert_subscriptions', 'private_locations', 'location_keys', 'services'] as const),
    ...(['status_pages', 'status_page_cards', 'maintenance_windows', 'dashboards'] as const),
    ...(['schedule_periods', 'check_locations'] as const),
  ];
  const rows: Fields = {};
  for (const table of tables) {
    const all = await db.selectFrom(table).selectAll().execute();
    rows[table] = all.map((row) => JSON.stringify(row)).toSorted();
  }
  return rows;
}

const list = async (cp: TestControlPlane, path: string): Promise<Fields[]> => {
  const { status, body } = await cp.api('GET', path);
  assert.equal(status, 200, JSON.stringify(body));
  return Array.isArray(body) ? body : body.entries;
};

/** Holds every deployment that creates a check, in the middle of its transaction, until it is let go. */
function holdDeployments({ controlPlane }: TestControlPlane): { letGo: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const consumers = controlPlane.services.checkConsumers as CheckConsumer[];
  consumers.push({ created: () => promise.then(() => null) });
  return { letGo: resolve };
}

test('a project with everything is deployed, deployed again without a write, and destroyed', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const before = await rowsOf(cp);
  const body = everything();
  const diff = await deployed(cp, body);
  assert.deepEqual(
    inWords(diff).toSorted(),
    body.resources.map(({ type, logicalId }) => `CREATE ${type} ${logicalId}`).toSorted(),
  );
  const idOf = (type: string, logicalId: string) =>
    diff.find((each) => each.type === type && each.logicalId === logicalId)?.physicalId;

  const checks = await list(cp, '/v1/checks?limit=100');
  assert.equal(checks.length, Object.keys(checkTypes).length + 2);
  for (const { checkType, id, groupId, privateLocations, name, dependencies } of checks) {
    if (name === 'shared') {
      assert.deepEqual(dependencies, [{ path: 'helper.ts', content: 'export const hello = 1;' }]);
    }
    if (name !== checkType) continue;
    assert.equal(id, idOf('check', String(name)));
    assert.equal(groupId, idOf('check-group', 'backend'));
    if (hasLocations(String(checkType))) assert.deepEqual(privateLocations, ['office']);
  }
  const [group] = await list(cp, '/v1/check-groups');
  const [mail, hook] = await list(cp, '/v1/alert-channels');
  assert.deepEqual(group?.['privateLocations'], ['office']);
  const [ofCheck] = mail?.['subscriptions'] as Fields[];
  assert.partialDeepStrictEqual(ofCheck, { checkId: idOf('check', 'URL'), activated: true });
  const [ofGroup] = hook?.['subscriptions'] as Fields[];
  assert.partialDeepStrictEqual(ofGroup, { groupId: group?.['id'], activated: false });
  const [page] = await list(cp, '/v1/status-pages');
  assert.partialDeepStrictEqual(page, {
    cards: [{ name: 'Card', services: [{ id: idOf('status-page-service', 'checkout') }] }],
  });
  const incident = checks.find(({ name }) => name === 'incident')?.['triggerIncident'];
  assert.equal((incident as Fields)['serviceId'], idOf('status-page-service', 'checkout'));
  const [location] = await list(cp, '/v1/private-locations');
  assert.deepEqual(location?.['keys'], []);

  const made = await rowsOf(cp);
  assert.deepEqual(await deployed(cp, everything()), []);
  assert.deepEqual(await rowsOf(cp), made);

  const rest = await destroyed(cp);
  assert.equal(rest.length, body.resources.length);
  assert.ok(rest.every(({ action }) => action === 'DELETE'));
  assert.deepEqual({ ...(await rowsOf(cp)), schedule_periods: [] }, before);
  const again = await cp.api('DELETE', '/v1/projects/shop?preserveResources=false&dryRun=false');
  assert.deepEqual([again.status, 'status' in again.body], [200, false]);
});

test('each kind is changed in place, and what cannot change is made anew', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const all = everything();
  const before = {
    ...all,
    resources: [
      ...all.resources,
      resource('variable', 'HOST', { key: 'HOST', value: 'shop.example' }),
      resource('snippet', 'greet', { name: 'greet', script: 'await 0;' }),
      resource('escalation-policy', 'late', {
        ...{ name: 'late', steps: [{ alertChannelIds: [ref('mail')], delayMinutes: 5 }] },
      }),
    ],
  };
  const ids = new Map(
    (await deployed(cp, before)).map((each) => [each.logicalId, each.physicalId]),
  );
  const changes: Record<string, Fields> = {
    office: { name: 'Office 2' },
    mail: { sendDegraded: true },
    checkout: { name: 'Checkout 2' },
    backend: { name: 'Backend 2' },
    URL: { name: 'URL 2' },
    TCP: { ...checkTypes.DNS.sample, checkType: 'DNS' },
    page: { name: 'Page 2' },
    window: { name: 'window 2' },
    board: { header: 'Board 2' },
    'subscription#URL#mail': { activated: false },
    HOST: { value: 'b.example' },
    greet: { script: 'await 1;' },
    late: { name: 'late 2' },
  };
  const resources = before.resources.map((each) => ({
    ...each,
    payload: { ...each.payload, ...changes[each.logicalId] },
  }));
  const diff = await deployed(cp, { ...before, resources });
  assert.deepEqual(
    diff.map(({ action, logicalId }) => `${action} ${logicalId}`).toSorted(),
    Object.keys(changes)
      .map((name) => `${name === 'TCP' ? 'CREATE' : 'UPDATE'} ${name}`)
      .toSorted(),
  );
  for (const { logicalId, physicalId } of diff) {
    assert.equal(physicalId === ids.get(logicalId), logicalId !== 'TCP', logicalId);
  }
  assert.equal((await cp.api('GET', `/v1/checks/${ids.get('TCP')}`)).status, 404);
  assert.deepEqual(await deployed(cp, { ...before, resources }), []);
});

test('what others changed is brought back, and what they deleted is made anew', async () => {
  await using cp = await startTestControlPlane();
  const body = projectOf([url('a'), url('b')]);
  const [a, b] = await deployed(cp, body);
  await cp.api('PUT', `/v1/checks/url/${a?.physicalId}`, { name: 'renamed', muted: true });
  await cp.api('DELETE', `/v1/checks/${b?.physicalId}`);
  const diff = await deployed(cp, body);
  assert.deepEqual(inWords(diff), ['UPDATE check a', 'CREATE check b']);
  assert.notEqual(diff[1]?.physicalId, b?.physicalId);
  const { body: back } = await cp.api('GET', `/v1/checks/${a?.physicalId}`);
  assert.deepEqual([back.name, back.muted], ['a', false]);
  assert.deepEqual(await deployed(cp, body), []);
});

test('a resource with another name in the project but the same address stays what it is', async () => {
  await using cp = await startTestControlPlane();
  const all = (name: string) =>
    projectOf([
      resource('private-location', `${name}-office`, { name: 'Office', slugName: 'office' }),
      resource('status-page', `${name}-page`, { name: 'Page', url: 'page-of-shop', cards: [] }),
      resource('dashboard', `${name}-board`, { customUrl: 'board-of-shop' }),
    ]);
  await deployed(cp, all('old'));
  const stored = async () => {
    const { project_resources: _links, ...rest } = await rowsOf(cp);
    return rest;
  };
  const before = await stored();
  assert.deepEqual(await deployed(cp, all('new')), []);
  assert.deepEqual(await stored(), before);
  assert.equal((await destroyed(cp)).length, 3);
});

test('what a project no longer lists is deleted, or let go', async () => {
  await using cp = await startTestControlPlane();
  const both = projectOf([url('a'), url('b')]);
  const one = projectOf([url('a')]);
  const [, b] = await deployed(cp, both);
  assert.deepEqual(inWords(await deployed(cp, one, '?preserveResources=true')), [
    'DETACHED check b',
  ]);
  assert.equal((await cp.api('GET', `/v1/checks/${b?.physicalId}`)).status, 200);
  assert.deepEqual(inWords(await deployed(cp, both)), ['CREATE check b']);
  assert.deepEqual(inWords(await deployed(cp, one)), ['DELETE check b']);
  assert.deepEqual(inWords(await destroyed(cp, '?preserveResources=true')), ['DETACHED check a']);
  const names = (await list(cp, '/v1/checks')).map(({ name }) => name);
  assert.deepEqual(names.toSorted(), ['a', 'b']);
});

test('a project refers to what it does not own, by its id', async () => {
  await using cp = await startTestControlPlane();
  const { body: group } = await cp.api('POST', '/v2/check-groups', { name: 'Shared' });
  const { body: office } = await cp.api('POST', '/v1/private-locations', {
    ...{ name: 'Office', slugName: 'office' },
  });
  const foreign = (physicalId: number) =>
    projectOf([
      { type: 'check-group', logicalId: 'shared', member: false, physicalId, payload: null },
      {
        ...{ type: 'private-location', logicalId: 'office', member: false, payload: null },
        physicalId: office.id,
      },
      url('a', { groupId: ref('shared') }),
      resource('private-location-check-assignment', 'a#office', {
        ...{ privateLocationId: ref('office'), checkId: ref('a') },
      }),
    ]);
  const [a] = await deployed(cp, foreign(group.id));
  const { body: check } = await cp.api('GET', `/v1/checks/${a?.physicalId}`);
  assert.deepEqual([check.groupId, check.privateLocations], [group.id, ['office']]);
  await destroyed(cp);
  assert.equal((await cp.api('GET', `/v1/check-groups/${group.id}`)).status, 200);
  const { error } = await deploy(cp, foreign(group.id + 1));
  assert.match(error?.message ?? '', /^check-group "shared": "physicalId" is \d+, which this/);
});

test('whatever is wrong is named by one sentence, and nothing is changed', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  await deployed(cp, projectOf([url('first')]));
  const before = await rowsOf(cp);
  const subscription = { alertChannelId: ref('mail'), checkId: ref('ok'), activated: true };
  const wrong: [resources: Parameters<typeof projectOf>[0], says: string][] = [
    [[url('a', { request: { url: 'no' } })], 'check "a": "request.url" must start with http'],
    [[url('a', { reqest: {} })], 'check "a": "reqest" is not a field; did you mean "request"?'],
    [[url('a', { checkType: 'NO' })], 'check "a": "checkType" must be one of URL, '],
    [
      [url('a', { groupId: ref('b') })],
      'check "a": "groupId" refers to the check-group "b", which the project does not hold',
    ],
    [[url('a'), url('a')], 'check "a": "logicalId" is there twice'],
    [
      [resource('alert-channel-subscription', 's', subscription)],
      'alert-channel-subscription "s": "alertChannelId" refers to the alert-channel "mail"',
    ],
    [
      [resource('private-location-check-assignment', 'p', { checkId: ref('no') })],
      'private-location-check-assignment "p": "checkId" refers to the check "no"',
    ],
    [
      [
        resource('status-page', 'p', {
          name: 'P',
          url: 'p-p',
          cards: [{ name: 'c', services: [ref('s')] }],
        }),
      ],
      'status-page "p": "cards.0.services.0" refers to the status-page-service "s"',
    ],
    [
      [resource('check', 'b', { checkType: 'BROWSER', name: 'b', script: '', dependencies: [4] })],
      'check "b": "dependencies.0" names shared file 4',
    ],
    [
      [url('a', { alertChannelSubscriptions: [{ alertChannelId: 1, activated: true }] })],
      'check "a": "alertChannelSubscriptions" must be resources of the type',
    ],
    [
      [resource('alert-channel', 'c', { type: 'EMAIL', config: { address: 'no' } })],
      'alert-channel "c": "config.address" ',
    ],
  ];
  for (const [resources, says] of wrong) {
    const { status, error } = await deploy(cp, projectOf([url('ok'), ...resources]));
    assert.equal(status, 'FAILED', says);
    assert.ok(error?.message.startsWith(says), `${error?.message} instead of ${says}`);
    const dry = await cp.api('POST', '/v1/projects/deploy?dryRun=true', projectOf(resources));
    assert.equal(dry.status, 400);
  }
  assert.deepEqual(await rowsOf(cp), before);

  const path = '/v1/projects/deploy';
  const shapes = [
    { ...projectOf([]), resources: [{ type: 'no' }] },
    { ...projectOf([]), project: {} },
    'no JSON',
  ];
  for (const body of shapes) assert.equal((await cp.api('POST', path, body)).status, 400);
  assert.equal((await cp.api('POST', `${path}?preserve=true`, projectOf([]))).status, 400);
  const post = (body: Buffer) =>
    fetch(cp.url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${cp.apiKey}`,
        ...{ 'content-type': 'application/json', 'content-encoding': 'gzip' },
      },
      body,
    });
  assert.equal((await post(Buffer.from('no gzip'))).status, 400);
  const large = url('a', { description: 'x'.repeat(21 * 1_048_576) });
  assert.equal((await post(gzipSync(JSON.stringify(projectOf([large]))))).status, 413);
  assert.equal((await post(gzipSync(JSON.stringify(projectOf([url('first')]))))).status, 202);
  assert.deepEqual(await rowsOf(cp), before);
});

test('a failure in the last resource leaves nothing of those before it, and wakes no agent', async (t) => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const before = await rowsOf(cp);
  const body = everything();
  const wakes = t.mock.method(cp.controlPlane.services.hub, 'notifyAccount');
  const variable = resource('variable', 'shop', { key: 'SHOP', value: 'shop.example' });
  const { resources } = projectOf([
    ...[variable, ...body.resources],
    resource('dashboard', 'last', { customUrl: 'board-of-shop' }),
  ]);
  const { status, error } = await deploy(cp, { ...body, resources });
  assert.equal(status, 'FAILED');
  assert.match(
    error?.message ?? '',
    /^dashboard "last": "customUrl" board-of-shop is already in use/,
  );
  assert.deepEqual(await rowsOf(cp), before);
  assert.equal(wakes.mock.callCount(), 0);
  await deployed(cp, { ...body, resources: [variable] });
  assert.equal(wakes.mock.callCount(), 1);
});

test('a dry run says what would change and writes nothing', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const path = '/v1/projects/deploy?dryRun=true&scheduleOnDeploy=true';
  const before = await rowsOf(cp);
  const first = await cp.api('POST', path, everything());
  assert.equal(first.status, 200);
  assert.equal(first.body.diff.length, everything().resources.length);
  assert.deepEqual(await rowsOf(cp), before);
  await deployed(cp, projectOf([url('a'), url('b')]));
  const made = await rowsOf(cp);
  const second = await cp.api('POST', path, projectOf([url('a', { name: 'z' })]));
  assert.deepEqual(inWords(second.body.diff), ['UPDATE check a', 'DELETE check b']);
  const third = await cp.api('DELETE', '/v1/projects/shop?dryRun=true');
  assert.deepEqual([third.status, third.body.diff.length], [200, 2]);
  assert.deepEqual(await rowsOf(cp), made);
});

test('a project has one deployment at a time, which can be followed and cancelled', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const before = await rowsOf(cp);
  const held = holdDeployments(cp);
  const { body: deployment } = await cp.api('POST', '/v1/projects/deploy', projectOf([url('a')]));
  const path = pathOf(deployment);
  const read = async () => (await cp.api('GET', path)).body;
  await eventually(
    async () => (await read()).status === 'RUNNING',
    () => 'it runs',
  );
  const second = await cp.api('POST', '/v1/projects/deploy', projectOf([]));
  assert.deepEqual([second.status, second.body.deploymentId], [409, deployment.id]);
  assert.equal((await cp.api('GET', `${path}/completion?maxWaitSeconds=1`)).status, 408);
  const cancelling = cp.api('POST', `${path}/cancel`);
  await eventually(
    async () => (await read()).cancelRequestedAt !== null,
    () => 'the cancellation has arrived',
  );
  held.letGo();
  assert.equal((await cancelling).status, 200);
  const end = await ended(cp, deployment);
  assert.deepEqual([end.status, end.error, end.result], ['CANCELLED', null, null]);
  assert.deepEqual(await rowsOf(cp), before);
  const { body: again } = await cp.api('POST', `${path}/cancel`);
  assert.equal(again.status, 'CANCELLED');
  assert.equal((await deploy(cp, projectOf([url('a')]))).status, 'SUCCEEDED');
});

test('the audit log says who changed what of a project, and nothing of what was only asked', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const body = projectOf([url('home'), url('basket')]);
  await cp.api('POST', '/v1/projects/deploy?dryRun=true', body);
  await deployed(cp, body);
  await deployed(cp, body);
  await cp.api('DELETE', '/v1/projects/shop?dryRun=true');
  await destroyed(cp);
  const { body: log } = await cp.api('GET', '/v1/audit-log?limit=100');
  const entries = (log.entries as Record<string, unknown>[]).toReversed();
  const ofProject = entries.filter(({ resource: of }) => (of as { id: string }).id === 'shop');
  const names = ['check home', 'check basket'];
  assert.deepEqual(
    ofProject.flatMap(({ operation, before, after }) =>
      before === null && after === null ? [] : [{ operation, before, after }],
    ),
    [
      { operation: 'deployProject', before: null, after: { name: 'Shop', created: names } },
      {
        operation: 'deleteProject',
        before: { name: 'Shop', deleted: names },
        after: null,
      },
    ],
  );
  // Each is there when it was asked for as well, but for what was only a question.
  const asked = (wanted: string) => entries.filter(({ operation }) => operation === wanted).length;
  assert.deepEqual([asked('deployProject'), asked('deleteProject')], [3, 2]);
  for (const { actor } of ofProject) assert.equal((actor as Fields)['name'], 'test');
});

test('two projects that adopt the same resource at once do not both have it', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'home', request: { url: 'https://a.example/' } },
  });
  const { services } = cp.controlPlane;
  const { db } = services;
  const principal = { kind: 'apiKey', accountId: cp.accountId, keyId: 'x', role: 'OWNER' } as const;
  /** Whether a replica with this connection deploys it. */
  const adopts = async (on: typeof db, logicalId: string): Promise<boolean> => {
    const body = projectOf([url('home')], { project: { logicalId, name: logicalId } });
    const replica = { ...services, db: on, commits: new CommitQueue(on) };
    try {
      await deployProject(replica, principal, body, { adopt: true });
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.code === 'CONFLICT') return false;
      throw error;
    }
  };
  await everyInterleaving(db, () => db.deleteFrom('projects').execute(), {
    first: (stopped) => adopts(stopped, 'shop'),
    second: () => adopts(db, 'other'),
    check: async (_round, { first, second }, at) => {
      assert.notEqual(first, second, at);
    },
  });
});

test('a deployment is followed as events', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const held = holdDeployments(cp);
  const { body: deployment } = await cp.api(
    ...(['POST', '/v1/projects/deploy', projectOf([url('a')])] as const),
  );
  const headers = { authorization: `Bearer ${cp.apiKey}`, accept: 'text/event-stream' };
  const open = () => fetch(`${cp.url}${pathOf(deployment)}/events`, { headers });
  const stream = await open();
  assert.match(stream.headers.get('content-type') ?? '', /^text\/event-stream/);
  assert.equal(stream.headers.get('content-encoding'), null);
  held.letGo();
  const frames = (await stream.text()).split('\n\n');
  assert.ok(frames.includes('event: progress\ndata: {"progress":0}'), frames.join('|'));
  const last = /^event: complete\ndata: (.*)$/.exec(frames.at(-2) ?? '')?.[1] ?? '';
  assert.deepEqual(JSON.parse(last), (await cp.api('GET', pathOf(deployment))).body);
  assert.equal(JSON.parse(last).status, 'SUCCEEDED');
  const late = await (await open()).text();
  assert.match(late, /event: complete\n/);
  assert.doesNotMatch(late, /event: progress/);
});

test('other accounts see nothing of a project', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const own = await deploy(cp, projectOf([url('a')]));
  const headers = { authorization: `Bearer ${await cp.foreignKey()}` };
  const path = pathOf(own);
  for (const each of [path, `${path}/events`, `${path}/completion`]) {
    assert.equal((await cp.api('GET', each, undefined, headers)).status, 404);
  }
  assert.equal((await cp.api('POST', `${path}/cancel`, undefined, headers)).status, 404);
  const deletion = await cp.api('DELETE', '/v1/projects/shop', undefined, headers);
  assert.deepEqual([deletion.status, deletion.body.diff], [200, []]);
  assert.equal((await list(cp, '/v1/checks')).length, 1);
  const physicalId = own.result?.diff[0]?.physicalId ?? '';
  const body = projectOf([
    { type: 'check', logicalId: 'a', member: false, physicalId, payload: null },
  ]);
  const dry = await cp.api('POST', '/v1/projects/deploy?dryRun=true', body, headers);
  assert.match(dry.body.message, /which this account does not have/);
});

test('private locations need the role that their own route needs', async () => {
  await using cp = await startTestControlPlane();
  const { body: key } = await cp.api('POST', '/v1/api-keys', { name: 'ci', role: 'READ_WRITE' });
  const headers = { authorization: `Bearer ${key.rawKey}` };
  const body = projectOf([
    resource('private-location', 'office', { name: 'Office', slugName: 'office' }),
  ]);
  const writer: Pick<TestControlPlane, 'api'> = {
    api: (method, path, given) => cp.api(method, path, given, headers),
  };
  assert.equal((await deploy(writer, body)).error?.code, 'FORBIDDEN');
  assert.equal((await deploy(cp, body)).status, 'SUCCEEDED');

  // Nor does it come to a project by other ways: what that no longer lists is deleted.
  await destroyed(cp, '?preserveResources=true');
  assert.equal((await deploy(writer, body, '?adopt=true')).error?.code, 'FORBIDDEN');
  await cp.api('POST', '/next/projects', { logicalId: 'shop', name: 'Shop' });
  const { body: plan } = await writer.api('POST', '/next/projects/shop/imports', {});
  const path = `/next/projects/imports/${plan.id}/apply`;
  assert.equal((await writer.api('POST', path)).status, 403);
  assert.equal((await cp.api('POST', path)).status, 200);
});

test('without a schedule on deployment, new checks wait for their own', async () => {
  await using cp = await startTestControlPlane();
  const { hub, db } = cp.controlPlane.services;
  hub.isServed = () => true;
  const at = (name: string) => url(name, { locations: ['eu-west-1'] });
  await deployed(cp, projectOf([at('a')]), '?scheduleOnDeploy=false');
  assert.deepEqual(await db.selectFrom('jobs').selectAll().execute(), []);
  await deployed(cp, projectOf([at('a'), at('b')]));
  assert.equal((await db.selectFrom('jobs').selectAll().execute()).length, 1);
});

test('a deployment whose process is gone has failed, and is in nobody’s way', async () => {
  await using cp = await startTestControlPlane();
  const id = randomUUID();
  await cp.controlPlane.services.db
    .insertInto('deployments')
    .values({
      ...{ id, account_id: cp.accountId, logical_id: 'shop', replica_id: 'gone' },
      ...{ status: 'RUNNING', error_json: null, result_json: null, created_at: 0 },
      ...{ started_at: 0, ended_at: null, cancel_requested_at: null },
    })
    .execute();
  assert.equal((await deploy(cp, projectOf([url('a')]))).status, 'SUCCEEDED');
  const { body } = await cp.api('GET', `/v1/projects/shop/deployments/${id}`);
  assert.deepEqual([body.status, body.error.code], ['FAILED', 'ABANDONED']);
});

test('code bundles and files are uploaded, found and downloaded', async () => {
  await using cp = await startTestControlPlane();
  const storage = '/next/checkly-storage';
  const headers = { authorization: `Bearer ${cp.apiKey}` };
  const type = { 'content-type': 'application/octet-stream' };
  const upload = async (path: string, body: Buffer) => {
    const response = await fetch(`${cp.url}${storage}/${path}`, {
      ...{ method: 'POST', headers: { ...headers, ...type }, body },
    });
    return { status: response.status, body: (await response.json()) as Fields };
  };
  const bundle = await upload('upload-code-bundle', gzipSync('bundle'));
  assert.equal(bundle.status, 201);
  const { key } = bundle.body;
  assert.deepEqual(
    (await cp.api('POST', `${storage}/peek-code-bundle`, { key })).body,
    bundle.body,
  );
  assert.equal((await upload('upload-code-bundle', Buffer.from('no gzip'))).status, 400);
  assert.equal((await cp.api('POST', `${storage}/peek-code-bundle`, { key: 'no' })).status, 404);
  const file = await upload('upload', Buffer.from('a snapshot'));
  const download = (body: Fields, authorization = headers.authorization) =>
    fetch(`${cp.url}${storage}/download`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  assert.equal(await (await download(file.body)).text(), 'a snapshot');
  const foreign = `Bearer ${await cp.foreignKey()}`;
  assert.equal((await download(file.body, foreign)).status, 404);
});
