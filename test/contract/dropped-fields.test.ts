/**
 * Nothing that a caller sends is dropped in silence, for every operation and kind of resource there is: a
 * field that nobody knows is put into every object of a body, and each has to be named.
 */
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import type { z } from 'zod';
import { allRoutes } from '@monitor/shared/contract/index.ts';
import {
  resourceTypes,
  type ProjectBody,
} from '@monitor/shared/contract/compatibility/projects.ts';
import type { Route } from '@monitor/shared/contract/route.ts';
import { knownFields } from '@monitor/shared/known-fields.ts';
import { bodyOf, filesOf } from '../../control-plane/as-code/index.ts';
import { readQuery } from '../../control-plane/http/validate.ts';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import { everything, projectOf, ref, resource } from '../support/projects.ts';
import {
  buildWorld,
  exampleBodies,
  exampleQuery,
  kindsOfParams,
  pathOf,
  type World,
} from '../support/world.ts';

const field = 'zqxvv';
const now = Date.now();
const urlCheck = { checkType: 'URL', name: 'api', request: { url: 'https://a.example/' } };

let cp: TestControlPlane;
let world: World;
let bodies: ReadonlyMap<string, unknown>;
before(async () => {
  cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const target = { url: cp.url, key: cp.apiKey };
  world = await buildWorld(cp.controlPlane.services, target, cp.accountId, 'dropped');
  bodies = await exampleBodies(world);
});
after(() => cp[Symbol.asyncDispose]());

/** A copy with the field in every object, and where they are. References stay what they are. */
function withUnknown(value: unknown, except?: string): { value: unknown; paths: string[] } {
  const paths: string[] = [];
  const copy = (of: unknown, path: readonly (string | number)[]): unknown => {
    if (Array.isArray(of)) return of.map((each, at) => copy(each, [...path, at]));
    if (typeof of !== 'object' || of === null || 'ref' in of) return of;
    const at = [...path, field].join('.');
    const isLeftOut = at === except;
    if (!isLeftOut) paths.push(at);
    const entries = Object.entries(of).map(([name, each]) => [name, copy(each, [...path, name])]);
    return { ...Object.fromEntries(entries), ...(!isLeftOut && { [field]: 'x' }) };
  };
  return { value: copy(value, []), paths };
}

/** Objects of any content that are stored or read as they are; agents agree with their protocol's version. */
const storedAsGiven: Readonly<Record<string, RegExp>> = {
  addMyPasskey: /^credential\./,
  agentSubmitResults: /^items\./,
  // Repositories send whole events.
  callDeploymentTrigger: /./,
  deployProjectAtOnce: /^(repoInfo|resources\.\d+\.payload)\./,
  deployProject: /^(repoInfo|resources\.\d+\.payload)\./,
  runTestSession: /^(checkRunJobs\.\d+\.sourceInfo|project|repoInfo)\./,
};

