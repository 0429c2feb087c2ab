// PostgreSQL in the long tier: projects.test.ts, deleted-references.test.ts, assembled-checks.test.ts,
// resources.test.ts and accounts.test.ts run its statements on both.
/** What an account has becomes a folder, and a folder becomes what an account has. */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { parseEnv } from 'node:util';
import fc from 'fast-check';
import { alertChannelRoutes } from '@monitor/shared/contract/alert-channel.ts';
import { checkGroupRoutes } from '@monitor/shared/contract/check-group.ts';
import { checkTypeRoutes } from '@monitor/shared/contract/check-routes.ts';
import type {
  ProjectBody,
  ProjectResource,
} from '@monitor/shared/contract/compatibility/projects.ts';
import { dashboardRoutes } from '@monitor/shared/contract/dashboard.ts';
import { escalationPolicyRoutes } from '@monitor/shared/contract/escalation-policy.ts';
import { maintenanceWindowRoutes } from '@monitor/shared/contract/maintenance-window.ts';
import { privateLocationRoutes } from '@monitor/shared/contract/private-location.ts';
import type { Route } from '@monitor/shared/contract/route.ts';
import { snippetRoutes } from '@monitor/shared/contract/snippet.ts';
import { serviceRoutes, statusPageRoutes } from '@monitor/shared/contract/status-page.ts';
import { variableRoutes } from '@monitor/shared/contract/variable.ts';
import {
  bodyOf,
  filesOf,
  withoutSecrets,
  withSecrets,
} from '../../../control-plane/as-code/index.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { Operator } from '../../support/control-plane-command.ts';
import { deployed, destroyed, everything, inWords } from '../../support/projects.ts';
import { bodiesOf } from '../../support/random-bodies.ts';
import { testSeed, tries } from '../../support/random.ts';
import { temporaryFolder } from '../../support/system.ts';

async function exported(cp: TestControlPlane): Promise<ProjectBody> {
  const { status, body } = await cp.api('GET', '/v1/projects/export?logicalId=shop&name=Shop');
  assert.equal(status, 200, JSON.stringify(body));
  const { resources, ...rest } = body as ProjectBody;
  const nameOf = ({ type, logicalId }: ProjectResource) => `${type} ${logicalId}`;
  return {
    ...rest,
    resources: resources.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1)),
  };
}

/** Through files and back, with a value for each secret that nobody can read. */
function throughFiles(body: ProjectBody): ProjectBody {
  const { resources, secrets } = withoutSecrets(body.resources);
  const read = bodyOf(filesOf({ ...body, resources }));
  const values = Object.fromEntries([...secrets].map(([name, value]) => [name, value ?? 'given']));
  const shown = withSecrets(read.resources, values);
  assert.deepEqual(shown.missing, []);
  return { ...read, resources: shown.resources };
}

/** With two kinds of quotes and what one of them would read as another line. */
const oddSecret = `it's a "\\n" \\`;

async function withEverything(): Promise<TestControlPlane> {
  const cp = await startTestControlPlane({ requestsPerMinute: 0 });
  await deployed(cp, everything());
  const made = async (path: string, body: object) => {
    const answer = await cp.api('POST', path, body);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body as { id: never };
  };
  const snippet = await made('/v1/snippets', { name: 'sign', script: 'await 0;' });
  await made('/v1/variables', { key: 'TOKEN', value: 'hunter2', secret: true });
  await made('/v1/variables', { key: 'HOST', value: 'shop.example' });
  await made('/v1/alert-channels', {
    type: 'WEBHOOK',
    config: { name: 'odd', url: 'https://hooks.example/odd', webhookSecret: oddSecret },
  });
  const [channel] = (await cp.api('GET', '/v1/alert-channels')).body as { id: number }[];
  const steps = [{ alertChannelIds: [channel?.id], delayMinutes: 5 }];
  const policy = await made('/v1/escalation-policies', { name: 'Night', steps });
  const check = (name: string) => ({
    ...{ name, locations: ['eu-central-1'], alertChannelSubscriptions: [] },
    ...{ setupSnippetId: snippet.id, alertSettings: { escalationPolicyId: policy.id } },
    request: {
      method: 'GET',
      url: 'https://a.example/',
      basicAuth: { username: 'a', password: 'b' },
    },
  });
  await made('/v1/checks/api?autoAssignAlerts=false', check('Same name'));
  await made('/v1/checks/api?autoAssignAlerts=false', check('Same name'));
  const { body: services } = await cp.api('GET', '/v1/status-pages/services');
  const { body: checks } = await cp.api('GET', '/v1/checks?limit=100');
  const { body: groups } = await cp.api('GET', '/v1/check-groups');
  // A service that a check reports to follows checks.
  const followed = await cp.api('PUT', `/v1/status-pages/services/${services.entries[0].id}`, {
    name: 'Checkout',
    follows: {
      ...{ rule: 'MAJORITY', afterMinutes: 5, groupIds: [groups[0].id] },
      checkIds: (checks as { id: string; name: string }[])
        .filter(({ name }) => ['TCP', 'DNS', 'ICMP'].includes(name))
        .map(({ id }) => id),
    },
  });
  assert.equal(followed.status, 200, JSON.stringify(followed.body));
  return cp;
}

