/**
 * The settings of the agent: read from flags and environment once, here and nowhere else. One entry
 * each; `--help`, `doctor` and the table in the guide are printed from this list.
 */
import { readFileSync } from 'node:fs';
import { availableParallelism, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { maxRecipients, resultPublicKey } from '@monitor/shared/contract/encrypted-result.ts';
import { checkTypes } from '@monitor/shared/contract/checks/index.ts';
import { AgentError } from './errors.ts';
import { picturePolicies } from './browsers/pictures.ts';
import { secretSettings } from './guard-process.ts';
import { homeFolder } from './home-folder.ts';
import { keyProblem } from './key-problem.ts';
import { entriesOfNoHost, misspeltSettings } from './misspelt-settings.ts';
import { Secret } from './secret.ts';

const secret = z
  .string()
  .trim()
  .min(1, { error: 'must not be empty' })
  .transform((text) => new Secret(text));

/** Not secret, but nothing that runs here may replace them. */
const publicKeys = z
  .string()
  .transform((text) => text.split(/[\s,]+/).filter((key) => key !== ''))
  .refine((keys) => keys.length > 0 && keys.length <= maxRecipients, {
    error: `must be 1 to ${maxRecipients} public keys`,
  })
  .refine((keys) => keys.every((key) => resultPublicKey.safeParse(key).success), {
    error: 'must be public keys as "monitor-agent encryption-key" prints them (rk1_…)',
  })
  .transform((keys) => new Secret(keys.join(',')));

/** Without a scheme it is http, as in other programs. */
const proxy = z
  .string()
  .trim()
  .transform((text) => (text.includes('://') ? text : `http://${text}`))
  // What the parser of addresses takes for a path would be shown, and asked of the name server.
  .refine((text) => /^[^/]*\/\/([^\s@/?#]*@)?[^\s@/?#]+\/?$/.test(text), {
    error:
      'must be http://user:password@host:port and no more; write special characters as %XX (%23 for #, %2F for /, %3F for ?, %40 for @)',
  })
  .refine((text) => /^https?:\/\//i.test(text) && URL.canParse(text), {
    error:
      'must be a URL such as http://proxy.example:3128; other kinds of proxy are not supported',
  })
  .transform((text) => new Secret(text));

const yes = ['true', '1', 'on', 'yes'];
const no = ['false', '0', 'off', 'no'];

const flag = (error: string) =>
  z
    .string()
    .transform((text) => text.trim().toLowerCase())
    .refine((text) => yes.includes(text) || no.includes(text), { error })
    .transform((text) => yes.includes(text));

function wholeNumber(minimum: number, maximum: number) {
  const error = `must be a whole number from ${minimum} to ${maximum}`;
  return z
    .string()
    .trim()
    .regex(/^\d{1,15}$/, { error })
    .transform(Number)
    .refine((number) => number >= minimum && number <= maximum, { error });
}

function oneOf<const T extends string>(values: readonly [T, ...T[]], normalise: 'upper' | 'lower') {
  return z
    .string()
    .transform((text) => (normalise === 'upper' ? text.trim().toUpperCase() : text.trim()))
    .pipe(z.enum(values, { error: `must be one of ${values.join(', ')}` }));
}

/** Heartbeats wait on the control plane: no agent runs them. */
const typesOfAgents = Object.values(checkTypes).flatMap(({ type, runsOn }) =>
  runsOn === 'agents' ? [type] : [],
);

/** The types whose runs never execute code of customers, nor drive a browser. */
const monitorTypes = Object.values(checkTypes).flatMap(({ type, runsOn, runtime, browser }) =>
  runsOn === 'agents' && runtime === 'never' && browser === 'never' ? [type] : [],
);

const checkTypeList = z
  .string()
  .transform((text) => text.split(',').map((type) => type.trim().toUpperCase()))
  .transform((types) => types.flatMap((type) => (type === 'MONITORS' ? monitorTypes : [type])))
  .refine((types) => types.every((type) => typesOfAgents.includes(type)), {
    error: `must be one or more of ${typesOfAgents.join(', ')}, or MONITORS, separated by commas`,
  });

/** What defaults may depend on. */
export interface Surroundings {
  readonly isTerminal: boolean;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly homeFolder: string;
  readonly stateFolder: string | undefined;
}

interface Setting {
  readonly schema: z.ZodType;
  readonly meaning: string;
  /** The text parsed when nothing is given; absent means the setting stays empty. */
  readonly fallback?: string | ((surroundings: Surroundings) => string);
  /** How the default reads where it depends on the machine. */
  readonly fallbackShown?: string;
}

const gigabyte = 1_000_000_000;

/** A browser run needs about 1.5 GB; more than ten at once share cores too thinly to time anything. */
function heavyPoolSize({ cores, memoryBytes }: Surroundings): string {
  const byMemory = Math.floor(memoryBytes / (1.5 * gigabyte));
  return String(Math.max(1, Math.min(cores, byMemory, 10)));
}

const settings = {
  API_KEY: {
    schema: secret,
    meaning: 'Key of the private location (its rawKey); `start` needs it',
  },
  CONTROL_PLANE_URL: {
    schema: z
      .string()
      .trim()
      .pipe(z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }))
      .refine((text) => !/[?#]/.test(text), {
        error: 'must be an address alone, without "?" and "#": the key goes into API_KEY',
      })
      // One form, by which agent and doctor can be compared; a login is not sent, and shown nowhere.
      .transform((text) => {
        const { protocol, host, pathname } = new URL(text);
        return `${protocol}//${host}${pathname}`.replace(/\/+$/, '');
      }),
    fallback: 'http://127.0.0.1:3000',
    meaning:
      'Where the control plane is; the only address that the agent itself needs; RUNTIME_POLICY=fetch also asks the registry of npm',
  },
  AGENT_HEALTH_PORT: {
    schema: wholeNumber(0, 65_535),
    fallback: '8081',
    meaning: 'Port of the health probes and of /metrics; 0 takes a free one',
  },
  AGENT_HEALTH_HOST: {
    schema: z.string().trim().min(1, { error: 'must be an address of this machine' }),
    fallback: '127.0.0.1',
    meaning:
      'Address the health probes and /metrics listen on; `::` is all interfaces, as in the images',
  },
  AGENT_DATA_DIR: {
    schema: z.string().min(1, { error: 'must be a folder' }),
    fallback: ({ stateFolder, homeFolder }) =>
      join(stateFolder ?? join(homeFolder, '.local', 'state'), 'monitor-agent'),
    fallbackShown: '`$XDG_STATE_HOME/monitor-agent` or `~/.local/state/monitor-agent`',
    meaning: 'Folder for results that wait and for the schedule; one agent each',
  },
  AGENT_CHECK_TYPES: {
    schema: checkTypeList,
    fallbackShown: 'all',
    meaning:
      'Types of checks that this agent takes, separated by commas; `MONITORS`, as in the uptime image, is all that run no code of customers',
  },
  LOG_LEVEL: {
    schema: oneOf(['DEBUG', 'LOG', 'INFO', 'WARN', 'ERROR'], 'upper'),
    fallback: 'INFO',
    meaning: 'Least severe level that is logged: DEBUG, LOG, INFO, WARN or ERROR; LOG means INFO',
  },
  LOG_FORMAT: {
    schema: oneOf(['json', 'plain'], 'lower'),
    fallback: ({ isTerminal }) => (isTerminal ? 'plain' : 'json'),
    fallbackShown: 'plain on a terminal, otherwise json',
    meaning: 'json, or plain for people',
  },
  JOB_CONCURRENCY: {
    schema: wholeNumber(1, 100),
    fallback: heavyPoolSize,
    fallbackShown: 'by cores and memory: 1 for each 1.5 GB, at most 10',
    meaning: 'Heavy runs (scripts, browsers) at once',
  },
  UPTIME_CONCURRENCY: {
    schema: wholeNumber(1, 10_000),
    fallback: '256',
    meaning: 'Light runs (monitors, and API checks without scripts) at once',
  },
  OUTBOX_MAX_BYTES: {
    schema: wholeNumber(65_536, 1_099_511_627_776),
    fallback: '268435456',
    meaning:
      'Room for results that wait for the control plane, in bytes; beyond it they keep only their verdicts, for which there are 4 MB more',
  },
  OUTBOX_MAX_AGE_HOURS: {
    schema: wholeNumber(1, 8_760),
    fallback: '24',
    meaning:
      'Results that waited longer keep only their verdicts, for seven times as long; counted',
  },
  DRAIN_TIMEOUT_SECONDS: {
    schema: wholeNumber(0, 3_600),
    // Kubernetes kills after 30 s by default: this leaves 5 s to submit results and say goodbye.
    fallback: '25',
    meaning:
      'How long handing over checks and ending runs may take after SIGTERM; keep it 5 s below the grace period outside',
  },
  AGENT_RUNTIMES_DIR: {
    schema: z.string().min(1, { error: 'must be a folder' }),
    fallback: ({ stateFolder, homeFolder }) =>
      join(stateFolder ?? join(homeFolder, '.local', 'state'), 'monitor-agent-runtimes'),
    fallbackShown:
      '`$XDG_STATE_HOME/monitor-agent-runtimes` or `~/.local/state/monitor-agent-runtimes`',
    meaning: 'Folder of the runtimes that scripts can use; see `monitor-agent runtime`',
  },
  RUNTIME_POLICY: {
    schema: oneOf(['fetch', 'substitute', 'strict'], 'lower'),
    fallback: 'fetch',
    meaning:
      'For a check whose runtime is missing: strict does not run it; substitute takes the packages of the agent and says so; fetch also installs it meanwhile',
  },
  AGENT_WORK_DIR: {
    schema: z.string().min(1, { error: 'must be a folder' }),
    // The folder for temporary files is one for all users of a machine.
    fallback: () => join(tmpdir(), `monitor-agent-runs-${process.getuid?.() ?? 'own'}`),
    fallbackShown: '`monitor-agent-runs-<user id>` in the folder for temporary files',
    meaning:
      'Folder for the files of runs, which are deleted after each; in a folder where all may write, it must belong to the user of the agent, or to root',
  },
  AGENT_CHROMIUM_PATH: {
    schema: z.string().min(1, { error: 'must be the path of a browser' }),
    fallbackShown: 'found by itself',
    meaning: 'Chromium, or its headless shell, for browser checks',
  },
  BROWSER_MODE: {
    schema: oneOf(['warm', 'cold'], 'lower'),
    fallback: 'warm',
    meaning:
      'warm keeps a browser open and gives each run a fresh context; cold starts one for each run',
  },
  SECRETS_IN_PICTURES: {
    schema: oneOf(picturePolicies, 'lower'),
    fallback: 'withhold',
    meaning:
      'withhold paints secrets over in pictures and films and withholds those in which one cannot be located; paint lets these leave; keep searches no picture',
  },
  SCRIPT_MEMORY_MB: {
    schema: wholeNumber(64, 1_048_576),
    fallback: '2764',
    meaning: 'Memory that one run of a script or browser may use; suites get 2.5 times as much',
  },
  SCRIPT_DISK_MB: {
    schema: wholeNumber(1, 1_048_576),
    fallback: '1024',
    meaning: 'Disk that one run of a script or browser may use; suites get four times as much',
  },
  SCRIPT_PROCESSES: {
    schema: wholeNumber(4, 100_000),
    fallback: '256',
    meaning: 'Processes that one run may have',
  },
  DEPENDENCY_CACHE: {
    // compatibility: CHECKLY_S3 is how existing deployments switch it on.
    schema: z.preprocess(
      (text) => (text === 'CHECKLY_S3' ? 'ON' : text),
      oneOf(['OFF', 'ON', 'LOCAL'], 'upper'),
    ),
    fallback: 'OFF',
    meaning: 'ON (or LOCAL) keeps the installed packages of Playwright suites in AGENT_DATA_DIR',
  },
  DEPENDENCY_CACHE_MAX_MB: {
    schema: wholeNumber(1, 1_048_576),
    fallback: '4096',
    meaning: 'Room for installed packages; those unused for longest go first, all after 30 days',
  },
  ARTIFACTS_MAX_BYTES: {
    schema: wholeNumber(1_048_576, 1_099_511_627_776),
    fallback: '2147483648',
    meaning: 'Room for files that wait for the control plane, in bytes; the oldest go first',
  },
  LLM_PROVIDER: {
    schema: oneOf(['openai', 'anthropic'], 'lower'),
    fallback: 'openai',
    meaning: 'Protocol of the language model for agentic checks: openai (compatible) or anthropic',
  },
  LLM_BASE_URL: {
    schema: z
      .string()
      .trim()
      .pipe(z.url({ protocol: /^https?$/, error: 'must be an http or https URL' })),
    fallbackShown: 'the public service of the provider',
    meaning: 'Where the language model is, up to and including `/v1`',
  },
  LLM_MODEL: {
    schema: z.string().trim().min(1, { error: 'must be the name of a model' }),
    meaning: 'Name of the language model; agentic checks need it',
  },
  LLM_API_KEY: {
    schema: secret,
    meaning: 'Key of the language model; stays on this machine',
  },
  LLM_MAX_TOKENS: {
    schema: wholeNumber(1, 100_000_000),
    fallback: '200000',
    meaning: 'Tokens that one run of an agentic check may use, in and out',
  },
  LLM_MAX_STEPS: {
    schema: wholeNumber(1, 1_000),
    fallback: '40',
    meaning: 'Actions that one run of an agentic check may take',
  },
  USE_OS_DNS_RESOLVER: {
    schema: flag('must be true or false'),
    fallback: 'false',
    meaning:
      'Resolve names of TCP targets through the operating system (hosts file, cluster names)',
  },
  PACKET_CAPTURE: {
    schema: flag('must be on or off'),
    fallback: 'on',
    meaning:
      'on keeps the headers of recent packets, where this process may see them, as evidence of failures',
  },
  PACKET_CAPTURE_BUFFER_MB: {
    schema: wholeNumber(1, 1_024),
    fallback: '32',
    meaning: 'Maximum memory for recent packets; it begins with 2 MB and grows as they come',
  },
  TRACEROUTE: {
    schema: flag('must be on or off'),
    fallback: 'on',
    meaning: 'on traces the way to targets that API and URL checks could not reach',
  },
  PROBE_ENDPOINT: {
    schema: flag('must be on or off'),
    fallback: 'off',
    meaning:
      'on serves /probe on AGENT_HEALTH_PORT, as Prometheus scrapes it; anyone who reaches the port can then probe from here',
  },
  PROBE_CONFIG_FILE: {
    schema: z.string().min(1, { error: 'must be the path of a file' }),
    fallbackShown: 'the common modules',
    meaning: 'File with the modules of /probe, in YAML',
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    schema: z
      .string()
      .trim()
      .pipe(z.url({ protocol: /^https?$/, error: 'must be an http or https URL' })),
    meaning: 'Where traces of runs are sent, by OTLP over HTTP; nothing is sent without it',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    schema: secret,
    meaning: 'Headers for it, as name=value separated by commas',
  },
  OTEL_SERVICE_NAME: {
    schema: z.string().trim().min(1, { error: 'must be a name' }),
    fallback: 'monitor-agent',
    meaning: 'Name of this agent in traces',
  },
  EXTERNAL_OBSERVABILITY: {
    schema: flag('must be on or off'),
    fallback: 'on',
    meaning: 'on sends counts of internal error codes to the control plane, off does not',
  },
  RESULT_ENCRYPTION_KEYS: {
    schema: publicKeys,
    meaning:
      'Public keys (rk1_…), separated by commas, for which results are encrypted; those of the control plane then count for nothing',
  },
  RESULTS_MAY_BECOME_READABLE: {
    schema: flag('must be on or off'),
    fallback: 'off',
    meaning:
      'on lets the control plane end the encryption of results; without it, an agent that has encrypted goes on to encrypt for the last recipients',
  },
  SIGNED_WORK_POLICY_FILE: {
    schema: z.string().min(1, { error: 'must be the path of a file' }),
    fallbackShown: 'all work is taken',
    meaning:
      'File with public keys and what work may do, in YAML or JSON; with it the agent runs only checks that one of these keys signed',
  },
  HTTPS_PROXY: {
    schema: proxy,
    meaning:
      'Proxy to an https control plane, http://user:password@host:port; checks do not use it',
  },
  HTTP_PROXY: {
    schema: proxy,
    meaning: 'Proxy to an http control plane; checks do not use it',
  },
  ALL_PROXY: {
    schema: proxy,
    meaning: 'Proxy where neither of the two before is set for the scheme',
  },
  NODE_EXTRA_CA_CERTS: {
    schema: z.string().min(1, { error: 'must be the path of a file' }),
    meaning: 'File with further certificate authorities in PEM; Node itself reads it at its start',
  },
  NO_PROXY: {
    schema: z.string(),
    meaning:
      'Hosts reached without a proxy: names (with all below), .names (only those below), addresses, networks such as 10.0.0.0/8, each also with :port, or *',
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof settings;
type Value<Name extends SettingName> = z.output<(typeof settings)[Name]['schema']>;
type SecretName = {
  [Name in SettingName]: Value<Name> extends Secret ? Name : never;
}[SettingName];
type WithFallback = {
  [Name in SettingName]: (typeof settings)[Name] extends { readonly fallback: unknown }
    ? Name
    : never;
}[SettingName];

export type AgentConfig = Readonly<
  { [Name in WithFallback]: Value<Name> } & {
    [Name in Exclude<SettingName, WithFallback>]?: Value<Name>;
  }
>;

/** A secret has no flag and may come from a file named by `NAME_FILE`. */
function isSecret(name: SettingName): boolean {
  return name in (secretSettings satisfies Record<SecretName, true>);
}

type Texts = Readonly<Record<string, string | undefined>>;

export interface ConfigSources {
  readonly environment: Texts;
  /** False where no control plane is needed, and none has to be named. */
  readonly isLinked?: boolean;
  /** Texts by setting name; they outrank the environment. */
  readonly flags?: Texts;
  readonly surroundings?: Surroundings;
  readonly readFile?: (path: string) => string;
}

export interface KeySource {
  /** `the file /run/secrets/key`, for messages. */
  readonly name: string;
  /** As it is there now. Throws where it cannot be read. */
  read(): string | undefined;
}

const entries = Object.entries(settings) as [SettingName, Setting][];

/** Common in lower case too; the lower-case form wins, as with curl. */
const lowerCaseAliases: readonly string[] = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'NO_PROXY'];

