/**
 * The modules of `/probe`, in the format of the blackbox exporter. What it knows and we do not is
 * recognised and named, so that nobody believes a setting that has no effect; what neither knows is a
 * mistake in the file.
 */
import { RE2JS } from 're2js';
import { z } from 'zod';

const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** `5s`, `1m30s`: as Prometheus writes durations. In milliseconds. */
const duration = z
  .union([z.string(), z.number()])
  .transform(String)
  .refine((text) => /^(0|(\d+(ms|[smhd]))+)$/.test(text), 'must be a duration such as 5s')
  .transform((text) =>
    [...text.matchAll(/(\d+)(ms|[smhd])/g)].reduce(
      (sum, [, count, unit]) => sum + Number(count) * (units[unit ?? ''] ?? 0),
      0,
    ),
  );

/** Patterns are of RE2 on both sides: linear in what a target sends. */
const pattern = z.string().transform((text, context) => {
  try {
    return RE2JS.compile(text);
  } catch (error) {
    context.addIssue(`is no pattern: ${error instanceof Error ? error.message : String(error)}`);
    return z.NEVER;
  }
});

const size = z
  .union([z.string(), z.number()])
  .transform(String)
  .refine((text) => /^\d+(B|[KMGT]i?B)?$/.test(text), 'must be a size such as 10MB')
  .transform((text) => {
    const [, count, unit = 'B'] = /^(\d+)(\w+)?$/.exec(text) ?? [];
    // As there: KB is 1024 bytes, like KiB.
    return Number(count) * 1024 ** 'BKMGT'.indexOf(unit[0] ?? 'B');
  });

const protocol = z.enum(['ip4', 'ip6']);
const file = z.string().min(1);

/** Marks keys of the format that this agent does not support. */
const notSupported = (...keys: readonly string[]) =>
  Object.fromEntries(keys.map((key) => [key, z.unknown().optional()]));

const tlsConfig = z.strictObject({
  insecure_skip_verify: z.boolean().default(false),
  ca_file: file.optional(),
  cert_file: file.optional(),
  key_file: file.optional(),
  server_name: z.string().optional(),
  ...notSupported('min_version', 'max_version', 'ca', 'cert', 'key'),
});

const addressing = {
  preferred_ip_protocol: protocol.default('ip6'),
  ip_protocol_fallback: z.boolean().default(true),
};

const headerMatch = z.strictObject({
  header: z.string().min(1),
  regexp: pattern,
  allow_missing: z.boolean().default(false),
});

const httpUnsupported = [
  'oauth2',
  'proxy_from_environment',
  'proxy_connect_header',
  'no_proxy',
  'skip_resolve_phase_with_proxy',
  'fail_if_body_json_matches_cel',
  'fail_if_body_json_not_matches_cel',
];

const http = z.strictObject({
  ...addressing,
  valid_status_codes: z.array(z.int()).default([]),
  valid_http_versions: z.array(z.string()).default([]),
  method: z.string().default('GET'),
  headers: z.record(z.string(), z.string()).default({}),
  compression: z.string().default(''),
  body: z.string().optional(),
  body_file: file.optional(),
  body_size_limit: size.default(0),
  follow_redirects: z.boolean().optional(),
  no_follow_redirects: z.boolean().optional(),
  fail_if_ssl: z.boolean().default(false),
  fail_if_not_ssl: z.boolean().default(false),
  fail_if_body_matches_regexp: z.array(pattern).default([]),
  fail_if_body_not_matches_regexp: z.array(pattern).default([]),
  fail_if_header_matches: z.array(headerMatch).default([]),
  fail_if_header_not_matches: z.array(headerMatch).default([]),
  basic_auth: z
    .strictObject({
      username: z.string().default(''),
      password: z.string().optional(),
      password_file: file.optional(),
      ...notSupported('username_file'),
    })
    .optional(),
  bearer_token: z.string().optional(),
  bearer_token_file: file.optional(),
  authorization: z
    .strictObject({
      type: z.string().default('Bearer'),
      credentials: z.string().optional(),
      credentials_file: file.optional(),
    })
    .optional(),
  tls_config: tlsConfig.optional(),
  proxy_url: z.string().optional(),
  // Off, a module that accepts HTTP/2 alone fails.
  enable_http2: z.boolean().optional(),
  ...notSupported(...httpUnsupported),
});

const tcp = z.strictObject({
  ...addressing,
  query_response: z
    .array(
      z.strictObject({
        expect: pattern.optional(),
        send: z.string().default(''),
        starttls: z.boolean().default(false),
        ...notSupported('expect_bytes', 'labels'),
      }),
    )
    .default([]),
  tls: z.boolean().default(false),
  tls_config: tlsConfig.optional(),
  ...notSupported('source_ip_address'),
});

const recordTypes = [
  ...['A', 'AAAA', 'ANY', 'CNAME', 'MX', 'TXT', 'SOA', 'NS', 'HTTPS', 'SRV', 'PTR', 'CAA'],
  ...['DS', 'DNSKEY', 'TLSA', 'NAPTR'],
] as const;

const records = z.strictObject({
  fail_if_matches_regexp: z.array(pattern).default([]),
  fail_if_all_match_regexp: z.array(pattern).default([]),
  fail_if_not_matches_regexp: z.array(pattern).default([]),
  fail_if_none_matches_regexp: z.array(pattern).default([]),
});

