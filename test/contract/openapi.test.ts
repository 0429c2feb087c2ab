import assert from 'node:assert/strict';
import test from 'node:test';
import { allRoutes } from '@monitor/shared/contract/index.ts';
import { openApiDocument } from '../../scripts/openapi/document.ts';
import { startTestControlPlane } from '../support/control-plane.ts';

type Json = Record<string, unknown>;
const document = openApiDocument();

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
