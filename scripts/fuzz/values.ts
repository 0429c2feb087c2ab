/** Values for a JSON schema: right ones, and ways to make them wrong. */
import fc from 'fast-check';
import { z } from 'zod';
import { anyCharacter } from '../../test/support/any-character.ts';
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
  fc.constantFrom('2099-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z', '0001-01-01T00:00:00Z'),
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

const byFormat: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  uuid: fc.uuid(),
  email: fc.constantFrom('one@a.example', 'two+x@b.example'),
  'date-time': instants,
  date: instants,
};

const text = fc.oneof(
  { weight: 6, arbitrary: fc.string({ minLength: 1, maxLength: 12 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }) },
  { weight: 1, arbitrary: fc.constantFrom('a', 'x-y', ' padded ', 'ÄÖ', '𝒳', '{{a}}') },
);

/** To make one takes milliseconds, and a few patterns stand in many fields. */
const ofPattern = new Map<string, fc.Arbitrary<string>>();

function matching(pattern: string): fc.Arbitrary<string> {
  const known = ofPattern.get(pattern) ?? fc.stringMatching(new RegExp(pattern), { maxLength: 24 });
  ofPattern.set(pattern, known);
  return known;
}

const anyObject = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 });

function stringOf({ format, pattern, minLength = 0, maxLength = 10_000 }: Json) {
  const known = byFormat[String(format)];
  if (known !== undefined) return known;
  if (typeof pattern === 'string') {
    try {
      return matching(pattern);
    } catch {
      // Look-around and the like: such a field is right only by luck.
    }
  }
  const longest = fc.constant('l'.repeat(Math.min(Number(maxLength), 4096)));
  return fc
    .oneof({ weight: 40, arbitrary: text }, { weight: 1, arbitrary: longest })
    .map((value) => value.padEnd(Number(minLength), 'x').slice(0, Number(maxLength)));
}

function numberOf(schema: Json): fc.Arbitrary<unknown> {
  const min = Math.ceil(Number(schema['minimum'] ?? Number(schema['exclusiveMinimum'] ?? -1) + 1));
  const max = Math.floor(Number(schema['maximum'] ?? schema['exclusiveMaximum'] ?? min + 1000));
  const whole = fc.oneof(
    fc.integer({ min, max: Math.min(max, min + 100) }),
    fc.constantFrom(min, max),
  );
  return schema['type'] === 'integer' ? whole : fc.oneof(whole, fc.constant((min + max) / 2));
}

interface Place {
  definitions: Json;
  /** Name of the nearest field around the value. */
  name: string;
  depth: number;
}

function objectOf(schema: Json, place: Place): fc.Arbitrary<unknown> {
  const properties = Object.entries((schema['properties'] ?? {}) as Json);
  if (properties.length === 0) return anyObject;
  const required = (schema['required'] ?? []) as string[];
  const fields = Object.fromEntries(
    properties.map(([name, inner]) => [
      name,
      // `services: [{ id }]` names a service.
      valueOf(inner as Json, { ...place, name: name === 'id' ? place.name : name }),
    ]),
  );
  const recordOf = (names: string[]) =>
    fc.record(Object.fromEntries(names.map((name) => [name, fields[name] ?? fc.constant(0)])));
  const optional = Object.keys(fields).filter((name) => !required.includes(name));
  // Few at once: each may be wrong beyond what its schema says.
  const chosen = fc.oneof(fc.subarray(optional, { maxLength: Math.min(4, optional.length) }), {
    weight: 1,
    arbitrary: fc.subarray(optional),
  });
  return chosen.chain((names) => recordOf([...required, ...names]));
}

