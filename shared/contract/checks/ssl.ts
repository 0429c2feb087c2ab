/** SSL check: the handshake, the certificate and the protocol of a server that speaks TLS. spec: open */
import { z } from 'zod';
import {
  assertionSchema,
  maxAssertions,
  numberProblem,
  numericComparisons,
  type Assertion,
} from '../assertion.ts';
import {
  frequencies,
  inheritedFields,
  responseTimeLimits,
  scheduledCheckFields,
} from '../check.ts';
import { ipFamily } from '../primitives.ts';
import {
  agentMonitorTraits,
  checkBodies,
  hostAndPort,
  limitsInOrder,
  numberOrNull,
  textOrNull,
  type AgentCheckType,
  type ClientCertificateChoice,
  type Extract,
  type Measurement,
  type SourceReading,
  familyOf,
} from './check-type.ts';
import { figureOf, responseTimeAnalytics, type MetricDefinition } from './metric.ts';
import { securityBaseline, versionNumber } from './ssl-baseline.ts';

const txt = ['EQUALS', 'NOT_EQUALS', 'CONTAINS', 'NOT_CONTAINS'] as const;
const eq = ['EQUALS', 'NOT_EQUALS'] as const;
const ofList = ['CONTAINS', 'NOT_CONTAINS'] as const;
const flag = ['EQUALS'] as const;
const ofText = [...numericComparisons, ...ofList, 'IS_EMPTY', 'NOT_EMPTY'] as const;

const ofCertificate = {
  daysUntilExpiry: numericComparisons,
  keySizeBits: numericComparisons,
  subjectCN: txt,
  issuerCN: txt,
  serialNumber: eq,
  fingerprintSha256: eq,
  issuerFingerprintSha256: eq,
  keyAlgorithm: eq,
  signatureAlgorithm: eq,
  sans: ofList,
  selfSigned: flag,
  isCA: flag,
} as const;
const ofConnection = {
  tlsVersion: numericComparisons,
  cipherSuite: txt,
  resolvedIp: txt,
  hostnameVerified: flag,
  chainTrusted: flag,
  ocspStapled: flag,
  ocspStatus: eq,
} as const;

const flags = ['selfSigned', 'isCA', 'hostnameVerified', 'chainTrusted', 'ocspStapled'];
const statuses = ['good', 'revoked', 'unknown'];

function targetProblem(target: string, property: string): string | null {
  if (flags.includes(property)) {
    return ['true', 'false'].includes(target) ? null : 'must be true or false';
  }
  if (property === 'tlsVersion') {
    return versionNumber(target) === null ? 'must be a version such as TLS1.2' : null;
  }
  if (property === 'ocspStatus') {
    return statuses.includes(target) ? null : `must be one of ${statuses.join(', ')}`;
  }
  return ['daysUntilExpiry', 'keySizeBits'].includes(property) ? numberProblem(target) : null;
}

const assertion = assertionSchema([
  { source: 'CERTIFICATE', comparisons: eq, byProperty: ofCertificate, targetProblem },
  { source: 'CONNECTION', comparisons: eq, byProperty: ofConnection, targetProblem },
  {
    source: 'RESPONSE_TIME',
    comparisons: numericComparisons,
    properties: [''],
    targetProblem: numberProblem,
  },
  { source: 'JSON_RESPONSE', comparisons: [...ofText, 'IS_NULL', 'NOT_NULL'] },
  { source: 'TEXT_RESPONSE', comparisons: ofText },
]);

/** A host name or an IP address; IPv6 with or without brackets. */
const plainHost = /^(\[?[0-9a-f]*:[0-9a-f:.]*\]?|[a-z0-9_.\u0080-\uffff-]+)$/i;

/** The protocol in which TLS begins. */
export const startTls = z
  .enum(['SMTP', 'IMAP', 'POP3', 'FTP', 'LDAP', 'POSTGRES', 'MYSQL', 'XMPP'])
  .nullable()
  .exactOptional();
export type StartTls = NonNullable<z.output<typeof startTls>>;

const sslConfig = z
  .object({
    hostname: z
      .string()
      .min(1)
      .max(253)
      .regex(plainHost, 'must be a host name or an address, without scheme, port or path')
      .meta({ example: 'shop.example' }),
    port: z.int().min(1).max(65_535).default(443),
    ipFamily: ipFamily.default('IPv4'),
    /** Server name for the handshake and verification; by default `hostname`. */
    serverName: z
      .string()
      .max(253)
      .regex(plainHost, 'must be a host name or an address')
      .nullable()
      .default(null),
    startTls: startTls.meta({
      description: 'The protocol in which TLS begins; without it the connection begins with TLS',
    }),
    skipChainValidation: z.boolean().default(false),
    handshakeTimeoutMs: z.int().min(1000).max(30_000).default(10_000),
    alertDaysBeforeExpiry: z.int().min(1).max(365).default(20),
    clientCertificateMode: z.enum(['auto', 'explicit']).nullable().exactOptional(),
    securityBaseline: securityBaseline.prefault({}),
  })
  .meta({ id: 'SslConfig' });

