/** Settings of the control plane. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { fieldIssues } from '@monitor/shared/field-issues.ts';
import { meantSetting } from '@monitor/shared/meant-setting.ts';
import { z } from 'zod';
import { customDomain, dataCenterLocations } from '@monitor/shared/contract/primitives.ts';
import { role, type Role } from '@monitor/shared/contract/route.ts';
import { usageError } from '../errors/operator-error.ts';

const flag = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((text) => text === 'true');

/** Both words read better than true and false where a feature is switched. */
const onOff = z
  .enum(['on', 'off'], { error: 'must be on or off' })
  .transform((text) => text === 'on');

/** `protocol` matches the supported schemes. `host` is checked because URLs without one parse. */
function urlOf(protocol: RegExp, like: string): z.ZodURL {
  return z.url({ protocol, hostname: /./, error: `must be a URL such as ${like}` });
}

/** A quota per hour; 0 means no limit. */
function quota(byDefault: number) {
  return z.coerce.number().int().min(0).max(1_000_000_000).default(byDefault);
}

/** Modes of libpq that say for sure whether there is TLS. */
const sslModes = new Set(['disable', 'require', 'verify-ca', 'verify-full']);

/** A socket folder may stand in the query, as `?host=/run/postgresql`, in the place of a host. */
const postgresUrl = z
  .url({
    protocol: /^postgres(ql)?$/,
    error: 'must be a URL such as postgres://user:password@host:5432/monitor',
  })
  .refine(
    (text) => {
      // The first rule has refused what is no URL.
      const url = URL.parse(text);
      return url === null || url.hostname !== '' || url.searchParams.has('host');
    },
    { error: 'must name a host, as in postgres://user:password@host:5432/monitor' },
  )
  .refine((text) => sslModes.has(URL.parse(text)?.searchParams.get('sslmode') ?? 'disable'), {
    error: `must say sslmode as ${[...sslModes].join(', ')}, or nothing for a connection without TLS`,
  })
  .refine(
    (text) => {
      const query = URL.parse(text)?.searchParams;
      return query?.get('sslmode') !== 'verify-ca' || query.has('sslrootcert');
    },
    { error: 'must name the file of the authority for sslmode=verify-ca: add sslrootcert=<file>' },
  );

/** True for this machine, as it stands in a URL. */
export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

const webUrl = (like: string): z.ZodURL => urlOf(/^https?$/, like);

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

function parseNetworks(text: string, context: z.RefinementCtx): string[] {
  const networks = text
    .split(',')
    .map((network) => network.trim())
    .filter((network) => network !== '');
  for (const network of networks) {
    if (!ipaddr.isValid(network) && !ipaddr.isValidCIDR(network)) {
      context.addIssue(`"${network}" must be an address or a network such as 10.0.0.0/8`);
    }
  }
  return networks;
}

function parseDomains(text: string, context: z.RefinementCtx): string[] {
  const domains = text
    .split(',')
    .map((domain) => domain.trim().toLowerCase())
    .filter((domain) => domain !== '');
  for (const domain of domains) {
    if (!customDomain.safeParse(domain.replace(/^\*\./, '')).success) {
      context.addIssue(`"${domain}" must be a domain such as status.example.com or *.example.com`);
    }
  }
  return domains;
}

export interface GroupRole {
  group: string;
  role: Role;
}

function parseRoles(text: string, context: z.RefinementCtx): GroupRole[] {
  return text.split(',').flatMap((entry) => {
    if (entry.trim() === '') return [];
    const at = entry.lastIndexOf('=');
    const group = entry.slice(0, Math.max(at, 0)).trim();
    const parsed = role.safeParse(entry.slice(at + 1).trim());
    if (group !== '' && parsed.success) return [{ group, role: parsed.data }];
    context.addIssue(`"${entry.trim()}" must be a group and a role, such as staff=READ_WRITE`);
    return [];
  });
}

/** It becomes a part of lines for a shell. */
const imageName = z.string().regex(/^[\w.:/@-]+$/, {
  error: 'must be a name such as registry.example/monitor-agent:7.0.2-uptime',
});