/** Values that a schema accepts, or nearly: refinements beyond JSON schema are met by luck. */
function valueOf(schema: Json, outer: Place): fc.Arbitrary<unknown> {
  if (outer.depth > 12) return fc.constant(null);
  const place = { ...outer, depth: outer.depth + 1 };
  const { type, $ref, override } = schema;
  if (override !== undefined) return valueOf(override as Json, outer);
  if (typeof $ref === 'string') {
    return valueOf((place.definitions[$ref.replace('#/$defs/', '')] ?? {}) as Json, place);
  }
  const kind = referenceKinds[place.name];
  if (kind !== undefined && (type === 'string' || type === 'integer')) {
    return fc.nat({ max: 1000 }).map((pick) => new Reference(kind, pick));
  }
  const named = byName[place.name];
  if (named !== undefined && type !== 'array' && type !== 'object') {
    return fc.oneof({ weight: 9, arbitrary: named }, { weight: 1, arbitrary: text });
  }
  if (schema['const'] !== undefined) return fc.constant(schema['const']);
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...(schema['enum'] as unknown[]));
  const options = (schema['anyOf'] ?? schema['oneOf']) as Json[] | undefined;
  if (options !== undefined) return fc.oneof(...options.map((option) => valueOf(option, place)));
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
    case 'array': {
      const minLength = Number(schema['minItems'] ?? 0);
      const maxLength = Math.max(minLength, Math.min(3, Number(schema['maxItems'] ?? 3)));
      return fc.array(valueOf((schema['items'] ?? {}) as Json, place), { minLength, maxLength });
    }
    case 'object':
      return objectOf(schema, place);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

/** What a schema of the contract accepts. */
export function valuesOf(schema: z.ZodType): fc.Arbitrary<unknown> {
  const json: Json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return valueOf(json, { definitions: (json['$defs'] ?? {}) as Json, name: '', depth: 0 });
}

/** Text that has broken programs before. */
export const nastyText = fc.oneof(
  fc.constantFrom(
    ...['', ' ', '\u0000', '\r\nX-Injected: 1', '\ud800', '\u202e', '\ufeff', '%', '_%_', '['],
    ...['null', 'undefined', 'NaN', '-1', '0.5', '1e3', '0x10', '99999999999999999999', '-0'],
    ...['__proto__', 'constructor', '{{constructor}}', '${7*7}', '<script>alert(1)</script>'],
    ...["'; drop table checks; --", '" or 1=1 --', '../../etc/passwd', '(a+)+$'],
  ),
  fc.string({ unit: anyCharacter, maxLength: 10 }),
);

function nested(depth: number, isArray: boolean): unknown {
  let value: unknown = 0;
  for (let level = 0; level < depth; level += 1) value = isArray ? [value] : { a: value };
  return value;
}

const nasty: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 6, arbitrary: nastyText },
  { weight: 3, arbitrary: fc.double() },
  { weight: 3, arbitrary: fc.constantFrom<unknown>(null, true, -1, 0, 2 ** 31, 2 ** 63, [], {}) },
  { weight: 1, arbitrary: fc.constantFrom<unknown>([null], [[]], { length: 1 }) },
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

export function damageWith(value: fc.Arbitrary<unknown>): fc.Arbitrary<Damage> {
  return fc.record({
    way: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'add', 'repeat'),
    pick: fc.nat({ max: 10_000 }),
    value,
    name: fc.oneof(fc.constantFrom('__proto__', 'constructor', 'id', 'accountId'), nastyText),
  });
}

export const damage = damageWith(nasty);

type Slot = [holder: Json, key: string];

function slotsOf(value: unknown, depth = 0): Slot[] {
  if (typeof value !== 'object' || value === null || depth > 20) return [];
  const holder = value as Json;
  return Object.keys(holder).flatMap((key) => [
    [holder, key] as Slot,
    ...slotsOf(holder[key], depth + 1),
  ]);
}

/** The value with one thing about it made wrong. Changes its argument. */
export function spoil(value: unknown, { way, pick, value: wrong, name }: Damage): unknown {
  const slots = slotsOf(value);
  const slot = slots[pick % (slots.length + 1)];
  if (slot === undefined) return way === 'replace' ? wrong : value;
  const [holder, key] = slot;
  if (way === 'remove') {
    if (Array.isArray(holder)) holder.splice(Number(key), 1);
    else Reflect.deleteProperty(holder, key);
  } else if (way === 'repeat' && Array.isArray(holder)) {
    holder.push(holder[Number(key)]);
  } else {
    // A plain assignment to __proto__ would not make a field of that name.
    Object.defineProperty(holder, way === 'add' && !Array.isArray(holder) ? name : key, {
      ...{ value: wrong, enumerable: true, configurable: true, writable: true },
    });
  }
  return value;
}
