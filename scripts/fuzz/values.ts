/** Values for a JSON schema: right ones, and ways to make them wrong. */
import fc from 'fast-check';
import { z } from 'zod';
import type { Kind } from '../../test/support/world.ts';

export type Json = Record<string, unknown>;

/** Stands for an id of the world until the request is sent: which ids there are depends on the past. */
export class Reference {
  readonly kind: Kind;
  readonly pick: number;

  constructor(kind: Kind, pick: number) {
    this.kind = kind;
    this.pick = pick;
  }
}

export function reference(kind: Kind): fc.Arbitrary<Reference> {
  return fc.nat({ max: 1000 }).map((pick) => new Reference(kind, pick));
}

/** Names of fields that hold ids, with what they name. */
const referenceKinds: Readonly<Record<string, Kind>> = {
  groupId: 'group',
  checkId: 'check',
  checkIds: 'check',
  alertChannelId: 'alertChannel',
  privateLocations: 'slug',
  setupSnippetId: 'snippet',
  tearDownSnippetId: 'snippet',
  serviceId: 'service',
  services: 'service',
  dashboardId: 'dashboardNumber',
  checkSessionId: 'session',
  matchTags: 'tag',
  tag: 'tag',
};

const instants = fc.oneof(
  fc.constantFrom(
    '2026-11-21T12:00:00.000Z',
    '2099-01-01T00:00:00Z',
    '1970-01-01T00:00:00Z',
    '9999-12-31T23:59:59.999Z',
    '0001-01-01T00:00:00Z',
    '2026-02-28T23:59:59+14:00',
  ),
  fc
    .date({ min: new Date('1970-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
    .map((date) => date.toISOString()),
);

const recentSecond = fc
  .integer({ min: 0, max: 86_400 })
  .map((ago) => String(Math.floor(Date.now() / 1000) - ago));

/** Fields whose right values no schema describes, or that cost time. */
const byName: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  url: fc.constantFrom('https://a.example/', 'http://127.0.0.1:1/x?y=z#a', '{{URL}}/x', 'p-1'),
  hostname: fc.constantFrom('a.example', '127.0.0.1', '::1', 'xn--a'),
  slugName: fc.stringMatching(/^[a-z0-9-]{1,30}$/),
  sslCheckDomain: fc.constantFrom('a.example', '', null),
  // An agent that waits for news holds its connection for that long.
  waitMs: fc.constantFrom(0, 0, 0, 1, 20),
  maxWaitSeconds: fc.constant(1),
  address: fc.constantFrom('one@a.example', 'two@a.example'),
  protocol: fc.constant(1),
  from: recentSecond,
  to: recentSecond,
  period: fc.constantFrom(1, 30, 60, 365),
  periodUnit: fc.constantFrom('minutes', 'hours', 'days'),
  startsAt: instants,
  endsAt: instants,
  expiresAt: fc.constantFrom('2099-01-01T00:00:00Z', null),
};

const text = fc.oneof(
  { weight: 6, arbitrary: fc.string({ minLength: 1, maxLength: 12 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }) },
  { weight: 1, arbitrary: fc.constantFrom('a', 'x-y', ' padded ', 'ÄÖ', '𝒳', '{{a}}') },
);

function clip(value: string, minLength: number, maxLength: number): string {
  const padded = value.padEnd(minLength, 'x');
  return padded.length > maxLength ? padded.slice(0, maxLength) : padded;
}

function stringOf(schema: Json): fc.Arbitrary<unknown> {
  switch (schema['format']) {
    case 'uuid':
      return fc.uuid();
    case 'email':
      return fc.constantFrom('one@a.example', 'two+x@b.example');
    case 'date-time':
    case 'date':
      return instants;
    default:
  }
  const minLength = Number(schema['minLength'] ?? 0);
  const maxLength = Number(schema['maxLength'] ?? 10_000);
  const { pattern } = schema;
  if (typeof pattern === 'string') {
    try {
      return fc.stringMatching(new RegExp(pattern), { maxLength: 24 });
    } catch {
      // Look-around and the like: such a field is right only by luck.
    }
  }
  const longest = fc.constant('l'.repeat(Math.min(maxLength, 4096)));
  return fc
    .oneof({ weight: 40, arbitrary: text }, { weight: 1, arbitrary: longest })
    .map((value) => clip(value, minLength, maxLength));
}

function numberOf(schema: Json): fc.Arbitrary<unknown> {
  const isInteger = schema['type'] === 'integer';
  const exclusive = schema['exclusiveMinimum'];
  const min = Number(schema['minimum'] ?? (exclusive === undefined ? 0 : Number(exclusive) + 1));
  const max = Number(schema['maximum'] ?? schema['exclusiveMaximum'] ?? min + 1000);
  const near = Math.min(max, min + 100);
  const whole = fc.oneof(
    fc.integer({ min: Math.ceil(min), max: Math.floor(near) }),
    fc.constantFrom(min, max),
  );
  return isInteger ? whole : fc.oneof(whole, fc.constant((min + near) / 2));
}

interface Place {
  definitions: Json;
  /** Name of the nearest field around the value. */
  name: string;
  depth: number;
}

function objectOf(schema: Json, place: Place): fc.Arbitrary<unknown> {
  const required = new Set((schema['required'] ?? []) as string[]);
  const optional: Record<string, fc.Arbitrary<unknown>> = {};
  const needed: Record<string, fc.Arbitrary<unknown>> = {};
  for (const [name, inner] of Object.entries((schema['properties'] ?? {}) as Json)) {
    // `services: [{ id }]` names a service.
    const innerName = name === 'id' ? place.name : name;
    const value = valueOf(inner as Json, { ...place, name: innerName, depth: place.depth + 1 });
    if (required.has(name)) needed[name] = value;
    else optional[name] = value;
  }
  const names = Object.keys(optional);
  const chosen =
    names.length === 0
      ? fc.constant<string[]>([])
      : fc.oneof(
          { weight: 1, arbitrary: fc.constant<string[]>([]) },
          { weight: 4, arbitrary: fc.subarray(names, { maxLength: Math.min(4, names.length) }) },
          { weight: 1, arbitrary: fc.subarray(names) },
        );
  return fc
    .tuple(fc.record(needed), chosen)
    .chain(([known, picked]) =>
      fc
        .record(Object.fromEntries(picked.map((name) => [name, optional[name] ?? fc.constant(0)])))
        .map((further) => ({ ...known, ...further })),
    );
}

function arrayOf(schema: Json, place: Place): fc.Arbitrary<unknown> {
  const items = (schema['items'] ?? {}) as Json;
  const minLength = Number(schema['minItems'] ?? 0);
  const maxLength = Math.max(minLength, Math.min(3, Number(schema['maxItems'] ?? 3)));
  return fc.array(valueOf(items, { ...place, depth: place.depth + 1 }), { minLength, maxLength });
}

/** Values that a schema accepts, or nearly: refinements beyond JSON schema are met by luck. */
export function valueOf(schema: Json, place: Place): fc.Arbitrary<unknown> {
  if (place.depth > 12) return fc.constant(null);
  const override = schema['override'] as Json | undefined;
  if (override !== undefined) return valueOf(override, place);
  const pointer = schema['$ref'];
  if (typeof pointer === 'string') {
    const target = place.definitions[pointer.replace('#/$defs/', '')] as Json | undefined;
    return valueOf(target ?? {}, { ...place, depth: place.depth + 1 });
  }
  const { type } = schema;
  if (type === 'string' || type === 'integer') {
    const kind = referenceKinds[place.name];
    if (kind !== undefined) return reference(kind);
  }
  const named = byName[place.name];
  if (named !== undefined && type !== 'array' && type !== 'object') {
    return fc.oneof({ weight: 9, arbitrary: named }, { weight: 1, arbitrary: text });
  }
  if (schema['const'] !== undefined) return fc.constant(schema['const']);
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...(schema['enum'] as unknown[]));
  const options = (schema['anyOf'] ?? schema['oneOf']) as Json[] | undefined;
  if (options !== undefined) {
    return fc.oneof(
      ...options.map((option) => valueOf(option, { ...place, depth: place.depth + 1 })),
    );
  }
  switch (type) {
    case 'string':
      return stringOf(schema);
    case 'integer':
    case 'number':
      return numberOf(schema);
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return arrayOf(schema, place);
    case 'object':
      return schema['properties'] === undefined
        ? fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 })
        : objectOf(schema, place);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

export function jsonSchemaOf(schema: z.ZodType): Json {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
}

function nested(depth: number, isArray: boolean): unknown {
  let value: unknown = 0;
  for (let level = 0; level < depth; level += 1) value = isArray ? [value] : { a: value };
  return value;
}

/** Text that has broken programs before. */
export const nastyText = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\u0000',
    'a\u0000b',
    '\u001b[31m',
    '\r\nX-Injected: 1',
    '\ud800',
    'x\udfff',
    '\u202e',
    '\ufeff',
    "'; drop table checks; --",
    '" or 1=1 --',
    '%',
    '_%_',
    '{{constructor}}',
    '${7*7}',
    '<script>alert(1)</script>',
    '../../etc/passwd',
    '__proto__',
    'constructor',
    'toString',
    'null',
    'undefined',
    'NaN',
    '-1',
    '0.5',
    '1e3',
    '0x10',
    '99999999999999999999',
    '-0',
    '(a+)+$',
    '[',
  ),
  fc.string({ unit: 'binary', maxLength: 10 }),
);

