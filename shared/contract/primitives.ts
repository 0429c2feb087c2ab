/** Building blocks of the wire: identifiers, time, pairs, page and window queries. */
import { z } from 'zod';
import { sensitive } from './sensitive.ts';

/** Data-center locations in the order of the specification, with their display names. */
export const dataCenterLocations = {
  'us-east-1': 'N. Virginia',
  'us-east-2': 'Ohio',
  'us-west-1': 'N. California',
  'us-west-2': 'Oregon',
  'ca-central-1': 'Montreal',
  'sa-east-1': 'São Paulo',
  'eu-west-1': 'Ireland',
  'eu-central-1': 'Frankfurt',
  'eu-west-2': 'London',
  'eu-west-3': 'Paris',
  'eu-north-1': 'Stockholm',
  'eu-south-1': 'Milan',
  'me-south-1': 'Bahrain',
  'ap-southeast-1': 'Singapore',
  'ap-northeast-1': 'Tokyo',
  'ap-east-1': 'Hong Kong',
  'ap-southeast-2': 'Sydney',
  'ap-southeast-3': 'Jakarta',
  'ap-northeast-2': 'Seoul',
  'ap-northeast-3': 'Osaka',
  'ap-south-1': 'Mumbai',
  'af-south-1': 'Cape Town',
} as const;

export type DataCenterLocation = keyof typeof dataCenterLocations;

/** Spec: Location identifiers. */
export const dataCenterLocation = z
  .enum(Object.keys(dataCenterLocations) as [DataCenterLocation, ...DataCenterLocation[]])
  .meta({
    id: 'DataCenterLocation',
    description: 'A data-center location',
    example: 'eu-central-1',
  });

/** Spec: Runtime identifiers, newest first. */
export const runtimeId = z
  .enum(['2026.04', '2025.04', '2024.09', '2024.02', '2023.09', '2023.02', '2022.10'])
  .meta({ id: 'RuntimeId', description: 'Version of the set of runtime dependencies' });

/** Spec: Incident, `severity`. */
export const severity = z.enum(['CRITICAL', 'MAJOR', 'MEDIUM', 'MINOR']).meta({ id: 'Severity' });

/** Spec: Incident, `lastUpdateStatus`. */
export const incidentStatus = z
  .enum(['INVESTIGATING', 'IDENTIFIED', 'MONITORING', 'RESOLVED'])
  .meta({ id: 'IncidentStatus' });

/** A link that people follow, or a picture that they load: on the web alone. Existing clients send "" for none. */
export const webLink = z
  .string()
  .max(2048)
  .regex(/^(https?:\/\/[^\s\p{C}]+)?$/iu, 'must start with http:// or https://')
  .meta({ example: 'https://shop.example/logo.svg' });

/** An address of any form, such as that of a repository, that runs nothing where somebody follows it. */
export const plainAddress = z
  .string()
  .max(2048)
  .refine(
    (text) => !/^(javascript|data|vbscript|blob):/i.test(text.replaceAll(/[\s\p{C}]/gu, '')),
    'must not be a script or data',
  );

/** An instant in responses: ISO 8601 in UTC with milliseconds. */
export const timestamp = z.iso
  .datetime({ offset: true })
  .meta({ description: 'ISO 8601 timestamp', example: '2026-11-21T08:30:00.000Z' });

/**
 * Slug of a private location. It must not look like a data-center location, because they share a
 * namespace.
 */
export const privateLocationSlug = z
  .string()
  .regex(
    /^((?!((us(-gov)?|ap|ca|cn|eu|sa|af|me)-(central|(north|south)?(east|west)?)-\d+))[a-zA-Z0-9-]{1,30})$/,
    'must be 1 to 30 letters, digits or hyphens and must not look like a data-center location',
  )
  .meta({ example: 'office-berlin' });

/** A UUID in a path. Other texts are unknown ids, so they answer 404 instead of 400. */
export const pathId = z.string();

/** A number in a path: `/v1/snippets/7`. */
export const pathInteger = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number')
  .transform(Number)
  .meta({ override: { type: 'integer', minimum: 0 } });