test('an installation that is exported and applied to another one makes an equal one, and applying again changes nothing', async () => {
  await using first = await withEverything();
  await using second = await startTestControlPlane({ requestsPerMinute: 0 });
  const body = await exported(first);
  assert.doesNotMatch(JSON.stringify(body), /hunter2|hidden/);
  const applied = throughFiles(body);
  const diff = await deployed(second, applied);
  assert.ok(
    diff.every(({ action }) => action === 'CREATE'),
    inWords(diff).join(),
  );
  assert.deepEqual(await exported(second), body);
  const { body: services } = await second.api('GET', '/v1/status-pages/services');
  const { follows } = services.entries[0];
  assert.deepEqual([follows.rule, follows.checkIds.length], ['MAJORITY', 3]);
  assert.deepEqual(await deployed(second, applied), []);
  const change = (payload: object) => ({
    ...applied,
    resources: applied.resources.map((each) =>
      each.type === 'status-page-service'
        ? { ...each, payload: { name: 'Checkout', ...payload } }
        : each,
    ),
  });
  // What the files do not name stays; what they name is set, and said once.
  assert.deepEqual(await deployed(second, change({})), []);
  const none = await deployed(second, change({ follows: null }));
  assert.deepEqual(inWords(none), [`UPDATE status-page-service ${none[0]?.logicalId}`]);
  const unknown = change({ follows: { checkIds: [{ ref: 'nobody' }] } });
  const refused = await second.api('POST', '/v1/projects/deploy?dryRun=true', unknown);
  assert.match(refused.body.message, /nobody/);
});

test('applied to the installation it came from, a folder takes over what is there, or is refused what a project owns', async () => {
  await using cp = await withEverything();
  const body = throughFiles(await exported(cp));
  const asOther = { ...body, project: { logicalId: 'other', name: 'Other' } };
  const refused = await cp.api('POST', '/v1/projects/deploy?adopt=true&dryRun=true', asOther);
  assert.equal(refused.status, 409);
  assert.match(refused.body.message, /: it belongs to the project "Shop" already/);
  await destroyed(cp, '?preserveResources=true');
  const other = { ...throughFiles(await exported(cp)), project: asOther.project };
  const count = async (path: string) => (await cp.api('GET', path)).body.length as number;
  const before = await count('/v1/checks?limit=100');
  const diff = await deployed(cp, other, '?adopt=true');
  // Only values that nobody can read are written anew; subscriptions are linked.
  assert.deepEqual(
    [...new Set(diff.filter(({ action }) => action === 'CREATE').map(({ type }) => type))],
    ['alert-channel-subscription'],
  );
  assert.equal(await count('/v1/checks?limit=100'), before);
  assert.deepEqual(await deployed(cp, other), []);
});

test('whatever the contract accepts is exported and applied without a difference', async () => {
  const routes: Route[] = [
    ...checkTypeRoutes.flatMap(({ definition, create }) =>
      definition.type === 'PLAYWRIGHT' ? [] : [create],
    ),
    ...[checkGroupRoutes.createCheckGroup, alertChannelRoutes.createAlertChannel],
    ...[privateLocationRoutes.createPrivateLocation, serviceRoutes.createService],
    ...[maintenanceWindowRoutes.createMaintenanceWindow, dashboardRoutes.createDashboard],
    ...[statusPageRoutes.createStatusPage, variableRoutes.createVariable],
    ...[snippetRoutes.createSnippet, escalationPolicyRoutes.createEscalationPolicy],
  ];
  let made = 0;
  const some = fc.oneof(
    ...routes.map((route) => bodiesOf(route).map((body) => ({ path: route.path, body }))),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(some, { minLength: 20, maxLength: 40 }), async (drawn) => {
      await using first = await startTestControlPlane({ requestsPerMinute: 0 });
      await using second = await startTestControlPlane({ requestsPerMinute: 0 });
      for (const { path, body } of drawn) {
        const { status } = await first.api('POST', path, body);
        if (status === 201) made += 1;
      }
      const body = await exported(first);
      const applied = throughFiles(body);
      await deployed(second, applied);
      assert.deepEqual(await exported(second), body);
      assert.deepEqual(await deployed(second, applied), []);
    }),
    { seed: testSeed() | 0, numRuns: tries(200), endOnFailure: true },
  );
  assert.ok(made > 10, `${made} resources were made`);
});

