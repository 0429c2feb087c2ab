/** The settings of the control plane: read from the environment once, here and nowhere else. */
import { z } from 'zod';

const flag = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((text) => text === 'true');

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
  LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error'])
    .default('info')
    .describe('Least severe level that is logged'),
};

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
  const problems = parsed.error.issues.map(
    (issue) =>
      `  ${issue.path.join('.')}: ${issue.message} (given: ${String(given[String(issue.path[0])])})`,
  );
  throw new Error(`the configuration cannot be used:\n${problems.join('\n')}`);
}

/** The environment of this process. */
export const processEnvironment: Readonly<Record<string, string | undefined>> = process.env;