async function send(route: Route, query: Record<string, string>, body: unknown) {
  const params = Object.fromEntries(
    [...kindsOfParams(route)].map(([name, kind]) => [name, world.ids[kind][0]]),
  );
  const key = { apiKey: cp.apiKey, locationKey: world.agentKey, none: null }[route.authentication];
  const search = new URLSearchParams({ ...exampleQuery(route, now), ...query }).toString();
  const response = await fetch(`${cp.url}${pathOf(route, params)}?${search}`, {
    method: route.method,
    headers: {
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(route.authentication === 'locationKey' && { 'x-agent-protocol': '1' }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(60_000),
  });
  const text = await response.text();
  return {
    named: `${response.headers.get('warning') ?? ''} ${response.status === 400 ? text : ''}`,
    text,
    status: response.status,
  };
}

test('a field of a body that an operation does not keep is named, in every depth', async () => {
  let asked = 0;
  const dropped: string[] = [];
  for (const route of allRoutes) {
    const example = bodies.get(route.operationId);
    if (route.body === undefined || route.bodyStream === true) continue;
    const { value, paths } = withUnknown(example);
    const given = storedAsGiven[route.operationId] ?? /^$/;
    // What it made would belong to another project than that of the deployment below.
    const query = route.operationId === 'importFiles' ? { dryRun: 'true' } : {};
    const { named, status, text } = await send(route, query, value);
    for (const path of paths.filter((each) => !given.test(each)).slice(0, 20)) {
      asked += 1;
      const what = `${route.operationId} drops ${path}: ${status} ${named} ${text}`;
      if (!named.includes(path)) dropped.push(what.slice(0, 400));
    }
  }
  assert.deepEqual(dropped, []);
  assert.ok(asked > 100, String(asked));
});

test('a parameter that an operation does not know is named', async () => {
  for (const route of allRoutes) {
    if (route.hasEffects === true && route.authentication === 'none') continue;
    const { named, status } = await send(route, { [field]: 'x' }, bodies.get(route.operationId));
    assert.ok(named.includes(field), `${route.operationId} ${status}: ${named}`);
  }
});

const refusedIn = (schema: z.ZodType, value: unknown): unknown[] =>
  schema.safeParse(value).error?.issues.map(({ path }) => path[0]) ?? [];

test('an empty list in a query is no filter, and everything else that is empty is refused by name', () => {
  let lists = 0;
  for (const { query, operationId, authentication } of allRoutes) {
    if (query === undefined || authentication !== 'apiKey') continue;
    const known = knownFields(query);
    for (const [name, { items }] of known.fields) {
      const read = readQuery(known, { [name]: '' });
      if (items !== null) {
        lists += 1;
        assert.deepEqual(read, {}, `${operationId} ${name}`);
        assert.deepEqual(readQuery(known, { [`${name}[]`]: ['', ''] }), {}, operationId);
        assert.deepEqual(readQuery(known, { [name]: 'a' }), { [name]: 'a' }, operationId);
        continue;
      }
      assert.ok(
        read[name] === '' || refusedIn(query, read).includes(name),
        `${operationId} ${name}`,
      );
    }
  }
  assert.ok(lists > 20, String(lists));
});

/** One of every kind: what clients know, and what they do not. */
function project(): ProjectBody {
  const { resources, ...rest } = everything();
  return projectOf(
    [
      ...resources,
      resource('variable', 'LOGIN', { key: 'LOGIN', value: 'ada' }),
      resource('snippet', 'greet', { name: 'greet', script: 'await 0;' }),
      resource('escalation-policy', 'late', {
        ...{ name: 'late', steps: [{ delayMinutes: 5, alertChannelIds: [ref('mail')] }] },
      }),
    ],
    rest,
  );
}

/** Parts of a payload of any content. */
const isOpen = (path: string): boolean => /^(heartbeat|browserCheckDefaults)\.zqx/.test(path);

test('a field of a resource that a deployment does not keep is a warning of it, in every depth', async () => {
  const first = await cp.api('POST', '/v1/projects/deploy', project());
  const at = `/v1/projects/shop/deployments/${String(first.body['id'])}/completion`;
  assert.equal((await cp.api('GET', at)).body['status'], 'SUCCEEDED');
  // With all fields that each can have.
  const { body: whole } = await cp.api('GET', '/v1/projects/export?logicalId=shop&name=Shop');
  const { resources } = whole as unknown as ProjectBody;
  let asked = 0;
  const deploy = async (each: unknown, payload: unknown) => {
    const changed = resources.map((one) => (one === each ? { ...one, payload } : one));
    const body = { ...whole, resources: changed };
    return cp.api('POST', '/v1/projects/deploy?dryRun=true&adopt=true', body);
  };
  for (const each of resources) {
    let { value, paths } = withUnknown(each.payload);
    let answer = await deploy(each, value);
    // Some objects take no further field at all: that is named too.
    if (answer.status === 400) {
      const [place] = (answer.body as { attributes: { keys: string[] } }).attributes.keys;
      assert.match(JSON.stringify(answer.body), new RegExp(field));
      ({ value, paths } = withUnknown(each.payload, `${String(place)}.${field}`));
      answer = await deploy(each, value);
    }
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const warnings = (answer.body as { warnings?: string[] }).warnings ?? [];
    for (const path of paths.filter((one) => !isOpen(one))) {
      asked += 1;
      const warning = `${each.type} "${each.logicalId}": "${path}" is not kept`;
      assert.ok(warnings.includes(warning), `${warning}: ${warnings.join('; ')}`);
    }
  }
  const types = [...new Set(resources.map(({ type }) => type))];
  assert.deepEqual(
    types.toSorted(),
    resourceTypes.filter((type) => !type.endsWith('-assignment')).toSorted(),
  );
  assert.ok(asked >= 100, String(asked));
});

test('a field of an assignment, and one beside the resources, is a warning too', async () => {
  const { value } = withUnknown({ ...project(), resources: [] });
  const resources = project().resources.map((each) =>
    each.type.endsWith('-assignment')
      ? { ...each, payload: { ...each.payload, [field]: 'x' } }
      : each.type === 'dashboard'
        ? { ...each, payload: { ...each.payload, keys: [{ rawKey: 'da_x' }] } }
        : each,
  );
  const { body } = await cp.api('POST', '/v1/projects/deploy?dryRun=true', {
    ...(value as object),
    resources,
  });
  const { warnings } = body as { warnings: string[] };
  const assigned = resources.filter(({ type }) => type.endsWith('-assignment'));
  const board = resources.find(({ type }) => type === 'dashboard');
  assert.deepEqual(
    warnings.toSorted(),
    [
      `"project.${field}" is not kept`,
      `"${field}" is not kept`,
      `"sharedFiles.0.${field}" is not kept`,
      `"sharedFiles.1.${field}" is not kept`,
      `dashboard "${board?.logicalId}": "keys" is not kept`,
      ...assigned.map(({ type, logicalId }) => `${type} "${logicalId}": "${field}" is not kept`),
    ].toSorted(),
  );
});

test('a deployment says its warnings in its result and its events, and refuses what would change behaviour', async () => {
  const check = (payload: object) =>
    projectOf([resource('check', 'api', { ...urlCheck, ...payload })], {
      project: { logicalId: 'warned', name: 'Warned' },
    });
  const made = await cp.api('POST', '/v1/projects/deploy', check({ [field]: { goal: 'g' } }));
  const path = `/v1/projects/warned/deployments/${String(made.body['id'])}`;
  const { body } = await cp.api('GET', `${path}/completion`);
  const warning = `check "api": "${field}" is not kept`;
  assert.deepEqual(body['result'].warnings, [warning]);
  const events = await fetch(`${cp.url}${path}/events`, {
    headers: { authorization: `Bearer ${cp.apiKey}` },
  });
  assert.match(
    await events.text(),
    /event: warning\ndata: {"message":"check .*"zqxvv.*\n\nevent: complete/,
  );
  for (const [payload, isRefused] of [
    [{ snapshots: [{ key: 'k', path: 'p' }] }, true],
    [{ snapshots: [] }, false],
    [{ setupScriptDependencies: [{ path: 'a.ts', content: '0' }] }, true],
  ] as const) {
    const answer = await cp.api('POST', '/v1/projects/deploy?dryRun=true', check(payload));
    assert.equal(answer.status, isRefused ? 400 : 200, JSON.stringify(answer.body));
    if (isRefused)
      assert.match(String(answer.body['message']), /check "api": "\w+" is not supported/);
  }
});

test('what was read may be sent back unchanged; what another value would be lost of is named', async () => {
  const { body } = await cp.api('POST', '/v1/snippets', { name: 'one', script: '0' });
  const put = async (changes: object) => {
    const response = await fetch(`${cp.url}/v1/snippets/${String(body['id'])}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${cp.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, ...changes }),
    });
    return [response.status, response.headers.get('warning')];
  };
  assert.deepEqual(await put({}), [200, null]);
  assert.deepEqual(await put({ created_at: '2020-01-01T00:00:00.000Z' }), [
    ...[200, '299 - "unknown fields were ignored: created_at"'],
  ]);
});

test('a field of a file that its resource does not have is refused by name, in every depth', () => {
  const body = project();
  for (const each of body.resources) {
    const { value, paths } = withUnknown(each.payload);
    const resources = [{ ...each, payload: value as Record<string, unknown> }];
    const files = filesOf({ ...body, resources });
    if (files.length === 1) continue;
    const [first] = paths.filter((path) => !isOpen(path));
    assert.throws(() => bodyOf(files), { message: new RegExp(`"${first ?? ''}"`) }, each.type);
  }
});
