/** gRPC monitor: the health of a server, or a call of one of its methods. spec: open */
import { z } from 'zod';
import {
  assertionSchema,
  comparison,
  maxAssertions,
  numberProblem,
  numericComparisons,
  type Assertion,
} from '../assertion.ts';
import { inheritedFields, responseTimeLimits, scheduledCheckFields } from '../check.ts';
import { bareHost, ipFamily, keyValuePair, listOf, type KeyValuePair } from '../primitives.ts';
import { maxProtoLength } from '../../grpc/proto-file.ts';
import { messageProblem } from '../../grpc/called-method.ts';
import {
  agentMonitorTraits,
  checkBodies,
  hostAndPort,
  limitsInOrder,
  numberOrNull,
  textOrNull,
  type AddressReading,
  type AgentCheckType,
  type ClientCertificateChoice,
  type Extract,
  type Measurement,
  type SourceReading,
  familyOf,
} from './check-type.ts';
import { figureOf, metrics, responseTimeAnalytics, type MetricDefinition } from './metric.ts';
import { readJson, readText } from './parsed-text.ts';

/** Codes of `grpc-status`, by number. */
export const statusCodes = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;
/** Statuses of the health checking protocol, by number. */
export const healthStatuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const;

const template = '{{';
const all = comparison.options as ['EQUALS'];

const assertion = assertionSchema([
  { source: 'RESPONSE_TIME', comparisons: numericComparisons, targetProblem: numberProblem },
  {
    source: 'GRPC_STATUS_CODE',
    comparisons: numericComparisons,
    targetProblem: (target) =>
      /^\d+$/.test(target) && Number(target) < statusCodes.length
        ? null
        : 'must be a status code from 0 to 16',
  },
  {
    source: 'GRPC_HEALTHCHECK_STATUS',
    comparisons: ['EQUALS', 'NOT_EQUALS'],
    targetProblem: (target) =>
      /^[0-3]$/.test(target) || healthStatuses.some((status) => status === target)
        ? null
        : `must be a number from 0 to 3, or one of ${healthStatuses.join(', ')}`,
  },
  { source: 'GRPC_RESPONSE', comparisons: all },
  { source: 'TEXT_BODY', comparisons: all },
  { source: 'GRPC_METADATA', comparisons: all },
]);

/** Names that HTTP/2 and gRPC use themselves. */
const reservedKeys =
  /^(grpc-.*|content-type|content-length|te|host|connection|keep-alive|proxy-connection|transfer-encoding|upgrade)$/;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2,3}={0,2})?$/;

/** What is wrong with a metadata entry whose templates are complete; null for nothing. */
export function metadataProblem(key: string, value: string): string | null {
  if (reservedKeys.test(key)) return `"${key}" is set by gRPC itself`;
  if (!/^[a-z0-9_.-]+$/.test(key)) {
    return `"${key.slice(0, 100)}" may have letters, digits, "_", "-" and "." only`;
  }
  if (key.endsWith('-bin')) return base64.test(value) ? null : `"${key}" must be base64`;
  return /^[\x20-\x7e]*$/.test(value) ? null : `"${key}" must be printable ASCII`;
}

const metadataEntry = keyValuePair
  .transform(({ key, ...rest }) => ({ key: key.toLowerCase(), ...rest }))
  .superRefine(({ key, value }, context) => {
    const problem = metadataProblem(key, value.includes(template) ? '' : value);
    if (problem !== null) context.addIssue({ code: 'custom', path: ['key'], message: problem });
  });

const ofBehavior = ['method', 'protoContent', 'message'] as const;
const methodPattern = /^\/?[A-Za-z_][\w.]*\/[A-Za-z_]\w*$/;

/** Without the fields of the other mode, and with every default. */
interface StoredConfig {
  mode: 'BEHAVIOR' | 'HEALTH';
  tls: boolean;
  authority?: string;
  metadata: KeyValuePair[];
  storeResponseBody: boolean;
  encoding: 'PROTOBUF';
  method?: string;
  serviceDefinition?: 'REFLECTION' | 'PROTO_FILE';
  protoContent?: string;
  message?: string;
  service?: string;
}