const nasty: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 6, arbitrary: nastyText },
  {
    weight: 6,
    arbitrary: fc.constantFrom<unknown>(
      null,
      true,
      false,
      -1,
      0,
      0.5,
      -0.5,
      1e21,
      1e308,
      -1e308,
      Number.MAX_SAFE_INTEGER,
      Number.MAX_SAFE_INTEGER + 1,
      2 ** 31,
      2 ** 63,
      5e-324,
      [],
      {},
      [null],
      [[]],
      { length: 1 },
    ),
  },
  { weight: 1, arbitrary: fc.integer({ min: 256, max: 300_000 }).map((size) => 'L'.repeat(size)) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(10, 100, 1000), fc.boolean())
      .map(([depth, isArray]) => nested(depth, isArray)),
  },
  { weight: 1, arbitrary: fc.constantFrom(150, 2000).map((size) => Array<number>(size).fill(1)) },
  { weight: 1, arbitrary: fc.constant(JSON.parse('{"__proto__":{"polluted":true}}') as unknown) },
);

export interface Damage {
  way: 'replace' | 'remove' | 'add' | 'repeat';
  pick: number;
  value: unknown;
  name: string;
}

export const damage: fc.Arbitrary<Damage> = fc.record({
  way: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'add', 'repeat'),
  pick: fc.nat({ max: 10_000 }),
  value: nasty,
  name: fc.oneof(
    fc.constantFrom('__proto__', 'constructor', 'id', 'accountId', 'extra'),
    nastyText,
  ),
});