/** What this machine offers to defaults. */
export function surroundingsOf(environment: Texts): Surroundings {
  return {
    isTerminal: process.stdout.isTTY,
    cores: availableParallelism(),
    memoryBytes: Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY),
    homeFolder: homeFolder(),
    stateFolder: environment['XDG_STATE_HOME'] || undefined,
  };
}

/** `--control-plane-url` of CONTROL_PLANE_URL, `--api-key-file` of API_KEY. */
export function flagOf(name: SettingName): string {
  const kebab = name.toLowerCase().replaceAll('_', '-');
  return isSecret(name) ? `--${kebab}-file` : `--${kebab}`;
}

/** Name, flag, default and meaning of every setting. */
export function describeSettings(): {
  name: SettingName;
  flag: string;
  isSecret: boolean;
  default: string;
  meaning: string;
}[] {
  return entries.map(([name, { fallback, fallbackShown, meaning }]) => ({
    name,
    flag: flagOf(name),
    isSecret: isSecret(name),
    default: fallbackShown ?? (typeof fallback === 'string' ? fallback : ''),
    meaning,
  }));
}

function given(name: SettingName, sources: ConfigSources): string | undefined {
  const { flags = {}, environment } = sources;
  const lowerCase = lowerCaseAliases.includes(name) ? environment[name.toLowerCase()] : undefined;
  const text = flags[name] || lowerCase || environment[name];
  if (!isSecret(name)) return text || undefined;
  const file = fileOf(name, sources);
  if (text && file) {
    throw new Error(`is given twice: as ${name} and as ${name}_FILE; keep one of them`);
  }
  if (!file) return text || undefined;
  const read = sources.readFile ?? ((path: string) => readFileSync(path, 'utf8'));
  try {
    return read(file).trim();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`cannot be read from the file in ${name}_FILE: ${reason}`, { cause: error });
  }
}