/** A host, perhaps with a port. */
export const authorityPattern = /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i;

const grpcConfig = z
  .object({
    mode: z.enum(['BEHAVIOR', 'HEALTH']).default('BEHAVIOR').meta({
      description: 'BEHAVIOR calls a method, HEALTH asks by the health checking protocol',
    }),
    tls: z.boolean().default(true),
    authority: z
      .string()
      .max(300)
      .refine((text) => text === '' || text.includes(template) || authorityPattern.test(text), {
        message: 'must be a host, or a host and a port',
      })
      .exactOptional()
      .meta({
        description:
          'Instead of host and port of the check in `:authority`; its host is the server name of TLS. Empty: those of the check',
        example: 'shop.example',
      }),
    metadata: listOf(metadataEntry, 50),
    storeResponseBody: z
      .boolean()
      .default(true)
      .meta({ description: 'Whether results hold the response message' }),
    encoding: z.literal('PROTOBUF').default('PROTOBUF'),
    method: z.string().max(500).exactOptional().meta({
      description:
        'Required by BEHAVIOR: `package.Service/Method`, with one request. Of a stream of responses the message is the list',
      example: 'shop.v1.Orders/Get',
    }),
    serviceDefinition: z
      .enum(['REFLECTION', 'PROTO_FILE'])
      .exactOptional()
      .meta({ description: 'Where types come from; by default the server, by reflection' }),
    protoContent: z
      .string()
      .max(maxProtoLength)
      .exactOptional()
      .meta({ description: 'Text of the `.proto` file, required by PROTO_FILE' }),
    message: z
      .string()
      .max(262_144)
      .exactOptional()
      .meta({ description: 'The request message as JSON; by default empty' }),
    service: z
      .string()
      .max(500)
      .exactOptional()
      .meta({ description: 'For HEALTH; empty asks about the whole server' }),
  })
  .transform((config, context): StoredConfig => {
    const { method, serviceDefinition = 'REFLECTION', protoContent, message, service } = config;
    const { mode, tls, metadata, storeResponseBody, encoding } = config;
    const ofHost = config.authority === undefined ? {} : { authority: config.authority };
    const common = { mode, tls, ...ofHost, metadata, storeResponseBody, encoding };
    const refuse = (field: string, problem: string): never => {
      context.addIssue({ code: 'custom', path: [field], message: problem });
      return z.NEVER;
    };
    if (mode === 'HEALTH') {
      const given = ofBehavior.find((field) => (config[field] ?? '') !== '');
      if (given !== undefined) return refuse(given, 'must be empty where mode is HEALTH');
      return { ...common, service: service ?? '' };
    }
    if ((service ?? '') !== '') return refuse('service', 'must be empty where mode is BEHAVIOR');
    if (method === undefined) return refuse('method', 'is required where mode is BEHAVIOR');
    if (!methodPattern.test(method)) {
      return refuse('method', 'must be package.Service/Method');
    }
    const isFile = serviceDefinition === 'PROTO_FILE';
    if (isFile && (protoContent ?? '') === '') {
      return refuse('protoContent', 'is required where serviceDefinition is PROTO_FILE');
    }
    const called = { ...common, method, serviceDefinition, message: message ?? '' };
    return isFile ? { ...called, protoContent: protoContent ?? '' } : called;
  })
  .meta({ id: 'GrpcConfig', example: { mode: 'HEALTH', service: 'shop.v1.Orders' } });