export const sslRequest = z
  .object({
    sslConfig,
    /** Required by `clientCertificateMode: explicit`, otherwise unused. */
    sslClientCertificateId: z.string().min(1).max(64).nullable().exactOptional(),
    assertions: z.array(assertion).max(maxAssertions).default([]),
  })
  .superRefine(({ sslConfig: config, sslClientCertificateId: id }, context) => {
    if (config.clientCertificateMode === 'explicit' && id == null) {
      const message = 'is required when clientCertificateMode is explicit';
      context.addIssue({ code: 'custom', path: ['sslClientCertificateId'], message });
    }
  })
  .meta({ id: 'SslRequest' });
export type SslRequest = z.output<typeof sslRequest>;

type Response = Readonly<Record<string, unknown>>;

function sourceOf(
  { source, property, target }: Assertion,
  { response, responseTime }: Measurement,
  extract: Extract,
): SourceReading {
  const one = (actual: unknown) => ({ actual, isList: false });
  if (source === 'RESPONSE_TIME') return one(responseTime ?? undefined);
  if (source === 'JSON_RESPONSE') {
    return { actual: extract.byJsonPath(response, property || '$'), isList: true };
  }
  if (source === 'TEXT_RESPONSE') {
    return one(response === null ? undefined : extract.byRegex(JSON.stringify(response), property));
  }
  if (source === 'CERTIFICATE') {
    const certificate = response?.['certificate'] as Response | undefined;
    return one((property === 'daysUntilExpiry' ? response : certificate)?.[property]);
  }
  const version = property === 'tlsVersion' ? textOrNull(response?.['tlsVersion']) : null;
  if (version === null) return one(response?.[property]);
  const wanted = versionNumber(target);
  return {
    ...one(versionNumber(version) ?? undefined),
    ...{ shown: version, target: wanted === null ? target : String(wanted) },
  };
}

/** The most relevant problem of a certificate: its dates, then its name, then its chain. */
function certificateProblem(
  response: Response,
  skipsChain: boolean,
): { category: 'expired' | 'hostname' | 'chain'; reason: string } | null {
  const certificate = response['certificate'] as { notAfter: string; notBefore: string };
  const days = Number(response['daysUntilExpiry']);
  if (days < 0) {
    return { category: 'expired', reason: `the certificate expired on ${certificate.notAfter}` };
  }
  if (response['notYetValid'] === true) {
    const reason = `the certificate is not valid before ${certificate.notBefore}`;
    return { category: 'chain', reason };
  }
  if (response['hostnameVerified'] !== true) {
    const names = (certificate as { sans?: string[] }).sans ?? [];
    const none = 'the certificate has no alternative name, and browsers accept no other';
    const shown = `the certificate is for ${names.slice(0, 5).join(', ')}`;
    return { category: 'hostname', reason: names.length === 0 ? none : shown };
  }
  if (response['chainTrusted'] !== true && !skipsChain) {
    const reason = `the certificate chain is not trusted: ${String(response['chainProblem'])}`;
    return { category: 'chain', reason };
  }
  return null;
}

function skipsChainOf(request: unknown): boolean {
  const { sslConfig: config } = request as { sslConfig?: { skipChainValidation?: boolean } };
  return config?.skipChainValidation === true;
}

function brokenRules(report: unknown, severity: string): string | null {
  if (typeof report !== 'object' || report === null) return null;
  const broken = Object.entries(report).flatMap(([name, rule]: [string, unknown]) => {
    const { violated, severity: own } = (rule ?? {}) as { violated?: boolean; severity?: string };
    return violated === true && own === severity ? [name] : [];
  });
  return broken.length === 0 ? null : `the security baseline is violated: ${broken.join(', ')}`;
}

const failureCategories = ['dns', 'connect', 'timeout', 'handshake'] as const;

function failureCategory({
  failure,
  response,
  request,
}: Pick<Measurement, 'failure' | 'request' | 'response'>): string | null {
  if (failure !== null) {
    return failureCategories.find((category) => category === failure.phase) ?? 'connect';
  }
  if (response === null) return null;
  return certificateProblem(response, skipsChainOf(request))?.category ?? null;
}

/** Own metrics; their `storedAs` numbers follow the common ones. */
function own(
  storedAs: number,
  name: string,
  unit: MetricDefinition['unit'],
  label: string,
  ...place: string[]
): MetricDefinition {
  return { name, unit, label, place, storedAs };
}
const handshakeTime = own(
  ...([24, 'handshakeTimeMs', 'milliseconds', 'TLS handshake'] as const),
  ...['response', 'timingPhases', 'handshake'],
);
const daysLeft = own(25, 'daysUntilExpiry', 'count', 'Days until expiry', 'daysUntilExpiry');
const keySize = own(
  ...([26, 'keySizeBits', 'count', 'Key size in bits'] as const),
  ...['response', 'certificate', 'keySizeBits'],
);

