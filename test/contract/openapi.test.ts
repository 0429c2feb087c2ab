import assert from 'node:assert/strict';
import test from 'node:test';
import { allRoutes } from '@monitor/shared/contract/index.ts';
import { deviceRoutes } from '@monitor/shared/contract/device.ts';
import { passkeyRoutes } from '@monitor/shared/contract/passkey.ts';
import { clientStorageRoutes } from '@monitor/shared/contract/compatibility/storage.ts';
import { profileRoutes } from '@monitor/shared/contract/person.ts';
import type { Route } from '@monitor/shared/contract/route.ts';
import { openApiDocument } from '../../scripts/openapi/document.ts';
import { startTestControlPlane } from '../support/control-plane.ts';
import { paramNames, pathOf } from '../support/world.ts';

type Json = Record<string, unknown>;
const document = openApiDocument();

const largest = Number.MAX_SAFE_INTEGER;

function exampleOf(route: Route): unknown {
  const paths = document['paths'] as Record<string, Record<string, Json>>;
  const operation = paths[route.path]?.[route.method.toLowerCase()];
  const body = operation?.['requestBody'] as { content: Record<string, Json> } | undefined;
  return body?.content['application/json']?.['example'];
}

const withBody = allRoutes.filter((route: Route) => route.body !== undefined);

function everyValue(value: unknown, visit: (key: string, value: unknown) => void): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    visit(key, inner);
    everyValue(inner, visit);
  }
}

test('every operation of the contract is described, under a name of its own', () => {
  const paths = document['paths'] as Record<string, Record<string, Json>>;
  const ids = new Set<unknown>();
  for (const route of allRoutes) {
    const operation = paths[route.path]?.[route.method.toLowerCase()];
    assert.ok(operation !== undefined, `${route.method} ${route.path}`);
    assert.equal(operation['operationId'], route.operationId);
    ids.add(operation['operationId']);
    const named = (operation['parameters'] as Json[]).filter(
      (parameter) => parameter['in'] === 'path',
    );
    assert.deepEqual(
      named.map((parameter) => parameter['name']),
      [...route.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]),
    );
    assert.ok(route.authentication === 'none' || '401' in (operation['responses'] as Json));
  }
  assert.equal(ids.size, allRoutes.length);
});

test('every reference leads somewhere, and nothing of our own leaks', () => {
  everyValue(document, (key, value) => {
    assert.notEqual(key, 'override');
    if (key !== '$ref') return;
    let at: unknown = document;
    for (const part of String(value).replace('#/', '').split('/')) at = (at as Json)[part];
    assert.ok(at !== undefined, String(value));
  });
});

test('every example of a request is one that its own schema accepts', () => {
  for (const route of withBody as readonly Route[]) {
    const { success, error } = route.body?.safeParse(exampleOf(route)) ?? {};
    assert.ok(success, `${route.operationId}: ${error?.message ?? ''}`);
  }
});

test('nothing is bounded by, or shown as, the largest number of the language', () => {
  everyValue(document, (key, value) => {
    assert.ok(value !== largest && value !== -largest, key);
  });
});

/** What the example of an operation cannot know: ids of what was made before. */
function idsFor(route: Route, made: ReadonlyMap<string, Json>): Json {
  const answerOf = (path: string) => made.get(path) ?? {};
  switch (route.operationId) {
    case 'createIncident':
    case 'updateIncident':
    case 'patchIncident':
      return { services: [{ id: answerOf('/v1/status-pages/services')['id'] }] };
    case 'createDashboardIncident':
      return { dashboardId: answerOf('/v1/dashboards')['id'] };
    case 'createDeploymentTrigger':
      return { checkId: answerOf('/v1/checks/url')['id'] };
    case 'cancel': {
      const [session] = answerOf('/v2/check-sessions/trigger')['sessions'] as Json[];
      return { checkSessionId: session?.['checkSessionId'] };
    }
    default:
      return {};
  }
}

test('what a body may leave out, generators of clients let it leave out', () => {
  // They take a field with a default for one that is always there, unless it stands in a body itself.
  const { schemas } = document['components'] as { schemas: Record<string, Json> };
  const bodies = Object.entries(schemas).filter(([name]) => name.endsWith('Input'));
  const withDefaults = new Set<string>();
  const note = (name: string) => (key: string, value: unknown) => {
    if (key !== 'properties') return;
    for (const [field, schema] of Object.entries(value as Record<string, Json>)) {
      if (typeof schema === 'object' && 'default' in schema) withDefaults.add(`${name}.${field}`);
    }
  };
  for (const [name, schema] of bodies) everyValue({ schema }, note(name));
  assert.deepEqual([...withDefaults], []);
  const body = (document['paths'] as Record<string, Record<string, Json>>)['/v1/checks/url']?.[
    'post'
  ];
  const required = new Set<string>();
  everyValue(body?.['requestBody'], (key, value) => {
    if (key === 'required' && Array.isArray(value))
      for (const each of value) required.add(String(each));
  });
  assert.ok(required.has('url') && !required.has('followRedirects'), [...required].join(', '));
});

/** A key has no profile: the tests of people play these. */
const isOfProfile = (route: Route) =>
  Object.values<Route>({ ...profileRoutes, ...passkeyRoutes, ...deviceRoutes }).includes(route);

/** What is asked for by the name that its upload gave it: the tests of uploads play these. */
const isOfUpload = (route: Route) => Object.values<Route>(clientStorageRoutes).includes(route);

test('an example is carried out as it stands, once the ids in it exist', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const made = new Map<string, Json>();
  let played = 0;
  for (const route of withBody as readonly Route[]) {
    const [name, ...further] = paramNames(route);
    const parent = made.get(route.path.replace(/\/\{\w+\}$/, ''));
    const isOfMade = name === undefined || (further.length === 0 && parent !== undefined);
    if (!isOfMade || route.authentication !== 'apiKey' || isOfProfile(route)) continue;
    if (isOfUpload(route)) continue;
    // It makes the project at once that another example makes.
    if (route.operationId === 'deployProjectAtOnce') continue;
    // A program has to register before: its own tests play it.
    if (route.operationId === 'authorizeClient') continue;
    const params = name === undefined ? {} : { [name]: parent?.[name] ?? parent?.['id'] };
    const body = { ...(exampleOf(route) as Json), ...idsFor(route, made) };
    const answer = await cp.api(route.method, pathOf(route, params), body);
    assert.equal(
      answer.status,
      route.status,
      `${route.operationId}: ${JSON.stringify(answer.body)}`,
    );
    if (route.method === 'POST') made.set(route.path, answer.body as Json);
    played += 1;
  }
  assert.ok(played >= 45, `${played} examples were played`);
});

test('the running control plane describes itself, and shows it on a page without foreign parts', async () => {
  await using cp = await startTestControlPlane();
  const served = (await (await fetch(`${cp.url}/openapi.json`)).json()) as Json;
  assert.equal(served['openapi'], '3.1.0');
  assert.deepEqual(served['servers'], [{ url: cp.url }]);
  const page = await fetch(`${cp.url}/docs`);
  const html = await page.text();
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/);
  for (const [, path = ''] of html.matchAll(/(?:src|href)="(\/[^"]+)"/g)) {
    assert.equal((await fetch(cp.url + path)).status, 200, path);
  }
  assert.equal(/(?:src|href)="https?:/.test(html), false);
});
