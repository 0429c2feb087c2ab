/** What people follow or load leads to the web: every field with such a name, found in every body. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { allRoutes } from '@monitor/shared/contract/index.ts';
import { channelConfigs } from '@monitor/shared/contract/alert-channel.ts';
import type { z } from 'zod';

const names = /(url|link|logo|favicon|redirectTo|picture|image|avatar|href|website)$/i;
/** Nobody follows them. */
const others = new Set(['proxyUrl']);
const scripts = [
  'javascript:alert(1)',
  ' JavaScript:alert(1)',
  'java\nscript:alert(1)',
  '\u0001javascript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'DATA:image/svg+xml,<svg onload="alert(1)"/>',
  'vbscript:msgbox(1)',
];
const web = ['https://shop.example/a', 'HTTP://shop.example:8080/b?c=d#e'];

interface Def {
  type: string;
  shape?: Record<string, z.ZodType>;
  innerType?: z.ZodType;
  in?: z.ZodType;
  out?: z.ZodType;
  element?: z.ZodType;
  valueType?: z.ZodType;
  left?: z.ZodType;
  right?: z.ZodType;
  options?: z.ZodType[];
  items?: z.ZodType[];
  getter?: () => z.ZodType;
}

/** Calls back with each field of a schema, however deep. */
function walk(
  schema: z.ZodType,
  visit: (path: string, field: z.ZodType) => void,
  path = '',
  seen = new Set<z.ZodType>(),
): void {
  if (seen.has(schema)) return;
  seen.add(schema);
  const def = schema._zod.def as unknown as Def;
  for (const [name, field] of Object.entries(def.shape ?? {})) {
    const inner = path === '' ? name : `${path}.${name}`;
    visit(inner, field);
    walk(field, visit, inner, seen);
  }
  const { innerType, element, valueType, left, right, options = [], items = [] } = def;
  for (const part of [
    innerType,
    def.in,
    def.out,
    element,
    valueType,
    left,
    right,
    def.getter?.(),
  ]) {
    if (part !== undefined) walk(part, visit, path, seen);
  }
  for (const part of [...options, ...items]) walk(part, visit, path, seen);
}

test('no field that takes an address of the web takes a script or data', () => {
  const found: string[] = [];
  const wrong: string[] = [];
  const look = (owner: string) => (path: string, field: z.ZodType) => {
    const name = path.split('.').at(-1) ?? '';
    if (!names.test(name) || others.has(name)) return;
    // Slugs and hosts are called so, too, and take no address.
    if (!web.every((text) => field.safeParse(text).success)) return;
    found.push(`${owner} ${path}`);
    for (const text of scripts) {
      if (field.safeParse(text).success) wrong.push(`${owner}: ${path} takes ${text}`);
    }
  };
  for (const { operationId, authentication, body } of allRoutes) {
    // What agents send is shown as text.
    if (authentication !== 'locationKey' && body !== undefined) walk(body, look(operationId));
  }
  for (const [type, config] of Object.entries(channelConfigs)) walk(config, look(type));
  assert.deepEqual(wrong, []);
  for (const each of [
    'createStatusPage redirectTo',
    'createStatusPage logo',
    'updateStatusPage favicon',
    'createDashboard link',
    'createURLMonitor request.url',
    'SLACK url',
  ]) {
    assert.ok(found.includes(each), `${each} is not among ${found.join(', ')}`);
  }
});
