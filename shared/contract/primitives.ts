/** Building blocks of the wire: identifiers, time, pairs, page and window queries. */
import { z } from 'zod';

/** Data-center locations, in the order the specification lists them, with the names people know. */
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

/** Spec: Analytics response, `checkType`. All ten, whether or not this build runs them. */
export const checkType = z
  .enum([
    'AGENTIC',
    'API',
    'BROWSER',
    'HEARTBEAT',
    'ICMP',
    'MULTI_STEP',
    'TCP',
    'PLAYWRIGHT',
    'URL',
    'DNS',
  ])
  .meta({ id: 'CheckType', description: 'Type of a check' });
export type CheckType = z.infer<typeof checkType>;

/** An instant as it stands in response bodies: ISO 8601 in UTC with milliseconds. */
export const timestamp = z.iso
  .datetime({ offset: true })
  .meta({ description: 'ISO 8601 timestamp', example: '2026-11-21T08:30:00.000Z' });

/** Slug of a private location. It must not look like a data-center location, which shares its namespace. */
export const privateLocationSlug = z
  .string()
  .regex(
    /^((?!((us(-gov)?|ap|ca|cn|eu|sa|af|me)-(central|(north|south)?(east|west)?)-\d+))[a-zA-Z0-9-]{1,30})$/,
    'must be 1 to 30 letters, digits or hyphens and must not look like a data-center location',
  );

/** IPv4 (the default) or IPv6. */
export const ipFamily = z.enum(['IPv4', 'IPv6']);
export type IpFamily = z.infer<typeof ipFamily>;

/** Header or query parameter. `locked` hides the value from readers with few rights. */
export const keyValuePair = z.object({
  key: z.string().min(1).max(1024),
  value: z.string().max(65_536),
  locked: z.boolean().default(false),
});

/** Spec: Environment variable object. */
export const environmentVariable = z
  .object({
    key: z.string().min(1).max(1024),
    value: z.string().max(262_144),
    locked: z.boolean().default(false),
    secret: z.boolean().default(false),
  })
  .meta({ id: 'EnvironmentVariable' });

/** A boolean in a query string: `true` or `false`, nothing else. */
export const queryBoolean = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((text) => text === 'true')
  .meta({ override: { type: 'boolean' } });

/** A whole number in a query string, within bounds. `page=1e3`, `page=0x1` and `page=` are refused. */
export function queryInteger(minimum: number, maximum: number) {
  return z
    .string()
    .regex(/^-?\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().int().min(minimum).max(maximum))
    .meta({ override: { type: 'integer', minimum, maximum } });
}

const latestUnixSecond = 253_402_300_799;

/**
 * An instant in a query string, given as UNIX seconds; an ISO 8601 date is understood as well.
 * Parsed to milliseconds. `1763712000` and `2025-11-21` are the same instant.
 */
export const queryInstant = z
  .string()
  .transform((text, context): number => {
    if (/^\d{1,12}(\.\d{1,3})?$/.test(text) && Number(text) <= latestUnixSecond) {
      return Math.round(Number(text) * 1000);
    }
    const parsed = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
    if (Number.isNaN(parsed)) {
      context.addIssue({ code: 'custom', message: 'must be a UNIX timestamp in seconds' });
      return z.NEVER;
    }
    return parsed;
  })
  .meta({ override: { type: 'string', description: 'UNIX timestamp in seconds' } });

/** A query parameter that may be repeated: always parsed to a list. */
export function queryList<T extends z.ZodType<unknown, string>>(item: T) {
  return z.union([item.transform((one) => [one]), z.array(item)]);
}

/** Page style pagination. Spec: Limits, `limit` 1 to 100, default 10. */
export const pageQuery = {
  limit: queryInteger(1, 100).default(10),
  page: queryInteger(1, 1_000_000).default(1),
};