/** Part of the address of a public page. */
export const pageSlug = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$/, 'must be letters, digits and hyphens')
  .meta({ example: 'shop' });

/** A custom domain of a public page. */
export const customDomain = z
  .string()
  .max(253)
  .regex(/^[^\s/:.]+(\.[^\s/:.]+)+$/, 'must be a domain without scheme')
  // Letters of any script, digits and hyphens; the domain is used in links and mails.
  .refine(
    (text) => !/[\u0000-,;-@[-`{-\u007f]/.test(text) && URL.canParse(`https://${text}/`),
    'must be a domain such as status.shop.example',
  )
  // A host whose last label is a number is an IPv4 address for browsers.
  .refine((text) => !/(^|\.)(\d+|0x[\da-f]*)$/i.test(text), 'must be a domain, not an address')
  .meta({ example: 'status.shop.example' });

function isTimezone(text: string): boolean {
  try {
    return /^[a-z]/i.test(text) && new Intl.DateTimeFormat('en', { timeZone: text }) !== null;
  } catch {
    return false;
  }
}

/** IANA names, not offsets: an offset has no daylight saving time. */
export const timezone = z
  .string()
  .max(64)
  .refine(isTimezone, 'must be the name of a time zone, such as Europe/Berlin')
  .meta({ example: 'Europe/Berlin' });

/** IPv4 (the default) or IPv6. */
export const ipFamily = z.enum(['IPv4', 'IPv6']);
export type IpFamily = z.infer<typeof ipFamily>;

/** Header or query parameter. A `locked` value is empty for keys that may not write. */
export const keyValuePair = sensitive(
  'pair',
  z.object({
    key: z.string().min(1).max(1024),
    value: z.string().max(65_536),
    locked: z.boolean().default(false),
  }),
);

/**
 * Spec: Environment variable object. The value of a secret is always null in responses, that of a
 * locked variable for keys that may not write. Null in a body keeps the stored value.
 */
export const environmentVariable = sensitive(
  'variable',
  z.object({
    key: z.string().min(1).max(1024),
    value: z.string().max(262_144).nullable(),
    locked: z.boolean().default(false),
    secret: z.boolean().default(false),
  }),
).meta({ id: 'EnvironmentVariable' });
export type EnvironmentVariable = z.output<typeof environmentVariable>;
export type KeyValuePair = z.output<typeof keyValuePair>;

/** A host name or an IP address, IPv6 with or without brackets. */
export function bareHost(maximum: number) {
  return z
    .string()
    .min(1)
    .max(maximum)
    .regex(
      /^(\[?[0-9a-f]*:[0-9a-f:.]*\]?|[^\s/:]+)$/i,
      'must be a host name or an address, without scheme, port or path',
    );
}

/** An optional list in a body. Clients without empty lists send null. */
export function listOf<T extends z.ZodType>(item: T, maximum: number) {
  return z.preprocess((given): unknown => given ?? [], z.array(item).max(maximum)).default([]);
}

/** A boolean in a query string: `true` or `false`. */
export const queryBoolean = z
  .enum(['true', 'false', '1', '0'], { error: 'must be true or false' })
  .transform((text) => text === 'true' || text === '1')
  .meta({ override: { type: 'boolean' } });

/** An integer in a query string, within bounds. `page=1e3`, `page=0x1` and `page=` are refused. */
export function queryInteger(minimum: number, maximum: number) {
  return z
    .string()
    .regex(/^-?\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().int().min(minimum).max(maximum))
    .meta({ override: { type: 'integer', minimum, maximum } });
}

/** A date, or a time that may be without an offset or seconds: with an offset zod needs an option for that. */
export const isoDate = z.union([
  z.iso.date(),
  z.iso.datetime({ offset: true, local: true }),
  z.iso.datetime({ offset: true, precision: -1 }),
]);

/** An ISO 8601 date or time in milliseconds; without an offset it is in UTC. NaN for others, such as 30 February. */
export function isoInstant(text: string): number {
  if (!isoDate.safeParse(text).success) return Number.NaN;
  const isLocal = text.includes('T') && !/(Z|[+-]\d\d:\d\d)$/.test(text);
  return Date.parse(isLocal ? `${text}Z` : text);
}

const latestUnixSecond = 253_402_300_799;

/**
 * An instant in a query string, in UNIX seconds or as an ISO 8601 date. Parsed to milliseconds.
 * `1763712000` and `2025-11-21` are the same instant.
 */
export const queryInstant = z
  .string()
  .transform((text, context): number => {
    if (/^\d{1,12}(\.\d{1,3})?$/.test(text) && Number(text) <= latestUnixSecond) {
      return Math.round(Number(text) * 1000);
    }
    const parsed = isoInstant(text.replace(/^(\S{10}) /, '$1T'));
    if (Number.isNaN(parsed)) {
      context.addIssue({ code: 'custom', message: 'must be a UNIX timestamp in seconds' });
      return z.NEVER;
    }
    return parsed;
  })
  .meta({ override: { type: 'string', description: 'UNIX timestamp in seconds' } });

/** A repeatable query parameter; always parsed to a list. */
export function queryList<T extends z.ZodType<unknown, string>>(item: T) {
  return z.union([item.transform((one) => [one]), z.array(item)]);
}

/** Several names, separated by commas or in repeated parameters; duplicates are removed. */
export function queryNames(allowed: readonly string[], what: string, fallback?: string) {
  const schema = z.union([z.string(), z.array(z.string())]).transform((given, context) => {
    const names = [given].flat().flatMap((text) => text.split(','));
    const unknown = names.find((name) => !allowed.includes(name));
    if (unknown === undefined) return [...new Set(names)];
    context.addIssue({ code: 'custom', message: `has "${unknown}", which is not ${what}` });
    return z.NEVER;
  });
  const override = {
    type: 'array',
    items: { type: 'string', enum: allowed },
    description: 'Separated by commas, or repeated',
  };
  return fallback === undefined
    ? schema.meta({ override })
    : schema.default([fallback]).meta({ override: { ...override, default: [fallback] } });
}

/** Page style pagination. Spec: Limits, `limit` 1 to 100, default 10. */
export const pageQuery = {
  limit: queryInteger(1, 100).default(10),
  page: queryInteger(1, 1_000_000).default(1),
};

export const windowQuery = {
  from: queryInstant.exactOptional(),
  to: queryInstant.exactOptional(),
};

/** What an operation is that lists its items by page. */
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  ({ query: z.object(pageQuery), response: z.array(item), paged: true }) as const;

/** Cursor style pagination: the next page begins at `nextId`. Default 20. */
export const cursorQuery = {
  limit: queryInteger(1, 100).default(20),
  nextId: z.string().min(1).max(200).exactOptional().meta({
    description: 'The `nextId` of the page before',
  }),
};

/** A page of a cursor style list: `length` counts its entries, `nextId` is null at the end. */
export function cursorPage<T extends z.ZodType>(entry: T) {
  return z.object({ length: z.int(), entries: z.array(entry), nextId: z.string().nullable() });
}

export type AnyShape = Record<string, z.ZodType>;

type WithoutDefault<S extends z.ZodType> =
  S extends z.ZodDefault<infer Inner extends z.ZodType>
    ? Inner
    : S extends z.ZodPrefault<infer Inner extends z.ZodType>
      ? Inner
      : S;

/** Fields as an entry has them: `.default()` and `.prefault()` are of its creation alone. */
export function storedOf<Shape extends AnyShape>(shape: Shape) {
  const fields = Object.entries(shape).map(([key, schema]): [string, unknown] => [
    key,
    schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault ? schema.unwrap() : schema,
  ]);
  return Object.fromEntries(fields) as { [Key in keyof Shape]: WithoutDefault<Shape[Key]> };
}

/** The body of an update: everything optional, without defaults, since absent means unchanged. */
export function updateOf<Shape extends AnyShape>(shape: Shape) {
  const fields = Object.entries<z.ZodType>(storedOf(shape)).map(([key, schema]) => [
    key,
    z.exactOptional(schema),
  ]);
  return z.object(
    Object.fromEntries(fields) as {
      [Key in keyof Shape]: z.ZodExactOptional<WithoutDefault<Shape[Key]>>;
    },
  );
}