const dns = z.strictObject({
  ...addressing,
  transport_protocol: z.enum(['udp', 'tcp']).default('udp'),
  query_name: z.string().min(1),
  query_type: z.enum(recordTypes).default('ANY'),
  query_class: z.enum(['IN'], { error: 'only IN is supported' }).default('IN'),
  recursion_desired: z.boolean().default(true),
  valid_rcodes: z.array(z.string()).default([]),
  validate_answer_rrs: records.optional(),
  validate_authority_rrs: records.optional(),
  ...notSupported('source_ip_address', 'dns_over_tls', 'tls_config', 'validate_additional_rrs'),
});

const icmp = z.strictObject({
  ...addressing,
  ...notSupported('source_ip_address', 'payload_size', 'dont_fragment', 'ttl'),
});

const timeout = { timeout: duration.default(0) };

export type HttpModule = z.output<typeof http>;
export type TcpModule = z.output<typeof tcp>;
export type DnsModule = z.output<typeof dns>;
export type IcmpModule = z.output<typeof icmp>;
export type TlsSettings = z.output<typeof tlsConfig>;

/** `timeoutMs` of 0 leaves it to the scraper. */
export type ProbeModule = { timeoutMs: number } & (
  | { prober: 'http'; http: HttpModule }
  | { prober: 'tcp'; tcp: TcpModule }
  | { prober: 'dns'; dns: DnsModule }
  | { prober: 'icmp'; icmp: IcmpModule }
);

/** A module that this agent cannot run, and why. */
export interface UnusableModule {
  unusable: string;
}

/** What a module may have besides the settings of its prober; those of others have no effect. */
const outline = z.strictObject({
  prober: z.enum(['http', 'tcp', 'dns', 'icmp', 'grpc', 'unix', 'websocket'], {
    error: 'must be http, tcp, dns or icmp',
  }),
  ...timeout,
  http: z.unknown().optional(),
  tcp: z.unknown().optional(),
  dns: z.unknown().optional(),
  icmp: z.unknown().optional(),
  grpc: z.unknown().optional(),
  unix: z.unknown().optional(),
  websocket: z.unknown().optional(),
});

const file_ = z.strictObject({ modules: z.record(z.string(), z.unknown()) });

const unsupported: Readonly<Record<'http' | 'tcp' | 'dns' | 'icmp', readonly string[]>> = {
  http: [
    ...httpUnsupported,
    ...['min_version', 'max_version', 'ca', 'cert', 'key'].map((key) => `tls_config.${key}`),
    'basic_auth.username_file',
  ],
  tcp: [
    ...['source_ip_address', 'query_response.*.labels', 'query_response.*.expect_bytes'],
    ...['min_version', 'max_version', 'ca', 'cert', 'key'].map((key) => `tls_config.${key}`),
  ],
  dns: ['source_ip_address', 'dns_over_tls', 'validate_additional_rrs'],
  icmp: ['source_ip_address', 'payload_size', 'dont_fragment', 'ttl'],
};

/** The values at a path, in which `*` stands for each of a list. */
function valuesAt(value: unknown, path: readonly string[]): unknown[] {
  const [key, ...rest] = path;
  if (key === undefined) return [value];
  if (typeof value !== 'object' || value === null) return [];
  if (key === '*') return Object.values(value).flatMap((each) => valuesAt(each, rest));
  return valuesAt((value as Record<string, unknown>)[key], rest);
}

/** Set to what it means anyway. */
function isWithoutEffect(value: unknown): boolean {
  return value === undefined || value === false || value === null || value === '';
}

function issuesOf(error: z.ZodError, at: string): string {
  return error.issues
    .map((issue) => `${[at, ...issue.path.map(String)].join('.')}: ${issue.message}`)
    .join('; ');
}

/** Reads one module. Throws with every key that is wrong. */
export function parseModule(name: string, raw: unknown): ProbeModule | UnusableModule {
  const at = `modules.${name}`;
  const parsed = outline.safeParse(raw);
  if (!parsed.success) throw new Error(issuesOf(parsed.error, at));
  const { prober, timeout: timeoutMs } = parsed.data;
  if (prober === 'grpc' || prober === 'unix' || prober === 'websocket') {
    return { unusable: `prober ${prober} is not supported by this agent` };
  }
  const settings: unknown = parsed.data[prober] ?? {};
  const key = unsupported[prober].find((path) =>
    valuesAt(settings, path.split('.')).some((value) => !isWithoutEffect(value)),
  );
  if (key !== undefined) {
    return { unusable: `${prober}.${key} is not supported by this agent` };
  }
  const read = <T>(schema: z.ZodType<T>): T => {
    const inner = schema.safeParse(settings);
    if (!inner.success) throw new Error(issuesOf(inner.error, `${at}.${prober}`));
    return inner.data;
  };
  switch (prober) {
    case 'http':
      return { timeoutMs, prober, http: read(http) };
    case 'tcp':
      return { timeoutMs, prober, tcp: read(tcp) };
    case 'dns':
      return { timeoutMs, prober, dns: read(dns) };
    case 'icmp':
      return { timeoutMs, prober, icmp: read(icmp) };
  }
}

/** Reads all modules of a file. Throws with the first that is wrong. */
export function parseModules(raw: unknown): Map<string, ProbeModule | UnusableModule> {
  const parsed = file_.safeParse(raw);
  if (!parsed.success) throw new Error(issuesOf(parsed.error, 'the file'));
  return new Map(
    Object.entries(parsed.data.modules).map(([name, module]) => [name, parseModule(name, module)]),
  );
}