test('the commands write a folder, print a plan, apply it, and say what is missing', async () => {
  await using first = await withEverything();
  await using second = await startTestControlPlane({ requestsPerMinute: 0 });
  using place = temporaryFolder();
  const of = (cp: TestControlPlane) =>
    new Operator(place.path, { CONTROL_PLANE_API_KEY: cp.apiKey, PUBLIC_URL: cp.url });
  const [here, there] = [of(first), of(second)];
  const folder = join(place.path, 'monitoring');
  const secrets = join(place.path, 'monitoring.env');
  // As an editor would have made it.
  writeFileSync(secrets, '', { mode: 0o644 });
  const report = await here.json<{ written: string[]; secrets: string[] }>(
    ...['export', folder, '--secrets', secrets],
  );
  assert.ok(report.written.includes('checks/same-name-2.yaml'), report.written.join());
  assert.equal(statSync(secrets).mode & 0o777, 0o600);
  const values = Object.values(parseEnv(readFileSync(secrets, 'utf8')));
  assert.ok(values.includes(oddSecret), values.join());
  const again = await here.spawn('export', folder);
  assert.match(again.out, /^0 files written, 0 removed in /);

  const noKey = new Operator(place.path, { CONTROL_PLANE_API_KEY: 'cu_0', PUBLIC_URL: first.url });
  assert.match(await noKey.refused(1, 'export', folder), /Bad Token; set CONTROL_PLANE_API_KEY to/);
  const broken = new Operator(place.path, {
    CONTROL_PLANE_API_KEY: 'cu_0\ncu_1',
    PUBLIC_URL: first.url,
  });
  assert.doesNotMatch(await broken.refused(2, 'export', folder), /cu_[01]/);
  for (const [url, shown] of [
    ['ftp://a', '"ftp://a"'],
    [' http://ann:hush@a/ ', '"http://…@a"'],
    ['ftp://ann:hush@a b', '"ftp://…@a b"'],
  ] as const) {
    const refusal = await noKey.refused(2, 'export', folder, '--url', url);
    assert.ok(refusal.includes(`${shown} is no http or https address`), refusal);
  }

  const missing = await there.refused(2, 'apply', folder);
  assert.match(missing, /it needs .*VARIABLE_TOKEN.*Nothing was changed/);
  // What nobody can read back is named in comments, to be filled in.
  writeFileSync(secrets, readFileSync(secrets, 'utf8').replaceAll(/^# (\w+)=$/gm, '$1=given'));
  const from = ['--env-file', secrets];
  const plan = await there.run('apply', folder, ...from);
  assert.equal(plan.code, 0, plan.error);
  assert.match(plan.out, /^\+ create\tcheck\tsame-name-2$/m);
  assert.match(plan.error, /this is a plan: nothing was changed; --yes applies it/);
  assert.deepEqual((await exported(second)).resources, []);
  const applied = await there.run('apply', folder, '--yes', ...from);
  assert.equal(applied.code, 0, applied.error);
  const nothing = await there.spawn('apply', folder, '--yes', ...from);
  assert.deepEqual([nothing.out, nothing.error.trim()], ['', 'nothing changed']);

  rmSync(join(folder, 'checks', 'same-name-2.yaml'));
  const less = await there.run('apply', folder, '--yes', ...from);
  assert.equal(less.out, '- delete\tcheck\tsame-name-2\n');
  writeFileSync(join(folder, 'checks', 'wrong.yaml'), 'checkType: URL\nname: a\nrequest: {}\n');
  const refused = await there.refused(1, 'apply', folder, '--yes', ...from);
  assert.match(refused, /check "wrong": .*"request\.url"/);
});

test('equal installations are exported byte by byte alike, whatever was made first', async () => {
  const check = (fields: object) => ({
    name: 'Same',
    ...{ request: { url: 'https://a.example/' }, frequencyOffset: 7 },
    ...fields,
  });
  const exportOf = async (isReversed: boolean): Promise<string> => {
    await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
    const inTurn = <T>(all: readonly T[]): T[] => (isReversed ? all.toReversed() : [...all]);
    const groups = new Map<string, number>();
    for (const tag of inTurn(['a', 'b', 'c'])) {
      const { body } = await cp.api('POST', '/v2/check-groups', { name: 'Group', tags: [tag] });
      groups.set(tag, body['id'] as number);
    }
    for (const fields of inTurn([
      ...['a', 'b', 'c'].map((tag) => ({ groupId: groups.get(tag) })),
      ...[
        { frequency: 5, tags: ['x'] },
        { tags: ['x'], frequency: 10 },
      ],
    ])) {
      assert.equal((await cp.api('POST', '/v1/checks/url', check(fields))).status, 201);
    }
    for (const address of inTurn(['ada@example.com', 'ben@example.com'])) {
      await cp.api('POST', '/v1/alert-channels', { type: 'EMAIL', config: { address } });
    }
    const { body } = await cp.api('GET', '/v1/projects/export');
    return JSON.stringify(body);
  };
  const once = await exportOf(false);
  assert.match(once, /"same-5"/);
  for (let round = 0; round < 3; round += 1) assert.equal(await exportOf(true), once);
});
