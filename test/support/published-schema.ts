/** Reads facts about fields out of the published description of the API, following references. */
import { openApiDocument } from '../../scripts/openapi/document.ts';
import { allRoutes } from '@monitor/shared/contract/index.ts';
import type { Route } from '@monitor/shared/contract/route.ts';
import { ownValues } from '../contract/conformance.table.ts';

type Json = Record<string, unknown>;

const document = openApiDocument();
const paths = document['paths'] as Record<string, Record<string, Json>>;

export interface PublishedFacts {
  kinds: string[];
  of: string[];
  nullable: boolean;
  values: unknown[] | undefined;
  default: unknown;
  format: unknown;
  deprecated: boolean;
  bounds: Record<'minimum' | 'maximum' | 'maxLength' | 'minItems' | 'maxItems', number | undefined>;
}

export function routeOf(operationId: string): Route {
  const route = allRoutes.find((one) => one.operationId === operationId);
  if (route === undefined) throw new Error(`the contract has no operation ${operationId}`);
  return route;
}

export function publishedOperation(route: Route): Json {
  const operation = paths[route.path]?.[route.method.toLowerCase()];
  if (operation === undefined) throw new Error(`${route.method} ${route.path} is not published`);
  return operation;
}

function resolve(schema: Json): Json {
  const reference = schema['$ref'];
  if (typeof reference !== 'string') return schema;
  let at: unknown = document;
  for (const part of reference.replace('#/', '').split('/')) at = (at as Json)[part];
  return resolve(at as Json);
}

/** The alternatives a schema allows, each without a union inside. */
function branchesOf(schema: Json): Json[] {
  const resolved = resolve(schema);
  const union = (resolved['anyOf'] ?? resolved['oneOf']) as Json[] | undefined;
  return union === undefined ? [resolved] : union.flatMap(branchesOf);
}

function typesOf(branch: Json): string[] {
  const type = branch['type'];
  if (type === undefined) return [];
  return Array.isArray(type) ? (type as string[]) : [String(type)];
}

function valuesOf(branch: Json): unknown[] | undefined {
  if ('const' in branch) return [branch['const']];
  const values = branch['enum'] as unknown[] | undefined;
  return values?.filter((value) => !ownValues.has(value));
}

function kindsOf(branches: Json[]): string[] {
  const kinds = branches.flatMap((branch) => {
    const values = valuesOf(branch);
    const areWhole = values !== undefined && values.every((value) => Number.isInteger(value));
    return typesOf(branch).map((type) => (areWhole && type === 'number' ? 'integer' : type));
  });
  return [...new Set(kinds.filter((kind) => kind !== 'null'))];
}

function boundOf(branches: Json[], name: string): number | undefined {
  return branches.find((branch) => branch[name] !== undefined)?.[name] as number | undefined;
}

export function factsOf(schema: Json): PublishedFacts {
  const all = branchesOf(schema);
  const branches = all.filter((branch) => typesOf(branch).join() !== 'null');
  const items = branches.flatMap((branch) =>
    branch['items'] === undefined ? [] : branchesOf(branch['items'] as Json),
  );
  const enumerated = (items.length > 0 ? items : branches).map(valuesOf);
  return {
    kinds: kindsOf(branches),
    of: kindsOf(items),
    nullable: all.some((branch) => typesOf(branch).includes('null')),
    values: enumerated.some((values) => values === undefined)
      ? undefined
      : enumerated.flatMap((values) => values ?? []).filter((value) => value !== null),
    default: schema['default'] ?? resolve(schema)['default'],
    format: boundOf(branches, 'format'),
    deprecated: schema['deprecated'] === true,
    bounds: {
      minimum: boundOf(branches, 'minimum'),
      maximum: boundOf(branches, 'maximum'),
      maxLength: boundOf(branches, 'maxLength'),
      minItems: boundOf(branches, 'minItems'),
      maxItems: boundOf(branches, 'maxItems'),
    },
  };
}

/** `a[].b` → `a`, `[]`, `b`. */
export function segmentsOf(at: string): string[] {
  return at
    .replaceAll('[]', '.[]')
    .split('.')
    .filter((segment) => segment !== '');
}

function childrenOf(schema: Json): Map<string, { schema: Json; required: boolean }> {
  const found = new Map<string, { schema: Json; required: boolean }>();
  for (const branch of branchesOf(schema)) {
    const required = (branch['required'] ?? []) as string[];
    for (const [name, inner] of Object.entries((branch['properties'] ?? {}) as Json)) {
      found.set(name, { schema: inner as Json, required: required.includes(name) });
    }
    if (branch['items'] !== undefined) {
      found.set('[]', { schema: branch['items'] as Json, required: true });
    }
    const further = branch['additionalProperties'];
    if (typeof further === 'object' && further !== null && Object.keys(further).length > 0) {
      found.set('*', { schema: further as Json, required: false });
    }
  }
  return found;
}

export function bodySchema(route: Route, side: 'request' | 'response'): Json | undefined {
  const operation = publishedOperation(route);
  const holder =
    side === 'request'
      ? operation['requestBody']
      : (operation['responses'] as Json)[String(route.status)];
  const content = (holder as Json | undefined)?.['content'] as Record<string, Json> | undefined;
  return content?.['application/json']?.['schema'] as Json | undefined;
}

/** The schema at a place of a body, or undefined when there is no such place. */
export function schemaAt(
  route: Route,
  side: 'request' | 'response',
  at: string,
): { schema: Json; required: boolean } | undefined {
  const whole = bodySchema(route, side);
  let found = whole && { schema: whole, required: true };
  for (const segment of segmentsOf(at)) {
    found = found && childrenOf(found.schema).get(segment);
  }
  return found;
}

/** Every place of a body that has a name, arrays and objects entered. */
export function placesOf(route: Route, side: 'request' | 'response'): string[] {
  const places: string[] = [];
  const enter = (schema: Json, at: string, within: readonly Json[] = []) => {
    const own = resolve(schema);
    // A schema that contains itself, as steps of steps do, is told by its first level.
    if (within.includes(own)) return;
    for (const [name, child] of childrenOf(schema)) {
      const place = name === '[]' ? `${at}[]` : at === '' ? name : `${at}.${name}`;
      if (name !== '[]' && name !== '*') places.push(place);
      enter(child.schema, place, [...within, own]);
    }
  };
  const whole = bodySchema(route, side);
  if (whole !== undefined) enter(whole, '');
  return places;
}

export interface PublishedParameter {
  name: string;
  in: 'path' | 'query';
  required: boolean;
  schema: Json;
}

export function parametersOf(route: Route): PublishedParameter[] {
  const given = publishedOperation(route)['parameters'] as unknown as PublishedParameter[];
  return given.filter((parameter) => parameter.in === 'path' || parameter.in === 'query');
}

export function componentValues(name: string): unknown[] {
  return factsOf({ $ref: `#/components/schemas/${name}` }).values ?? [];
}
