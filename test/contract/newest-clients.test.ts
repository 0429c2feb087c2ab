/**
 * The newest description of this kind of API that is known, by its operations and fields: each is answered here, or the
 * guide names what is not kept and why. A name in the fixture is a fact of that description and nothing else of it.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { allRoutes } from '@monitor/shared/contract/index.ts';
import type { Route } from '@monitor/shared/contract/route.ts';
import { knownFields } from '@monitor/shared/known-fields.ts';
import type { z } from 'zod';

type Part = 'body' | 'answer' | 'query';
/** `a b(c d)` has the fields `a`, `b`, `b.c` and `b.d`. A part that is `as` another has the same ones. */
type Described = Readonly<Record<string, Partial<Record<Part, string>>>>;
const root = join(import.meta.dirname, '../..');
const described = JSON.parse(
  readFileSync(join(root, 'test/fixtures/newest-clients.json'), 'utf8'),
) as Described;
const guide = readFileSync(join(root, 'docs/moving-existing-clients.md'), 'utf8');

/** Rows of the guide: fields or operations, the paths that begin with one of these, and the reason. */
const named = (/\n## What is not kept\n([\s\S]*?)\n## /.exec(guide)?.[1] ?? '')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => {
    const [, what = '', where = '', why = ''] = line.split('|');
    const quoted = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, each = '']) => each);
    return { what: quoted(what), where: quoted(where), why: why.trim(), used: new Set<string>() };
  });

function pathsIn(text: string): string[] {
  const within: string[] = [];
  const paths: string[] = [];
  for (const [token] of text.matchAll(/[^\s()]+|[()]/g)) {
    if (token === ')') within.pop();
    else if (token === '(') within.push(paths.at(-1)?.split('.').at(-1) ?? '');
    else paths.push([...within, token].join('.'));
  }
  return paths;
}

const partOf = (operation: string, part: Part): string => {
  const text = described[operation]?.[part] ?? '';
  const [, like = '', of = ''] = /^as (body|answer) (.+)$/.exec(text) ?? [];
  return like === '' ? text : partOf(of, like as Part);
};

const anyName = (path: string) => path.replace(/\{\w+\}/g, '{}');
const routes = new Map<string, Route>(
  allRoutes.map((route) => [`${route.method} ${anyName(route.path)}`, route]),
);

/** Whether a value of the schema can have the field. Results hold themselves, so nothing is read ahead. */
function has(schema: z.core.$ZodType, path: readonly string[]): boolean {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  const [name = '', ...rest] = path;
  switch (def.type) {
    case 'object': {
      const field = def.shape[name];
      if (field !== undefined) return rest.length === 0 || has(field, rest);
      return def.catchall !== undefined && def.catchall._zod.def.type !== 'never';
    }
    case 'array':
      return has(def.element, path);
    case 'union':
      return def.options.some((option) => has(option, path));
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
      return has(def.innerType, path);
    case 'pipe':
      return has(def.in._zod.def.type === 'transform' ? def.out : def.in, path);
    default:
      return ['record', 'unknown', 'any'].includes(def.type);
  }
}

/** A body may have what answers have and what other types have: it is answered as sent, or a `Warning` names it. */
function isAnswered(route: Route, part: Part, field: string): boolean {
  const { body, response, query, relatedFields } = route;
  if (part === 'query') {
    const known = query === undefined ? [] : [...knownFields(query).fields.keys()];
    return known.some((name) => name === field || name.startsWith(`${field}[`));
  }
  const schemas = part === 'body' ? [body, response, relatedFields] : [response];
  return schemas.some((schema) => schema !== undefined && has(schema, field.split('.')));
}

/** What of the description is neither answered nor named, and what the rows of the guide name. */
function unanswered(): string[] {
  return Object.keys(described).flatMap((operation) => {
    const [method = '', path = ''] = operation.split(' ');
    const isNamed = (what: string) =>
      named.some((row) => {
        const isHere = row.what.includes(what) && row.where.some((each) => path.startsWith(each));
        if (isHere) row.used.add(what);
        return isHere;
      });
    const route = routes.get(`${method} ${anyName(path)}`);
    if (route === undefined) return isNamed(method) ? [] : [operation];
    return (['body', 'answer', 'query'] as const).flatMap((part) => {
      const lacking = new Set<string>();
      return pathsIn(partOf(operation, part)).flatMap((field) => {
        const parent = field.slice(0, Math.max(0, field.lastIndexOf('.')));
        if (!lacking.has(parent) && isAnswered(route, part, field)) return [];
        lacking.add(field);
        // What stands in it goes with it.
        if (lacking.has(parent) || isNamed(part === 'query' ? `?${field}` : field)) return [];
        return [`${operation}: ${part} ${field}`];
      });
    });
  });
}

test('each operation and field of the newest description is answered, or named in the guide', () => {
  assert.equal(Object.keys(described).length, 194);
  assert.deepEqual(unanswered(), []);
});

test('the guide names nothing that is answered, and says why of each', () => {
  unanswered();
  assert.ok(named.length > 0);
  for (const { what, where, why, used } of named) {
    assert.deepEqual([...used].toSorted(), what.toSorted(), `${where.join()} has it all the same`);
    assert.ok(why.length > 10, what.join());
  }
});