interface Slot {
  holder: Json | unknown[];
  key: string | number;
}

function slotsOf(value: unknown, found: Slot[] = [], depth = 0): Slot[] {
  if (typeof value !== 'object' || value === null || value instanceof Reference || depth > 20) {
    return found;
  }
  const holder = value as Json;
  for (const key of Object.keys(holder)) {
    found.push({ holder, key });
    slotsOf(holder[key], found, depth + 1);
  }
  return found;
}

/** The value with one thing about it made wrong. Changes its argument. */
export function spoil(value: unknown, { way, pick, value: wrong, name }: Damage): unknown {
  const slots = slotsOf(value);
  const slot = slots[pick % (slots.length + 1)];
  if (slot === undefined) return way === 'replace' ? wrong : value;
  const { holder, key } = slot;
  if (way === 'remove') {
    if (Array.isArray(holder)) holder.splice(Number(key), 1);
    else delete holder[key as keyof typeof holder];
  } else if (way === 'add' && !Array.isArray(holder)) {
    // A plain assignment to __proto__ would not make a field of that name.
    Object.defineProperty(holder, name, {
      value: wrong,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  } else if (way === 'repeat' && Array.isArray(holder)) {
    holder.push(holder[Number(key)]);
  } else {
    (holder as Json)[key] = wrong;
  }
  return value;
}
