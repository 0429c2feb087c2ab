/** Random requests to one operation: drawn without knowing the world, then made with it. */
import { stringify as toQuery } from 'node:querystring';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { Route } from '@monitor/shared/contract/route.ts';
import { certificatePair, kindsOfParams, type Kind } from '../../test/support/world.ts';
import {
  damage,
  damageWith,
  nastyText,
  Reference,
  spoil,
  valuesOf,
  type Damage,
  type Json,
} from './values.ts';

type ParamDraw =
  { from: 'alive' | 'foreign'; pick: number } | { from: 'unknown' | 'nasty' | 'raw'; text: string };

const json = { 'content-type': 'application/json' };
const encoded = (encoding: string) => ({ ...json, 'content-encoding': encoding });
let bomb: Buffer | undefined;

/** 64 MiB of spaces in 64 KiB. */
function gzipBomb(): Buffer {
  bomb ??= gzipSync(Buffer.alloc(67_108_864, ' '), { level: 9 });
  return bomb;
}

interface Packing {
  bytes?: (text: string) => Buffer | string;
  headers?: Record<string, string>;
  /** No reading makes the body valid. */
  isHopeless?: boolean;
  /** The server may hang up on what it has refused before all of it was sent. */
  isEndless?: boolean;
  isChunked?: boolean;
}

/** What is done to the bytes of a body, or to what is said about them. */
const packings = {
  garbage: { bytes: () => '<xml/>', isHopeless: true },
  truncated: { bytes: (text) => text.slice(0, -1), isHopeless: true },
  trailing: { bytes: (text) => `${text}{}`, isHopeless: true },
  nesting: { bytes: () => '['.repeat(100_000), isHopeless: true },
  bom: { bytes: (text) => `\ufeff${text}` },
  utf16: {
    bytes: (text) => Buffer.from(text, 'utf16le'),
    headers: { 'content-type': 'application/json; charset=utf-16' },
  },
  latin1: {
    bytes: (text) => Buffer.concat([Buffer.from(text), Buffer.from([0xff, 0xc0])]),
    isHopeless: true,
  },
  gzip: { bytes: gzipSync, headers: encoded('gzip') },
  brotli: { bytes: brotliCompressSync, headers: encoded('br') },
  truncatedGzip: {
    bytes: (text) => gzipSync(text).subarray(0, 12),
    headers: encoded('gzip'),
    isHopeless: true,
  },
  notGzip: { headers: encoded('gzip'), isHopeless: true },
  unknownEncoding: { headers: encoded('zebra'), isHopeless: true },
  gzipBomb: { bytes: gzipBomb, headers: encoded('gzip'), isHopeless: true, isEndless: true },
  tooLarge: { bytes: (text) => text + ' '.repeat(1_100_000), isEndless: true },
  noType: { headers: {}, isHopeless: true },
  textType: { headers: { 'content-type': 'text/plain' }, isHopeless: true },
  formType: { headers: { 'content-type': 'application/x-www-form-urlencoded' }, isHopeless: true },
  strangeType: {
    headers: { 'content-type': 'application/json; charset=klingon' },
    isHopeless: true,
  },
  vendorJsonType: { headers: { 'content-type': 'application/vnd.api+json' } },
  empty: { bytes: () => '' },
  chunked: { isChunked: true },
  repeatedKeys: { bytes: (text) => text.replace(/^\{/, '{"name":1,"name":null,') },
} satisfies Record<string, Packing>;

export interface Draw {
  params: ParamDraw[];
  query: Json;
  queryDamage: Damage[];
  /** Follows the query as it is. */
  rawQuery: string | null;
  body: unknown;
  bodyDamage: Damage[];
  packing: keyof typeof packings | null;
  method: string | null;
  role: 'full' | 'reader' | 'foreign' | 'none' | 'garbage';
}

/** The first of a kind belongs to the first of every other. */
const pick = fc.oneof(fc.constant(0), fc.nat({ max: 1000 }));
const unknownUuid = '00000000-0000-4000-8000-000000000000';
const brokenPaths = ['%', '%zz', '%ff', '%c0%af', '%00', '..', '%2e%2e%2f', '%2F', 'a%', ';'];
const brokenQueries = ['%', '%zz', '&&&', '=', '=x', 'a[b][c]=1', '__proto__=1', '__proto__[x]=1'];
const oddQueries = ['%00=%00', 'limit', 'limit=%ff', 'limit[]=1', '?', 'page=1&page=2&page=3'];

const param: fc.Arbitrary<ParamDraw> = fc.oneof(
  { weight: 30, arbitrary: fc.record({ from: fc.constant('alive' as const), pick }) },
  { weight: 3, arbitrary: fc.record({ from: fc.constant('foreign' as const), pick }) },
  { weight: 2, arbitrary: fc.constant({ from: 'unknown' as const, text: unknownUuid }) },
  { weight: 2, arbitrary: fc.record({ from: fc.constant('nasty' as const), text: nastyText }) },
  {
    weight: 1,
    arbitrary: fc.record({
      from: fc.constant('raw' as const),
      text: fc.constantFrom(...brokenPaths),
    }),
  },
);

/** Null in most requests: in so many for each that has one. */
const seldom = <T>(arbitrary: fc.Arbitrary<T>, none: number): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: none, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });

const few = (each: fc.Arbitrary<Damage>, none: number): fc.Arbitrary<Damage[]> =>
  fc.oneof(
    { weight: none, arbitrary: fc.constant<Damage[]>([]) },
    { weight: 2, arbitrary: fc.array(each, { minLength: 1, maxLength: 1 }) },
    { weight: 1, arbitrary: fc.array(each, { minLength: 2, maxLength: 3 }) },
  );

async function bodyOf({ body, operationId }: Route): Promise<fc.Arbitrary<unknown>> {
  if (body === undefined) return fc.constant(undefined);
  if (operationId !== 'createClientCertificate') return valuesOf(body);
  const fixed = { ...(await certificatePair()), ca: null, passphrase: null, host: 'a.example' };
  return valuesOf(body).map((drawn) => ({ ...(drawn as Json), ...fixed }));
}

/** Every request there can be to an operation. */
export async function drawsOf(route: Route): Promise<fc.Arbitrary<Draw>> {
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];
  const names = Object.keys(packings) as (keyof typeof packings)[];
  const query = route.query === undefined ? fc.constant({}) : valuesOf(route.query);
  return fc.record({
    params: fc.tuple(...[...kindsOfParams(route)].map(() => param)) as fc.Arbitrary<ParamDraw[]>,
    query: query as fc.Arbitrary<Json>,
    queryDamage: few(damageWith(nastyText), 20),
    rawQuery: seldom(fc.constantFrom(...brokenQueries, ...oddQueries), 20),
    body: await bodyOf(route),
    bodyDamage: few(damage, 3),
    packing: seldom(fc.constantFrom(...names), route.body === undefined ? 60 : 12),
    method: seldom(fc.constantFrom(...methods), 40),
    role: fc.oneof(
      { weight: 40, arbitrary: fc.constant('full' as const) },
      { weight: 1, arbitrary: fc.constantFrom('reader', 'foreign', 'none', 'garbage') },
    ),
  });
}

type Ids = Readonly<Record<Kind, readonly (string | number)[]>>;
/** The ids a request can name. */
export type Surroundings = Readonly<Record<'own' | 'foreign', Ids>>;

function idAt(ids: readonly (string | number)[], index: number): string | number {
  return ids[index % Math.max(1, ids.length)] ?? unknownUuid;
}

/** A copy that is plain JSON: references become ids, one in twelve of them of the other account. */
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

function paramText(draw: ParamDraw, kind: Kind, { own, foreign }: Surroundings): string {
  if (draw.from === 'raw') return draw.text;
  if (draw.from === 'unknown' && typeof own[kind][0] === 'number') return '987654321';
  const text =
    'text' in draw ? draw.text : idAt((draw.from === 'foreign' ? foreign : own)[kind], draw.pick);
  return encodeURIComponent(String(text).toWellFormed());
}

function queryText(query: Json): string {
  const wellFormed = (value: unknown) => String(value).toWellFormed();
  return toQuery(
    Object.fromEntries(
      Object.entries(query).map(([name, value]) => [
        name.toWellFormed(),
        Array.isArray(value) ? value.map(wellFormed) : wellFormed(value),
      ]),
    ),
  );
}

export interface MadeRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  bytes: Buffer | undefined;
  packing: Packing & { name: Draw['packing'] };
  role: Draw['role'];
  /** False when the path may be that of another operation, or of none. */
  isPathSound: boolean;
  /** As the server should see them; undefined when it cannot get that far, or a guess would be one. */
  seen: { query: string; body: unknown } | undefined;
  /** Ids in the path, by parameter. */
  params: Record<string, string>;
}

/** The request that was drawn, in this world. */
export function makeRequest(route: Route, draw: Draw, around: Surroundings): MadeRequest {
  const kinds = [...kindsOfParams(route)];
  const params = Object.fromEntries(
    kinds.map(([name, kind], index) => [
      name,
      paramText(draw.params[index] ?? { from: 'unknown', text: unknownUuid }, kind, around),
    ]),
  );
  // An empty part leads to another path, or nowhere.
  const isPathSound =
    !draw.params.some(({ from }) => from === 'raw') && !Object.values(params).includes('');
  const path = route.path.replace(/\{(\w+)\}/g, (_whole, name: string) => params[name] ?? '');
  const drawnQuery = materialize(draw.query, around);
  for (const each of draw.queryDamage) spoil(drawnQuery, each);
  const parts = [queryText(drawnQuery as Json), draw.rawQuery ?? ''];
  const query = parts.filter((part) => part !== '').join('&');
  let body = materialize(draw.body, around);
  for (const each of body === undefined ? [] : draw.bodyDamage) {
    // Constants are drawn again and again: what is put in here may be damaged itself.
    body = spoil(body, { ...each, value: structuredClone(each.value) });
  }
  const text = body === undefined ? undefined : JSON.stringify(body);
  const packing: Packing = draw.packing === null ? {} : packings[draw.packing];
  const isPacked = draw.packing !== null || text !== undefined;
  const method = draw.method ?? route.method;
  const isPlain = draw.packing === null && isPathSound && method === route.method;
  return {
    method,
    path: query === '' ? path : `${path}?${query}`,
    headers: isPacked ? (packing.headers ?? json) : {},
    bytes: isPacked
      ? Buffer.from((packing.bytes ?? ((plain: string) => plain))(text ?? '{}'))
      : undefined,
    packing: { ...packing, name: draw.packing },
    role: draw.role,
    isPathSound,
    seen: isPlain
      ? { query, body: text === undefined ? undefined : (JSON.parse(text) as unknown) }
      : undefined,
    params,
  };
}
