/** Random requests to one operation: drawn without knowing the world, then made with it. */
import { stringify as toQuery } from 'node:querystring';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { Route } from '@monitor/shared/contract/route.ts';
import { certificatePair, kindsOfParams, type Kind } from '../../test/support/world.ts';
import {
  damage,
  jsonSchemaOf,
  nastyText,
  Reference,
  spoil,
  valueOf,
  type Damage,
  type Json,
} from './values.ts';

type ParamDraw =
  | { from: 'alive' | 'foreign'; pick: number }
  | { from: 'unknown' }
  | { from: 'nasty'; text: string }
  | { from: 'broken'; text: string };

type QueryDamage =
  | { way: 'repeat' | 'brackets' | 'remove'; pick: number }
  | { way: 'replace'; pick: number; text: string }
  | { way: 'add'; text: string }
  | { way: 'raw'; text: string };

interface Packed {
  bytes: Buffer | undefined;
  headers: Record<string, string>;
  isChunked?: boolean;
}

const json = { 'content-type': 'application/json' };
let bomb: Buffer | undefined;

/** 64 MiB of spaces in 64 KiB. */
function gzipBomb(): Buffer {
  bomb ??= gzipSync(Buffer.alloc(67_108_864, ' '), { level: 9 });
  return bomb;
}

/** What is done to the bytes of a body, or to what is said about them. */
const packers = {
  garbage: () => ({ bytes: Buffer.from('<xml/>'), headers: json }),
  truncated: (text: string) => ({ bytes: Buffer.from(text.slice(0, -1)), headers: json }),
  bom: (text: string) => ({ bytes: Buffer.from(`\ufeff${text}`), headers: json }),
  utf16: (text: string) => ({
    bytes: Buffer.from(text, 'utf16le'),
    headers: { 'content-type': 'application/json; charset=utf-16' },
  }),
  latin1: (text: string) => ({
    bytes: Buffer.concat([Buffer.from(text), Buffer.from([0xff, 0xc0])]),
    headers: json,
  }),
  gzip: (text: string) => ({
    bytes: gzipSync(text),
    headers: { ...json, 'content-encoding': 'gzip' },
  }),
  brotli: (text: string) => ({
    bytes: brotliCompressSync(text),
    headers: { ...json, 'content-encoding': 'br' },
  }),
  truncatedGzip: (text: string) => ({
    bytes: gzipSync(text).subarray(0, 12),
    headers: { ...json, 'content-encoding': 'gzip' },
  }),
  notGzip: (text: string) => ({
    bytes: Buffer.from(text),
    headers: { ...json, 'content-encoding': 'gzip' },
  }),
  unknownEncoding: (text: string) => ({
    bytes: Buffer.from(text),
    headers: { ...json, 'content-encoding': 'zebra' },
  }),
  gzipBomb: () => ({ bytes: gzipBomb(), headers: { ...json, 'content-encoding': 'gzip' } }),
  tooLarge: (text: string) => ({ bytes: Buffer.from(text + ' '.repeat(1_100_000)), headers: json }),
  textType: (text: string) => ({
    bytes: Buffer.from(text),
    headers: { 'content-type': 'text/plain' },
  }),
  formType: () => ({
    bytes: Buffer.from('name=x'),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  }),
  noType: (text: string) => ({ bytes: Buffer.from(text), headers: {} }),
  vendorJsonType: (text: string) => ({
    bytes: Buffer.from(text),
    headers: { 'content-type': 'application/vnd.api+json' },
  }),
  strangeType: (text: string) => ({
    bytes: Buffer.from(text),
    headers: { 'content-type': 'application/json; charset=klingon' },
  }),
  empty: () => ({ bytes: undefined, headers: json }),
  chunked: (text: string) => ({ bytes: Buffer.from(text), headers: json, isChunked: true }),
  nesting: () => ({ bytes: Buffer.from('['.repeat(100_000)), headers: json }),
  repeatedKeys: (text: string) => ({
    bytes: Buffer.from(text.replace(/^\{/, '{"name":1,"name":null,')),
    headers: json,
  }),
  trailing: (text: string) => ({ bytes: Buffer.from(`${text}{}`), headers: json }),
} satisfies Record<string, (text: string) => Packed>;
const packings = Object.keys(packers) as (keyof typeof packers)[];

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const;

export interface Draw {
  params: ParamDraw[];
  query: Json;
  queryDamage: QueryDamage[];
  body: unknown;
  bodyDamage: Damage[];
  packing: keyof typeof packers | null;
  method: string | null;
  role: 'full' | 'reader' | 'foreign' | 'none' | 'garbage';
}

/** The first of a kind belongs to the first of every other. */
const pick = fc.oneof(fc.constant(0), fc.nat({ max: 1000 }));

const param: fc.Arbitrary<ParamDraw> = fc.oneof(
  { weight: 30, arbitrary: fc.record({ from: fc.constant('alive' as const), pick }) },
  { weight: 3, arbitrary: fc.record({ from: fc.constant('foreign' as const), pick }) },
  { weight: 2, arbitrary: fc.constant({ from: 'unknown' as const }) },
  { weight: 2, arbitrary: fc.record({ from: fc.constant('nasty' as const), text: nastyText }) },
  {
    weight: 1,
    arbitrary: fc.record({
      from: fc.constant('broken' as const),
      text: fc.constantFrom(
        '%',
        '%zz',
        '%ff',
        '%c0%af',
        '%00',
        '..',
        '%2e%2e%2f',
        '%2F',
        'a%',
        ';',
      ),
    }),
  },
);

const queryDamage: fc.Arbitrary<QueryDamage> = fc.oneof(
  fc.record({ way: fc.constantFrom('repeat', 'brackets', 'remove'), pick }),
  fc.record({ way: fc.constant('replace' as const), pick, text: nastyText }),
  fc.record({ way: fc.constant('add' as const), text: nastyText }),
  fc.record({
    way: fc.constant('raw' as const),
    text: fc.constantFrom(
      '%',
      '%zz',
      '&&&',
      '=',
      '=x',
      'a[b][c]=1',
      '__proto__=1',
      '__proto__[x]=1',
      '%00=%00',
      'limit',
      'limit=%ff',
      '?',
      'page=1&page=2&page=3',
    ),
  }),
);

/** None in most requests. */
function seldom<T>(arbitrary: fc.Arbitrary<T>, none: number): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: none, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });
}