function shown(text: string, name: SettingName): string {
  if (isSecret(name)) return `a value of ${text.length} characters`;
  // A login, or a token behind an address.
  const plain = text.replace(/\/\/[^/@\s]*@/, '//…@').replace(/(?<=:\/\/.*)([?#]).+/s, '$1…');
  return `"${plain}"`;
}

function fileOf(name: SettingName, { flags, environment }: ConfigSources): string | undefined {
  return isSecret(name)
    ? flags?.[`${name}_FILE`] || environment[`${name}_FILE`] || undefined
    : undefined;
}

/**
 * Parses flags and environment. Throws one CONFIG_INVALID that names every setting that is wrong,
 * what was given and what is allowed.
 */
export function readConfig(sources: ConfigSources): {
  config: AgentConfig;
  warnings: string[];
  /** Files that hold secrets; no run may see them. */
  secretFiles: string[];
  /** Where the key comes from, as given: it may have changed since. */
  keySource: KeySource;
} {
  const surroundings = sources.surroundings ?? surroundingsOf(sources.environment);
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [name, setting] of entries) {
    try {
      const { fallback } = setting;
      const text =
        given(name, sources) ??
        (typeof fallback === 'function' ? fallback(surroundings) : fallback);
      if (text === undefined) continue;
      const parsed = setting.schema.safeParse(text);
      if (parsed.success) values[name] = parsed.data;
      else {
        const file = fileOf(name, sources);
        const from = file === undefined ? '' : `, from the file ${file}`;
        problems.push(
          `${name} ${parsed.error.issues[0]?.message ?? 'is not valid'} (given: ${shown(text, name)}${from})`,
        );
      }
    } catch (error) {
      problems.push(`${name} ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (problems.length > 0) {
    throw new AgentError(
      'CONFIG_INVALID',
      `the configuration cannot be used:\n${problems.map((problem) => `  ${problem}`).join('\n')}\n` +
        'Correct these; "monitor-agent start --help" lists every setting.',
      { cause: problems },
    );
  }
  const config = Object.freeze(values) as AgentConfig;
  const isAssumed = sources.isLinked !== false && given('CONTROL_PLANE_URL', sources) === undefined;
  const keyFile = fileOf('API_KEY', sources);
  return {
    config,
    keySource: {
      name: keyFile ? `the file ${keyFile}` : 'API_KEY',
      read: () => given('API_KEY', sources),
    },
    warnings: [
      ...misspeltSettings(sources.environment, describeSettings()),
      ...(isAssumed ? [`CONTROL_PLANE_URL is not set: ${config.CONTROL_PLANE_URL} is used`] : []),
      ...addressRemarks(given('CONTROL_PLANE_URL', sources) ?? config.CONTROL_PLANE_URL),
      ...entriesOfNoHost(config.NO_PROXY ?? '').map(
        (entry) =>
          `NO_PROXY has "${entry}", which no host can match: names, .names, *.names, addresses and networks (10.0.0.0/8) may stand there, separated by commas`,
      ),
    ],
    secretFiles: entries.flatMap(([name]) => {
      const file = fileOf(name, sources);
      return file === undefined ? [] : [file];
    }),
  };
}

function addressRemarks(address: string): string[] {
  const { origin, username, password, pathname } = new URL(address.trim());
  return [
    ...(username + password === ''
      ? []
      : ['CONTROL_PLANE_URL has a login, which is not sent: remove it']),
    ...(/^\/(v1|api|console|docs)(\/|$)/.test(pathname)
      ? [
          `CONTROL_PLANE_URL ends with ${pathname}, to which the agent adds /v1/agent/…: set ${origin}`,
        ]
      : []),
  ];
}

/** The key, for commands that cannot do without. One that no control plane accepts is not tried at all. */
export function requireKey(config: AgentConfig, from = 'API_KEY'): Secret {
  const key = config.API_KEY?.reveal();
  const problem = key === undefined ? 'is missing' : keyProblem(key);
  if (config.API_KEY !== undefined && problem === null) return config.API_KEY;
  const which = from === 'API_KEY' ? '' : ` (${key?.length ?? 0} characters, from ${from})`;
  throw new AgentError(
    'CONFIG_INVALID',
    `the configuration cannot be used:\n  API_KEY${which} ${problem}\n` +
      'Create a key for the private location, then set API_KEY to its rawKey, or API_KEY_FILE to a file that holds it and nothing else.',
  );
}

/** The settings as a table in Markdown, for the guide. */
export function settingsTable(): string {
  const rows = describeSettings().map((row) => {
    const names = [row.name, ...(row.isSecret ? [`${row.name}_FILE`] : []), row.flag];
    const shown = names.map((name) => `\`${name}\``).join('<br>');
    return `| ${shown} | ${row.default === '' ? '–' : row.default} | ${row.meaning} |`;
  });
  return ['| Variable, and flag of `start` | Default | Meaning |', '|---|---|---|', ...rows].join(
    '\n',
  );
}