const settings = {
  PORT: z.coerce.number().int().min(0).max(65_535).default(3000).describe('Port of the API'),
  HOST: z.string().min(1).default('127.0.0.1').describe('Address to listen on'),
  DATABASE_FILE: z
    .string()
    .min(1)
    .default('.data/control-plane.db')
    .describe('File of the embedded database'),
  DATABASE_URL: postgresUrl
    .optional()
    .describe(
      'Use this PostgreSQL (15 or newer) instead of a file, with as many replicas as you like: postgres://user:password@host:5432/monitor',
    ),
  DATABASE_POOL: z.coerce
    .number()
    .int()
    .min(2)
    .max(1_000)
    .default(10)
    .describe('Connections of one replica to DATABASE_URL, besides the one that listens'),
  DATABASE_LISTEN_URL: postgresUrl
    .optional()
    .describe(
      'The same database past a pooler in transaction mode, which cannot carry notifications; default: DATABASE_URL',
    ),
  DATABASE_READ_URL: postgresUrl
    .optional()
    .describe(
      'A standby for analytics, exports and status pages, used while it is at most 5 seconds behind',
    ),
  DATABASE_NOTIFY: onOff
    .prefault('on')
    .describe(
      'Whether replicas notify each other through the database; off: they ask it every second',
    ),
  DATABASE_PREPARED: onOff
    .prefault('on')
    .describe('Whether statements are prepared; off for poolers that do not support it'),
  DATABASE_FAILOVER_SECONDS: z.coerce
    .number()
    .int()
    .min(1)
    .max(3_600)
    .default(60)
    .describe(
      'How long work is repeated while the database is away or read-only, before the log has an error; a start tries as long',
    ),
  PUBLIC_URL: webUrl('https://monitor.example.com')
    .refine((text) => !/[?#]/.test(text), {
      error: 'must be an address without "?" and "#", such as https://monitor.example.com',
    })
    .optional()
    .describe('Where people and agents reach this control plane; default http://HOST:PORT'),
  TRACE_VIEWER_URL: webUrl('https://traces.example.com')
    .optional()
    .describe(
      'Where the trace viewer is: a host of its own that leads to the same port; default: traces.localhost where PUBLIC_URL is of this machine, otherwise none',
    ),
  HEARTBEAT_URL: webUrl('https://monitor.other.example/ping/…')
    .optional()
    .describe(
      'Ping URL of a heartbeat monitor at another installation, which is pinged each minute while this one can write to its database',
    ),
  STRICT_DNS_BODY: flag
    .default(false)
    .describe(
      'Refuse DNS monitors without `heartbeat` and `script`, which the specification requires and existing clients do not send',
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
    .describe('Encrypts credentials in the database; default: a file beside it, DATABASE_FILE.key'),
  ENCRYPTION_KEY_PREVIOUS: z
    .string()
    .min(32)
    .optional()
    .describe('The key before ENCRYPTION_KEY, until `keys rotate-encryption` is done'),
  ARTIFACTS_DIR: z
    .string()
    .min(1)
    .optional()
    .describe('Folder for files of results; default: `artifacts` beside DATABASE_FILE'),
  ARTIFACTS_SHARED: flag
    .default(false)
    .describe(
      'ARTIFACTS_DIR is a folder that all replicas mount, which DATABASE_URL needs without a bucket',
    ),
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
  RESULT_RETENTION_DAYS: z.coerce
    .number()
    .int()
    .min(1)
    .max(3650)
    .default(30)
    .describe('How long single results are kept'),
  ANALYTICS_RETENTION_DAYS: z.coerce
    .number()
    .int()
    .min(1)
    .max(3650)
    .default(400)
    .describe('How long the hourly numbers of analytics are kept'),
  AUDIT_RETENTION_DAYS: z.coerce
    .number()
    .int()
    .min(1)
    .max(3650)
    .default(400)
    .describe('How long the audit log is kept'),
  RESULTS_PER_HOUR: quota(18_000_000).describe(
    'Results that a location may hand in within an hour, an account four times as many; 0 for no limit',
  ),
  RESULT_MIB_PER_HOUR: quota(8_192).describe('The same for the size of results, in MiB'),
  FILES_PER_HOUR: quota(100_000).describe('The same for files of results'),
  FILE_MIB_PER_HOUR: quota(51_200).describe('The same for the size of files, in MiB'),
  BUNDLE_MIB: quota(1_024).describe(
    'Code bundles and other uploaded files that an account may keep, in MiB; 0 for no limit',
  ),
  SMTP_URL: urlOf(/^smtps?$/, 'smtp://user:password@host:587')
    .optional()
    .describe('Mail server: smtp://user:password@host:587, or smtps:// on port 465'),
  AGENT_SMTP_URL: urlOf(/^smtps?$/, 'smtp://user:password@host:587')
    .optional()
    .describe(
      'Mail server that agents use to say that the control plane is away; every agent is given it with its password, so it should be one that can do nothing else',
    ),
  AWAY_AFTER_SECONDS: z.coerce
    .number()
    .int()
    .min(10)
    .max(86_400)
    .default(120)
    .describe(
      'How long agents miss the control plane before they notify people through channels with `sentByAgents`',
    ),
  MAIL_FROM: z
    .string()
    .regex(/[^\s<>@]@[^\s<>@]/, 'must be an address such as Monitor <monitor@example.com>')
    .default('Monitor <monitor@localhost>')
    .describe('Sender of mails'),
  PHONE_API_URL: webUrl('https://api.twilio.com')
    .default('https://api.twilio.com')
    .describe('Twilio-compatible API for text messages and calls'),
  PHONE_ACCOUNT_SID: z.string().min(1).optional().describe('Account of that API'),
  PHONE_AUTH_TOKEN: z.string().min(1).optional().describe('Its secret'),
  PHONE_FROM_NUMBER: z.string().min(1).optional().describe('Number that sends and calls'),
  SLACK_APP_TOKEN: z
    .string()
    .min(1)
    .optional()
    .describe('Bot token of the Slack app that SLACK_APP channels post with'),
  SLACK_API_URL: webUrl('https://slack.com/api')
    .default('https://slack.com/api')
    .describe('Where the Web API of Slack is'),
  OPERATOR_CHANNEL_ACCOUNTS: z
    .string()
    .default('')
    .transform((text) => text.split(/[\s,]+/).filter((id) => id !== ''))
    .describe(
      'Ids of the accounts whose channels may use SLACK_APP_TOKEN and PHONE_…; where there are several accounts, nobody else may',
    ),
  PAGERDUTY_EVENTS_URL: webUrl('https://events.pagerduty.com/v2/enqueue')
    .default('https://events.pagerduty.com/v2/enqueue')
    .describe('Where events of PAGERDUTY channels go'),
  OPSGENIE_API_URL: webUrl('https://api.eu.opsgenie.com')
    .optional()
    .describe('Where alerts of OPSGENIE channels go; default: the API of their region'),
  OUTGOING_ALLOWED_NETWORKS: z
    .string()
    .default('')
    .describe(
      'Private addresses that notifications may reach: 10.20.0.0/16,192.168.1.7. Without any they reach public addresses only',
    ),
  SUBSCRIBER_ALLOWED_NETWORKS: z
    .string()
    .default('')
    .describe(
      'The same for webhooks that visitors of status pages subscribe; only where all of them may send requests there',
    ),
  TRUSTED_PROXIES: z
    .string()
    .default('')
    .transform(parseNetworks)
    .describe(
      'Reverse proxies whose X-Forwarded-For tells visitors of status pages apart: 10.0.0.0/8,::1',
    ),
  STATUS_PAGE_DOMAINS: z
    .string()
    .default('')
    .transform(parseDomains)
    .describe(
      'Domains of status pages that need no proof: status.example.com,*.status.example.org',
    ),
  STATIC_IPS: z
    .string()
    .default('')
    .transform(parseStaticIps)
    .describe(
      'Addresses of data-center locations for /v1/static-ips: eu-central-1=192.0.2.1,eu-west-1=2001:db8::1',
    ),
  PROMETHEUS_EXISTING_NAMES: onOff
    .prefault('off')
    .describe(
      'on: /v1/prometheus/metrics has the metrics also under the names that existing dashboards ask for, see compat/README.md',
    ),
  METRICS_PORT: z.coerce
    .number()
    .int()
    .min(0)
    .max(65_535)
    .optional()
    .describe('Port on which this process serves /metrics about itself; without it, it does not'),
  METRICS_HOST: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe('Address to listen on for /metrics'),
  METRICS_TOKEN: z
    .string()
    .min(8)
    .optional()
    .describe('Bearer token that scrapers of /metrics must send'),
  AGENT_IMAGE: imageName
    .optional()
    .describe('Image of the agent in your registry, for the lines that the console shows'),
  AGENT_CHART: imageName
    .optional()
    .describe('Chart of the agent, as oci://registry.example/monitor-agent, for the same lines'),
  OIDC_ISSUER: webUrl('https://login.example.com')
    .refine((text) => !text.startsWith('http:') || isLoopback(URL.parse(text)?.hostname ?? ''), {
      error:
        'must begin with https:, unless the provider is on this machine: on the way, anybody could answer in its place',
    })
    .optional()
    .describe(
      'People sign in with this OpenID provider too; its redirect URI is PUBLIC_URL/console/session/oidc/callback',
    ),
  OIDC_CLIENT_ID: z.string().min(1).optional().describe('This installation at the provider'),
  OIDC_CLIENT_SECRET: z
    .string()
    .min(1)
    .optional()
    .describe('Its secret; without one it is a public client with PKCE'),
  OIDC_NAME: z
    .string()
    .min(1)
    .max(60)
    .default('single sign-on')
    .describe('What the button says: Sign in with …'),
  OIDC_SCOPES: z.string().default('openid email profile').describe('Scopes to ask for'),
  OIDC_TRUSTS_EMAIL: flag
    .default(false)
    .describe(
      'Whether addresses count that the provider does not call verified; only where nobody chooses their own there',
    ),
  OIDC_GROUPS_CLAIM: z
    .string()
    .min(1)
    .default('groups')
    .describe('Claim with the groups of a person'),
  OIDC_ROLES: z
    .string()
    .default('')
    .transform(parseRoles)
    .describe(
      'Roles by group: monitor-admins=ADMIN,staff=READ_WRITE; * is everybody. Without any, people must be invited first',
    ),
  LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error'])
    .default('info')
    .describe('Least severe level that is logged'),
};

/** Never printed, not even in an error about a wrong value. */
export const secretSettings: ReadonlySet<string> = new Set([
  'DATABASE_URL',
  'DATABASE_LISTEN_URL',
  'DATABASE_READ_URL',
  'ENCRYPTION_KEY',
  'ENCRYPTION_KEY_PREVIOUS',
  'ARTIFACTS_S3_SECRET_ACCESS_KEY',
  'SMTP_URL',
  'AGENT_SMTP_URL',
  'OIDC_CLIENT_SECRET',
  'PHONE_AUTH_TOKEN',
  'SLACK_APP_TOKEN',
  'METRICS_TOKEN',
  'HEARTBEAT_URL',
]);

/** All of them are set, or none: an incomplete set would fail at the first alert. */
const phoneSettings = ['PHONE_ACCOUNT_SID', 'PHONE_AUTH_TOKEN', 'PHONE_FROM_NUMBER'] as const;

type Settings = z.output<z.ZodObject<typeof settings>>;

/** Settings that contradict the engine, with the way out. `isGiven` is false for defaults. */
function databaseProblems(
  config: Settings,
  isGiven: (name: keyof Settings) => boolean,
): [name: keyof Settings, problem: string][] {
  if (config.DATABASE_URL === undefined) {
    return (['DATABASE_LISTEN_URL', 'DATABASE_READ_URL'] as const)
      .filter(isGiven)
      .map((name) => [name, 'needs DATABASE_URL: set that too, or unset this']);
  }
  const problems: [keyof Settings, string][] = [];
  if (isGiven('DATABASE_FILE')) {
    problems.push([
      'DATABASE_FILE',
      'cannot be used together with DATABASE_URL: unset one of them, or leave it empty; `control-plane move` copies a file to a PostgreSQL',
    ]);
  }
  if (config.ENCRYPTION_KEY === undefined) {
    problems.push([
      'ENCRYPTION_KEY',
      'is needed with DATABASE_URL, as all replicas must decrypt with one key: set the same 32 characters or more everywhere',
    ]);
  }
  if (config.PUBLIC_URL === undefined) {
    problems.push([
      'PUBLIC_URL',
      'is needed with DATABASE_URL: set it to the address of the balancer that leads to all replicas',
    ]);
  }
  const hasSharedFolder = config.ARTIFACTS_DIR !== undefined && config.ARTIFACTS_SHARED;
  if (config.ARTIFACTS_S3_BUCKET === undefined && !hasSharedFolder) {
    problems.push([
      'ARTIFACTS_S3_BUCKET',
      'is needed with DATABASE_URL, as every replica must reach all files: set it, or set ARTIFACTS_DIR to a folder that all replicas mount and ARTIFACTS_SHARED to true',
    ]);
  }
  return problems;
}

const schema = z.object(settings).superRefine((config, context) => {
  if (config.RESULT_RETENTION_DAYS > config.ANALYTICS_RETENTION_DAYS) {
    context.addIssue({
      code: 'custom',
      path: ['RESULT_RETENTION_DAYS'],
      message: `must not be above ANALYTICS_RETENTION_DAYS, which is ${config.ANALYTICS_RETENTION_DAYS}`,
    });
  }
  if (config.TRACE_VIEWER_URL !== undefined) {
    const viewer = new URL(config.TRACE_VIEWER_URL);
    const host =
      config.PUBLIC_URL === undefined ? config.HOST : new URL(config.PUBLIC_URL).hostname;
    if (viewer.hostname === host || !/^\/?$/.test(viewer.pathname)) {
      context.addIssue({
        code: 'custom',
        path: ['TRACE_VIEWER_URL'],
        message: 'must name another host than PUBLIC_URL, without a path',
      });
    }
  }
  if (config.OIDC_ISSUER !== undefined && config.OIDC_CLIENT_ID === undefined) {
    context.addIssue({
      code: 'custom',
      path: ['OIDC_CLIENT_ID'],
      message: 'is needed with OIDC_ISSUER: register this installation at the provider',
    });
  }
  const missing = phoneSettings.filter((name) => config[name] === undefined);
  if (missing.length === phoneSettings.length) return;
  for (const name of missing) {
    context.addIssue({
      code: 'custom',
      path: [name],
      message: `is needed for text messages and calls, as ${phoneSettings.join(', ')} belong together`,
    });
  }
});
export type Config = Readonly<z.output<typeof schema>>;

/** Name, default and meaning of every setting: for `--help` and the guide. */
export function describeSettings(): { name: string; default: string; meaning: string }[] {
  return Object.entries(settings).map(([name, setting]) => ({
    name,
    default:
      setting instanceof z.ZodDefault || setting instanceof z.ZodPrefault
        ? String(setting.def.defaultValue)
        : '',
    meaning: setting.description ?? '',
  }));
}

/** The settings as a table in Markdown, for the guide. */
export function settingsTable(): string {
  const rows = describeSettings().map(
    ({ name, default: value, meaning }) =>
      `| \`${name}\` | ${value === '' ? '–' : value} | ${meaning.replaceAll('|', '\\|')} |`,
  );
  return ['| Variable | Default | Meaning |', '|---|---|---|', ...rows].join('\n');
}

/** A warning for each variable that is no setting and resembles one that is not set. */
export function misspeltSettings(
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const names = Object.keys(settings);
  return Object.keys(environment).flatMap((given) => {
    const meant = names.includes(given) ? null : meantSetting(given, names);
    if (meant === null || environment[meant]) return [];
    return `${given} is not a setting of the control plane and has no effect; did you mean ${meant}?`;
  });
}

/** Parses an environment. Throws one error that names every setting that is wrong. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(
    Object.keys(settings).flatMap((name) => {
      const value = environment[name];
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );
  const parsed = schema
    .superRefine((config, context) => {
      for (const [name, message] of databaseProblems(config, (each) => each in given)) {
        context.addIssue({ code: 'custom', path: [name], message });
      }
    })
    .safeParse(given, { reportInput: true });
  if (parsed.success) return Object.freeze(parsed.data);
  const problems = fieldIssues(parsed.error.issues).map(({ path, message }) => {
    const name = path.split('.')[0] ?? '';
    const isShown = given[name] !== undefined && !secretSettings.has(name);
    const value = isShown ? ` (given: ${given[name]})` : '';
    return `  ${path}: ${message}${value}`;
  });
  throw usageError(
    `the configuration cannot be used; correct these environment variables:\n${problems.join('\n')}`,
  );
}