function few<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant<T[]>([]) },
    { weight: 2, arbitrary: fc.array(arbitrary, { minLength: 1, maxLength: 1 }) },
    { weight: 1, arbitrary: fc.array(arbitrary, { minLength: 2, maxLength: 3 }) },
  );
}

async function bodyOf(route: Route): Promise<fc.Arbitrary<unknown>> {
  if (route.body === undefined) return fc.constant(undefined);
  const schema = jsonSchemaOf(route.body);
  const place = { definitions: (schema['$defs'] ?? {}) as Json, name: '', depth: 0 };
  const value = valueOf(schema, place);
  if (route.operationId === 'createClientCertificate') {
    const pair = await certificatePair();
    return value.map((body) => ({
      ...(body as Json),
      ...pair,
      ca: null,
      passphrase: null,
      host: 'a.example',
    }));
  }
  return value;
}

function queryOf(route: Route): fc.Arbitrary<Json> {
  if (route.query === undefined) return fc.constant({});
  const schema = jsonSchemaOf(route.query);
  const place = { definitions: (schema['$defs'] ?? {}) as Json, name: '', depth: 0 };
  return valueOf(schema, place) as fc.Arbitrary<Json>;
}

/** Every request there can be to an operation. */
export async function drawsOf(route: Route): Promise<fc.Arbitrary<Draw>> {
  return fc.record({
    params: fc.tuple(...[...kindsOfParams(route)].map(() => param)) as fc.Arbitrary<ParamDraw[]>,
    query: queryOf(route),
    queryDamage: fc.oneof(
      { weight: 4, arbitrary: fc.constant<QueryDamage[]>([]) },
      { weight: 1, arbitrary: few(queryDamage) },
    ),
    body: await bodyOf(route),
    bodyDamage: few(damage),
    packing:
      route.body === undefined
        ? seldom(fc.constantFrom(...packings), 60)
        : seldom(fc.constantFrom(...packings), 12),
    method: seldom(fc.constantFrom(...methods), 40),
    role: fc.oneof(
      { weight: 40, arbitrary: fc.constant('full' as const) },
      { weight: 1, arbitrary: fc.constantFrom('reader', 'foreign', 'none', 'garbage') },
    ),
  });
}

/** The ids a request can name. */
export interface Surroundings {
  own: Readonly<Record<Kind, readonly (string | number)[]>>;
  foreign: Readonly<Record<Kind, readonly (string | number)[]>>;
}