export const grpcRequest = z
  .object({
    /** A host name or an IP address, despite the name. */
    url: bareHost(2048).meta({
      description: 'Host name or address, without scheme and port',
      example: 'orders.internal',
    }),
    port: z
      .union([
        z.int().min(1).max(65_535),
        z
          .string()
          .max(1024)
          .regex(/^(\d{1,5}|.*\{\{.*)$/, 'must be a port, or a template such as {{PORT}}'),
      ])
      .meta({ example: 50_051 }),
    ipFamily: ipFamily.default('IPv4'),
    skipSSL: z.boolean().default(false),
    timeout: z
      .int()
      .min(1)
      .max(180)
      .default(60)
      .meta({ description: 'Seconds for connection, reflection and call' }),
    grpcConfig,
    assertions: listOf(assertion, maxAssertions),
  })
  .transform((request) => ({
    ...request,
    assertions: request.assertions.map((one) => {
      const status = healthStatuses.findIndex((name) => name === one.target);
      const isLabel = one.source === 'GRPC_HEALTHCHECK_STATUS' && status >= 0;
      return isLabel ? { ...one, target: String(status) } : one;
    }),
  }))
  .meta({ id: 'GrpcRequest' });
export type GrpcRequest = z.output<typeof grpcRequest>;
export type GrpcConfig = GrpcRequest['grpcConfig'];

type Response = Readonly<Record<string, unknown>>;

/** The response message as text, also where results do not hold all of it. */
function messageOf({ wholeBody, response }: Measurement) {
  return { text: wholeBody ?? response?.['responseMessage'], what: 'response message' };
}

function metadataOf(response: Response | null, name: string): string | undefined {
  const entries = (response?.['metadata'] ?? []) as { key: string; value: string }[];
  const found = entries.filter(({ key }) => key === name.toLowerCase());
  return found.length === 0 ? undefined : found.map(({ value }) => value).join(', ');
}

function sourceOf(assertion: Assertion, measurement: Measurement, extract: Extract): SourceReading {
  const { source, property, regex } = assertion;
  const { response, responseTime } = measurement;
  const one = (actual: unknown) => ({ actual: actual ?? undefined, isList: false });
  const message = messageOf(measurement);
  switch (source) {
    case 'RESPONSE_TIME':
      return one(responseTime);
    case 'GRPC_STATUS_CODE':
      return one(response?.['grpcStatusCode']);
    case 'GRPC_HEALTHCHECK_STATUS':
      return one(response?.['healthStatus']);
    case 'GRPC_RESPONSE':
      return readJson(assertion, measurement, message, extract);
    case 'TEXT_BODY':
      return readText(assertion, measurement, message, extract);
    default: {
      const value = metadataOf(response, property);
      return one(value === undefined ? undefined : extract.byRegex(value, regex ?? ''));
    }
  }
}

/** `NOT_FOUND (5)`, with the words of the server. */
function statusText({ grpcStatusCode: code, grpcStatusMessage: message }: Response): string {
  const name = `${statusCodes[Number(code)] ?? 'status'} (${String(code)})`;
  return typeof message === 'string' && message !== '' ? `${name}: ${message}` : name;
}

const notFound = 5;
const unimplemented = 12;

/** Why a completed call fails by itself; null where an assertion judges it, or nothing is wrong. */
function problemOf(response: Response, { grpcConfig: config, assertions }: GrpcRequest) {
  const judges = (source: string) => assertions.some((one) => one.source === source);
  const isHealth = config.mode === 'HEALTH';
  const health = response['healthStatus'];
  const code = Number(response['grpcStatusCode']);
  const isUnknownService = isHealth && code === notFound;
  if (code !== 0 && !isUnknownService && !judges('GRPC_STATUS_CODE')) {
    return isHealth && code === unimplemented
      ? `the server has no health service: it answered ${statusText(response)}`
      : `the server answered ${statusText(response)}`;
  }
  if (!isHealth || health === 1 || judges('GRPC_HEALTHCHECK_STATUS')) return null;
  if (typeof health !== 'number') return null;
  const service = config.service || 'the server';
  return `${service} is ${healthStatuses[health] ?? `in health status ${health}`}`;
}

const connect: MetricDefinition = {
  ...{ name: 'connect', unit: 'milliseconds', label: 'Connection and call', storedAs: 32 },
  place: ['response', 'timingPhases', 'connect'],
};
const { dns, total } = metrics;

/** `grpc://host:port[/service]` without TLS, and `grpcs://` with it: asks for the health. */
function readAddress(address: string): AddressReading | null {
  const match = /^(grpcs?):\/\/([^/]+)(?:\/(.*))?$/i.exec(address);
  if (match === null)
    return /^grpcs?:\/\//i.test(address) ? { problem: 'the host is missing' } : null;
  const [, scheme = '', authority = '', service = ''] = match;
  const place = hostAndPort(`grpc://${authority}`, 'grpc');
  if (place === null) return { problem: 'the port is missing' };
  const tls = scheme.toLowerCase() === 'grpcs';
  const reach = { url: place.host, port: place.port, ...familyOf(place.host) };
  try {
    const grpcConfig = { mode: 'HEALTH', tls, service: decodeURIComponent(service) };
    return { request: { ...reach, grpcConfig } };
  } catch {
    return { problem: 'the service has a % that escapes nothing' };
  }
}

function clientCertificates({ request }: { request?: unknown }): ClientCertificateChoice {
  const { url = '', port = 443, grpcConfig: config } = (request ?? {}) as Partial<GrpcRequest>;
  if (config?.tls !== true) return 'none';
  if (url.includes(template) || String(port).includes(template)) return 'all';
  return { host: url.replace(/^\[|\]$/g, ''), port: Number(port) };
}

export const grpcMonitor: AgentCheckType<GrpcRequest> = {
  pathPart: 'grpc',
  title: 'gRPC monitor',
  label: 'gRPC',
  target: '{request.url}:{request.port}',
  hostField: 'request.url',
  sample: {
    request: { url: 'a.example', port: 443, grpcConfig: { mode: 'HEALTH' } },
  },
  ...checkBodies('GRPC', {
    ...scheduledCheckFields,
    ...responseTimeLimits(10_000, 20_000, 180_000),
    ...inheritedFields,
    request: grpcRequest,
  }),
  ...agentMonitorTraits,
  resultField: 'grpcCheckResult',
  // A call may take three minutes; names are resolved before it.
  maxRunMs: 200_000,
  variables: 'all',
  hasNetworkEvidence: true,
  async contradictionIn(fields) {
    const { grpcConfig: config } = fields['request'] as GrpcRequest;
    const problem = config.mode === 'HEALTH' ? null : await messageProblem(config);
    return problem === null
      ? limitsInOrder(fields)
      : { field: `request.grpcConfig.${problem.field}`, problem: problem.problem };
  },
  clientCertificates,
  watchedServer({ request }) {
    const { url, port, grpcConfig: config } = (request ?? {}) as Partial<GrpcRequest>;
    if (url === undefined || config?.tls !== true) return null;
    const isKnown = !url.includes(template) && !String(port).includes(template);
    return isKnown ? { host: url, port: Number(port) } : null;
  },
  analytics: {
    ...responseTimeAnalytics,
    operation: { path: 'grpc-checks', id: 'getGrpcCheckAnalytics' },
    metrics: [total, dns, connect],
    figures: [figureOf(total)],
    chart: { time: total, parts: [dns, connect], isStacked: true },
  },
  address: { form: 'grpc://host:port[/service]', read: readAddress },
  trace({ request, response }) {
    const { dns: lookedUp, total: ended } = (response?.['timingPhases'] ?? {}) as Response;
    const [service, method] = String(response?.['grpcMethod'] ?? '').split('/');
    return {
      attributes: {
        'server.address': textOrNull(request['url']),
        'server.port': numberOrNull(request['port']),
        'network.transport': 'tcp',
        'rpc.system': 'grpc',
        'rpc.service': service || null,
        'rpc.method': method ?? null,
        'rpc.grpc.status_code': numberOrNull(response?.['grpcStatusCode']),
      },
      phases: [
        ['dns', 0, lookedUp],
        ['call', lookedUp, ended],
      ],
    };
  },
  headline({ response }) {
    const of = (name: string) => response?.[name] ?? null;
    return {
      grpcStatusCode: of('grpcStatusCode'),
      healthStatus: of('healthStatus'),
      timingPhases: of('timingPhases'),
    };
  },
  judging: {
    hasResponseTimeLimits: true,
    readSource: sourceOf,
    ownVerdict: ({ response }, { request }) => ({
      failed: response === null ? null : problemOf(response, request),
      degraded: null,
      isInvertible: true,
    }),
  },
};
