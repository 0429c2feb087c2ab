/** The settings of the control plane: read from the environment once, here and nowhere else. */
import { isIP } from 'node:net';
import { z } from 'zod';
import { dataCenterLocations } from '@monitor/shared/contract/primitives.ts';
import { OperatorError } from './operator-error.ts';

const flag = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((text) => text === 'true');

export interface StaticIp {
  region: string;
  address: string;
}

function parseStaticIps(text: string, context: z.RefinementCtx): StaticIp[] {
  return text.split(',').flatMap((entry) => {
    if (entry.trim() === '') return [];
    const [region = '', address = ''] = entry.split('=').map((part) => part.trim());
    if (!(region in dataCenterLocations) || isIP(address) === 0) {
      context.addIssue(`"${entry.trim()}" must be a data-center location and an address`);
    }
    return [{ region, address }];
  });
}

const settings = {
  PORT: z.coerce.number().int().min(0).max(65_535).default(3000).describe('Port of the API'),
  HOST: z.string().min(1).default('127.0.0.1').describe('Address to listen on'),
  DATABASE_FILE: z
    .string()
    .min(1)
    .default('.data/control-plane.db')
    .describe('File of the embedded database'),
  PUBLIC_URL: z
    .url()
    .optional()
    .describe('Where people and agents reach this control plane; default http://localhost:PORT'),
  LENIENT_DNS_BODY: flag
    .default(false)
    .describe(
      'Accept DNS monitors without `heartbeat` and `script`, which the specification requires and existing clients do not send',
    ),
  CHECK_RESPONSES: flag
    .default(false)
    .describe('Compare every answer with its contract before sending it (development)'),
  REQUESTS_PER_MINUTE: z.coerce
    .number()
    .int()
    .min(0)
    .default(600)
    .describe('Requests of one API key a minute; 0 switches all limits off'),
  REQUEST_TIMEOUT_SECONDS: z.coerce
    .number()
    .int()
    .min(1)
    .default(120)
    .describe('How long a request may take to arrive; its headers at most 30 seconds'),
  ENCRYPTION_KEY: z
    .string()
    .min(32)
    .optional()
    .describe('Seals secrets in the database; default: a file beside it, DATABASE_FILE.key'),
  ARTIFACTS_DIR: z
    .string()
    .min(1)
    .optional()
    .describe('Folder for files of results; default: `artifacts` beside DATABASE_FILE'),
  ARTIFACT_RETENTION_DAYS: z.coerce
    .number()
    .int()
    .min(1)
    .max(3650)
    .default(30)
    .describe('How long files of results are kept'),
  ARTIFACTS_S3_BUCKET: z
    .string()
    .min(1)
    .optional()
    .describe('Keep files of results in this bucket of an S3-compatible store instead'),
  ARTIFACTS_S3_ENDPOINT: z
    .url()
    .optional()
    .describe('Where the store is, when it is not that of AWS'),
  ARTIFACTS_S3_REGION: z.string().min(1).default('us-east-1').describe('Region of the bucket'),
  ARTIFACTS_S3_PREFIX: z.string().default('').describe('Put before the name of every object'),
  ARTIFACTS_S3_ACCESS_KEY_ID: z
    .string()
    .min(1)
    .optional()
    .describe('Key of the store; default: what the environment of the machine offers'),
  ARTIFACTS_S3_SECRET_ACCESS_KEY: z.string().min(1).optional().describe('Its secret'),
  STATIC_IPS: z
    .string()
    .default('')
    .transform(parseStaticIps)
    .describe(
      'Addresses of data-center locations for /v1/static-ips: eu-central-1=192.0.2.1,eu-west-1=2001:db8::1',
    ),
  LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error'])
    .default('info')
    .describe('Least severe level that is logged'),
};

/** Never shown, not even when they are wrong. */
const secretSettings: ReadonlySet<string> = new Set([
  'ENCRYPTION_KEY',
  'ARTIFACTS_S3_SECRET_ACCESS_KEY',
]);

const schema = z.object(settings);
export type Config = Readonly<z.output<typeof schema>>;

/** Name, default and meaning of every setting: for `--help` and the README. */
export function describeSettings(): { name: string; default: string; meaning: string }[] {
  return Object.entries(settings).map(([name, setting]) => ({
    name,
    default: setting instanceof z.ZodDefault ? String(setting.def.defaultValue) : '',
    meaning: setting.description ?? '',
  }));
}

/** Parses an environment. Throws one error that names every setting that is wrong. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(
    Object.keys(settings).flatMap((name) => {
      const value = environment[name];
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );
  const parsed = schema.safeParse(given);
  if (parsed.success) return Object.freeze(parsed.data);
  const problems = parsed.error.issues.map((issue) => {
    const name = String(issue.path[0]);
    const value = secretSettings.has(name) ? '' : ` (given: ${String(given[name])})`;
    return `  ${issue.path.join('.')}: ${issue.message}${value}`;
  });
  throw new OperatorError(
    `the configuration cannot be used; correct these environment variables:\n${problems.join('\n')}`,
    { usage: true },
  );
}

/** The environment of this process. */
export const processEnvironment: Readonly<Record<string, string | undefined>> = process.env;