const unknownUuid = '00000000-0000-4000-8000-000000000000';

function idAt(ids: readonly (string | number)[], index: number): string | number {
  return ids[index % Math.max(1, ids.length)] ?? unknownUuid;
}

/** A copy that is plain JSON: references become ids, one in twelve of them somebody else's. */
function materialize(value: unknown, around: Surroundings): unknown {
  if (value instanceof Reference) {
    const ids = value.pick % 12 === 11 ? around.foreign : around.own;
    return idAt(ids[value.kind], value.pick);
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((inner) => materialize(inner, around));
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, materialize(inner, around)]),
  );
}

function paramText(draw: ParamDraw, kind: Kind, around: Surroundings): string {
  const encode = (text: string) => encodeURIComponent(text.toWellFormed());
  switch (draw.from) {
    case 'alive':
      return encode(String(idAt(around.own[kind], draw.pick)));
    case 'foreign':
      return encode(String(idAt(around.foreign[kind], draw.pick)));
    case 'unknown':
      return typeof around.own[kind][0] === 'number' ? '987654321' : unknownUuid;
    case 'nasty':
      return encode(draw.text);
    case 'broken':
      return draw.text;
  }
}

function queryText(query: Json, damages: readonly QueryDamage[]): string {
  const pairs: [string, string][] = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, String(one)]),
  );
  let raw = '';
  for (const each of damages) {
    if (each.way === 'raw') {
      raw += `&${each.text}`;
      continue;
    }
    if (each.way === 'add') {
      pairs.push([each.text, each.text]);
      continue;
    }
    const at = each.pick % Math.max(1, pairs.length);
    const pair = pairs[at];
    if (pair === undefined) continue;
    if (each.way === 'replace') pair[1] = each.text;
    else if (each.way === 'repeat') pairs.push([...pair]);
    else if (each.way === 'brackets') pair[0] += '[]';
    else pairs.splice(at, 1);
  }
  const clean = pairs
    .map(([name, value]) => toQuery({ [name.toWellFormed()]: value.toWellFormed() }))
    .join('&');
  return `${clean}${raw}`;
}

export interface MadeRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  bytes: Buffer | undefined;
  isChunked: boolean;
  role: Draw['role'];
  /** False when the path may be that of another operation, or of none. */
  isPathSound: boolean;
  /** As the server should see them; undefined when it cannot get that far, or a guess would be one. */
  seen: { path: string; query: string; body: unknown } | undefined;
  /** Ids in the path, by parameter. */
  params: Record<string, string>;
}

/** The request that was drawn, in this world. */
export function makeRequest(route: Route, draw: Draw, around: Surroundings): MadeRequest {
  let isPathSound = true;
  const params: Record<string, string> = {};
  let path = route.path;
  [...kindsOfParams(route)].forEach(([name, kind], index) => {
    const drawn = draw.params[index] ?? { from: 'unknown' };
    if (drawn.from === 'broken') isPathSound = false;
    params[name] = paramText(drawn, kind, around);
    // An empty part leads to another path, or nowhere.
    if (params[name] === '') isPathSound = false;
    path = path.replace(`{${name}}`, () => params[name] ?? '');
  });
  const query = queryText(materialize(draw.query, around) as Json, draw.queryDamage);
  let body = materialize(draw.body, around);
  const spoiled = body === undefined ? [] : draw.bodyDamage;
  for (const each of spoiled) {
    body = spoil(body, { ...each, value: materialize(each.value, around) });
  }
  const text = body === undefined ? undefined : JSON.stringify(body);
  const packing = draw.packing;
  const packed: Packed =
    packing === null
      ? text === undefined
        ? { bytes: undefined, headers: {} }
        : { bytes: Buffer.from(text), headers: json }
      : (packers[packing] as (text: string) => Packed)(text ?? '{}');
  const method = draw.method ?? route.method;
  const isPlain = packing === null && isPathSound && method === route.method;
  return {
    method,
    path: query === '' ? path : `${path}?${query}`,
    headers: packed.headers,
    bytes: packed.bytes,
    isChunked: packed.isChunked === true,
    role: draw.role,
    isPathSound,
    seen: isPlain
      ? { path, query, body: text === undefined ? undefined : (JSON.parse(text) as unknown) }
      : undefined,
    params,
  };
}