function clientCertificates({ request }: { request?: unknown }): ClientCertificateChoice {
  const { sslConfig: config, sslClientCertificateId: id } = request as Partial<SslRequest>;
  const { clientCertificateMode: mode, hostname = '', port = 443 } = config ?? {};
  if (mode === 'explicit' && id != null) return { id };
  return mode === 'auto' ? { host: hostname, port } : 'none';
}

export const sslMonitor: AgentCheckType<SslRequest> = {
  pathPart: 'ssl',
  title: 'SSL monitor',
  label: 'SSL',
  target: '{request.sslConfig.hostname}:{request.sslConfig.port}',
  hostField: 'request.sslConfig.hostname',
  sample: { request: { sslConfig: { hostname: 'a.example' } } },
  ...checkBodies('SSL', {
    ...scheduledCheckFields,
    // Certificates change rarely, and a handshake is expensive for the server.
    frequency: z
      .literal(frequencies.filter((minutes) => minutes !== 0))
      .meta({ example: 10 })
      .default(10),
    ...responseTimeLimits(3000, 10_000, 30_000),
    ...inheritedFields,
    request: sslRequest,
  }),
  ...agentMonitorTraits,
  resultField: 'sslCheckResult',
  // A connection may take ten seconds, a handshake thirty.
  maxRunMs: 45_000,
  degradedBy: 'own-rules',
  hasNetworkEvidence: true,
  contradictionIn: limitsInOrder,
  clientCertificates,
  watchedServer({ request }) {
    const { sslConfig: config } = (request ?? {}) as Partial<SslRequest>;
    return config === undefined
      ? null
      : { host: config.hostname, port: config.port, serverName: config.serverName };
  },
  analytics: {
    ...responseTimeAnalytics,
    operation: { path: 'ssl', id: 'getSslAnalytics' },
    metrics: [handshakeTime, daysLeft, keySize],
    figures: [
      figureOf(handshakeTime),
      { prefix: 'daysUntilExpiry', base: daysLeft, statistics: ['avg'] },
    ],
    chart: { time: handshakeTime, parts: [daysLeft], isStacked: false },
  },
  address: {
    form: 'ssl://host[:port]',
    read(address) {
      if (!/^(ssl|tls):\/\//i.test(address)) return null;
      const place = hostAndPort(address.replace(/^tls:/i, 'ssl:'), 'ssl', 443);
      return place === null
        ? { problem: 'the host cannot be read' }
        : {
            request: {
              sslConfig: { hostname: place.host, port: place.port, ...familyOf(place.host) },
            },
          };
    },
  },
  trace({ request, response }) {
    const { hostname, port } = (request['sslConfig'] ?? {}) as Response;
    const times = (response?.['timings'] ?? {}) as Response;
    return {
      attributes: {
        'server.address': textOrNull(hostname),
        'server.port': numberOrNull(port),
        'network.transport': 'tcp',
        'tls.protocol.version': textOrNull(response?.['tlsVersion'])?.replace('TLS', '') ?? null,
        'tls.cipher': textOrNull(response?.['cipherSuite']),
      },
      phases: [
        ['dns', 0, times['lookup']],
        ['connect', times['lookup'], times['connect']],
        ['tls', times['connect'], times['handshake']],
      ],
    };
  },
  headline(seen) {
    const { response } = seen;
    const { verdict = null, grade = null } = (response?.['securityBaseline'] ?? {}) as Response;
    const ofResponse = (name: string) => response?.[name] ?? null;
    return {
      tlsVersion: ofResponse('tlsVersion'),
      cipherSuite: ofResponse('cipherSuite'),
      daysUntilExpiry: ofResponse('daysUntilExpiry'),
      handshakeTimeMs: ofResponse('handshakeTimeMs'),
      chainTrusted: ofResponse('chainTrusted'),
      hostnameVerified: ofResponse('hostnameVerified'),
      ...{ baselineVerdict: verdict, baselineGrade: grade },
      failureCategory: failureCategory(seen),
    };
  },
  judging: {
    hasResponseTimeLimits: true,
    areLimitsInclusive: true,
    readSource: sourceOf,
    ownVerdict({ response }, { request }) {
      const { skipChainValidation, alertDaysBeforeExpiry } = request.sslConfig;
      if (response === null) return { failed: null, degraded: null, isInvertible: true };
      const problem = certificateProblem(response, skipChainValidation);
      const baseline = response['securityBaseline'];
      const days = Number(response['daysUntilExpiry']);
      const first = textOrNull(response['expiresFirst']) ?? undefined;
      const expiry =
        days > alertDaysBeforeExpiry
          ? null
          : `the ${first === undefined ? 'certificate' : `intermediate certificate ${first}`} expires in ${days} day${days === 1 ? '' : 's'}`;
      return {
        failed: problem?.reason ?? brokenRules(baseline, 'fail'),
        degraded: expiry ?? brokenRules(baseline, 'degrade'),
        isInvertible: true,
      };
    },
  },
};
