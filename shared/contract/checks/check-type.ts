/**
 * The definition of a check type. Each type has a file beside this one; `index.ts` lists them. All
 * differences between types are in their definition or their runner, nowhere else: the API, the
 * agent, the command line, traces, alerts, analytics, the console and the tests read them here.
 */
import { z } from 'zod';
import { type AnyShape, updateOf } from '../primitives.ts';
import type { Assertion, EvaluatedAssertion } from '../assertion.ts';
import {
  commonCheckFields,
  inheritedFields,
  responseOnlyCheckFields,
  scheduledCheckFields,
} from '../check.ts';
import type { ResultField } from '../check-result.ts';
import type { AnalyticsFacts } from './metric.ts';

/** Why a measurement could not be completed because of the target. */
export const failure = z.object({
  /** The phase of the failure: resolve, connect, tls, send, headers, body, answer. */
  phase: z.string(),
  /** Stable code: an errno (`ECONNREFUSED`), a TLS code (`CERT_HAS_EXPIRED`) or a code of this product. */
  code: z.string(),
  message: z.string(),
  /** True when the exchange failed in the network; see `onlyOn`. */
  isNetworkError: z.boolean(),
});
export type Failure = z.infer<typeof failure>;

/** What a runner measured. Times in milliseconds; `startedAt` and `stoppedAt` since the epoch. */
export interface Measurement {
  startedAt: number;
  stoppedAt: number;
  /** Duration of the exchange itself, fractional; null when nothing was timed. */
  responseTime: number | null;
  failure: Failure | null;
  /** The request for the result. */
  request: Record<string, unknown>;
  /** The response for the result and for assertions; null without one. */
  response: Record<string, unknown> | null;
  /** The whole body for assertions when `response.body` is only its beginning. Never stored. */
  wholeBody?: string;
  /** Why this is not all of the body, in words after "but"; absent where it is. */
  unread?: string;
  /** A failure after a completed exchange, such as a teardown script; assertions are evaluated too. */
  laterFailure?: Failure;
}

/** Every request of a monitor has assertions; its other fields depend on the type. */
export interface JudgedRequest {
  assertions: Assertion[];
}

/** The fields of a stored check that a run needs, besides schedule and retries. */
export interface CheckDefinition<Request extends JudgedRequest = JudgedRequest> {
  request: Request;
  shouldFail: boolean;
  degradedResponseTime: number | null;
  maxResponseTime: number | null;
  [further: string]: unknown;
}

/** The verdict of a type, before assertions and response time limits. */
export interface OwnVerdict {
  /** Why it failed; null if it did not. */
  failed: string | null;
  /** Why it is degraded; null if it is not. */
  degraded: string | null;
  /** True when `shouldFail` turns this failure into a pass. */
  isInvertible: boolean;
}

/** The values that an assertion compares. */
export interface SourceReading {
  actual: unknown;
  /** True when `actual` is a list whose values must all match. */
  isList: boolean;
  /** The target in its compared form, where that differs. */
  target?: string;
  /** The value for the result, instead of the compared one. */
  shown?: unknown;
  /** Why the evidence could not be read, in words after "but": then no comparison holds. */
  absent?: string | undefined;
}

/** The judging rules of a type. Pure. Absent for types that never run in a location. */
export interface Judging<Request extends JudgedRequest = JudgedRequest> {
  /** The value for an assertion; undefined when the measurement has none. */
  readSource(assertion: Assertion, measurement: Measurement, extract: Extract): SourceReading;
  /** The rules of the type: an HTTP status of 400 or more, packet loss, a response code. */
  ownVerdict(measurement: Measurement, definition: CheckDefinition<Request>): OwnVerdict;
  /** True when `degradedResponseTime` and `maxResponseTime` apply. */
  hasResponseTimeLimits: boolean;
  /** True when reaching a limit already exceeds it. */
  areLimitsInclusive?: boolean;
  /** True when customer code has time limits of its own, which its messages name. */
  isTimedByOtherProcess?: boolean;
  /** The measurement had the target taken `ms` less. Absent: only `responseTime` is shortened. */
  sooner?(measurement: Measurement, ms: number): Measurement;
}

/** Functions for reading sources, from `domain/assertions.ts`. */
export interface Extract {
  /** First capture group of the first match, or undefined. An empty pattern gives the whole text. */
  byRegex(text: string, pattern: string): string | undefined;
  /** The same in the text of each value; null has none. `length` is that of the whole text they come from. */
  byRegexInEach(
    values: readonly unknown[],
    pattern: string,
    length: number,
  ): (string | undefined)[];
  /** All values a JSONPath selects. */
  byJsonPath(document: unknown, path: string, length?: number): unknown[];
}

export type { EvaluatedAssertion };

/** The meaning of a command line URL for a type: the fields of its request, or a problem. */
export type AddressReading = { request: Record<string, unknown> } | { problem: string };

/** The URL form of a check for `monitor-agent run`. */
export interface CommandLineAddress {
  /** The form in the help: `tcp://host:port`. */
  form: string;
  /** Null for a URL of another type. */
  read(address: string): AddressReading | null;
}

/** An attempt in the details of a result. */
export interface SeenByAttempt {
  request: Readonly<Record<string, unknown>>;
  response: Readonly<Record<string, unknown>> | null;
  /** Duration in milliseconds. */
  durationMs: number;
}

/**
 * An attempt for tracing. Phases are milliseconds since its start; a phase without both ends is
 * left out.
 */
export interface TraceFacts {
  attributes: Record<string, string | number | null>;
  phases: [name: string, from: unknown, to: unknown][];
}

/** The client certificates for a run. */
export type ClientCertificateChoice =
  | 'none'
  /** All certificates, for scripts that may connect to any host; the gateway of the agent chooses. */
  | 'all'
  /** Those for the host of a URL; all of them when a template names the host. */
  | { url: string }
  | { host: string; port: number }
  | { id: string };

/** A server whose certificate is read once an hour. */
export interface WatchedServer {
  host: string;
  port: number;
  /** Server name for the handshake, if it is not the host. */
  serverName?: string | null;
}

/** Fields of a stored check with the settings of its group. */
export type CheckFields = Readonly<Record<string, unknown>>;

/** Why fields that are valid by themselves do not go together. */
export interface Contradiction {
  field: string;
  problem: string;
}

/** Fields of all check types. */
interface CommonDefinition {
  type: string;
  /** Path segment of its routes: `/v1/checks/{pathPart}`. */
  pathPart: string;
  /** Name in the documentation: `TCP monitor`. */
  title: string;
  /** Short name for lists: `TCP`. */
  label: string;
  /** Target in one line: a template with paths into the check, such as `{request.url}`. */
  target: string;
  /** A sample body without a name, for tests and documentation. */
  sample: Record<string, unknown>;
  /** Body of a create request: strict, with defaults. */
  create: z.ZodObject;
  /** Body of an update request: everything optional, without defaults. */
  update: z.ZodObject;
  response: z.ZodObject;
  /** The fields of its `CheckDefinition`: what a run needs besides schedule and retries. */
  definitionKeys: readonly string[];
  /** The result field with its details. */
  resultField: ResultField;
  analytics: AnalyticsFacts;
  /** Variables for its runs: all, or only secrets, which are removed from results. */
  variables: 'all' | 'secrets';
  /** False when failures are never retried, whatever the strategy says. */
  isRetried: boolean;
  /** Into how many parts a run is divided for the agents of a location; absent for types of one. */
  shardsOf?(fields: Readonly<Record<string, unknown>>): number;
  /** Timeout of one attempt in milliseconds; reaching it fails the attempt. */
  maxRunMs: number;
  /** Whether its runs execute customer code that depends on a runtime. */
  runtime: 'always' | 'with-scripts' | 'never';
  /** Whether its runs use the Chromium of the agent; suites do when they name it. */
  browser: 'always' | 'as-named' | 'never';
  /** The field with a host alone; absent for types that ask a URL, or no single host. */
  hostField?: string;
  /** Finds fields that contradict each other; null for none. A promise where it loads what it needs. */
  contradictionIn?(fields: CheckFields): Contradiction | null | Promise<Contradiction | null>;
  clientCertificates(fields: CheckFields): ClientCertificateChoice;
  /** The server whose certificate is also watched, for checks that connect over TLS. */
  watchedServer(fields: CheckFields): WatchedServer | null;
  /** Why a result is degraded: only its response time, or rules that put a reason into the result. */
  degradedBy: 'response-time' | 'own-rules';
  /**
   * Stored characters of the response body on success. Absent: none, `body` is null. Spec: Check
   * result, `apiCheckResult.response`.
   */
  storedBodyLimit?: number;
  /** Create body with the fields that the specification requires and existing clients leave out. */
  strictCreate?: z.ZodObject;
}

/** A check type that runs on agents. */
export interface AgentCheckType<
  Request extends JudgedRequest = JudgedRequest,
> extends CommonDefinition {
  runsOn: 'agents';
  judging: Judging<Request>;
  /** Null for types that only a file can describe. */
  address: CommandLineAddress | null;
  /** Null when HTTP requests and steps are all that a trace shows. */
  trace: ((seen: SeenByAttempt) => TraceFacts) | null;
  /** Whether network failures are captured and traced. */
  hasNetworkEvidence: boolean;
  /** Socket rights of its runs beyond ordinary sockets. */
  sockets: 'ordinary' | 'icmp' | 'tracer';
  /** Whether a run learns a script for later runs. */
  learnsScripts: boolean;
  /** Summary fields of its result besides `request` and `response`. */
  headline?(seen: Pick<Measurement, 'request' | 'response' | 'failure'>): Record<string, unknown>;
}

/** A check type that receives pings on the control plane. */
export interface PingedCheckType extends CommonDefinition {
  runsOn: 'control-plane';
  judging: null;
}

/** One check type: its wire shape, its judging rules, and the facts for every surface. */
export type CheckTypeDefinition<Request extends JudgedRequest = JudgedRequest> =
  AgentCheckType<Request> | PingedCheckType;

/** Common traits of monitors: no variables, no code, no further TLS connection. */
export const monitorTraits = {
  resultField: 'apiCheckResult',
  variables: 'secrets',
  isRetried: true,
  maxRunMs: 30_000,
  runtime: 'never',
  browser: 'never',
  clientCertificates: () => 'none' as const,
  watchedServer: () => null,
} as const;

/** Common traits of monitors that agents run. */
export const agentMonitorTraits = {
  ...monitorTraits,
  runsOn: 'agents',
  degradedBy: 'response-time',
  hasNetworkEvidence: false,
  sockets: 'ordinary',
  learnsScripts: false,
} as const;

/** A degraded limit above the maximum would never apply. */
export function limitsInOrder({
  degradedResponseTime: degraded,
  maxResponseTime: max,
}: CheckFields): Contradiction | null {
  if (typeof degraded !== 'number' || typeof max !== 'number' || degraded <= max) return null;
  return { field: 'degradedResponseTime', problem: `must not be above maxResponseTime (${max})` };
}

/** The URL of an HTTP check decides about server and client certificates. */
export const httpCertificates = {
  clientCertificates({ request }: CheckFields) {
    const { url } = request as { url?: unknown };
    return typeof url === 'string' ? { url } : ('none' as const);
  },
  watchedServer({ request }: CheckFields) {
    const { url } = (request ?? {}) as { url?: unknown };
    if (typeof url !== 'string' || !/^https:\/\/[^/?#{]+([/?#]|$)/i.test(url)) return null;
    if (!URL.canParse(url)) return null;
    const { hostname, port } = new URL(url);
    return { host: hostname, port: port === '' ? 443 : Number(port) };
  },
};

/** A title within a sentence: `Browser check` becomes `browser check`; `TCP monitor` and names stay. */
export function inSentence(title: string): string {
  return /^(?!Playwright)[A-Z][a-z-]/.test(title)
    ? title.charAt(0).toLowerCase() + title.slice(1)
    : title;
}

export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

export function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

/** An address of IPv6 as it stands in brackets: its zone follows `%`, or `%25` as in a URL. */
export const zoned = (address: string): string => address.replace(/%25(?=.)/, '%');

/** For an address of IPv6 there is no family to choose; a name has the usual one. */
export const familyOf = (host: string): { ipFamily?: 'IPv6' } =>
  host.includes(':') ? { ipFamily: 'IPv6' } : {};

/** A host or an address of IPv6 in brackets, then a port, as in `tcp://[::1]:5432`. */
export function hostAndPort(
  address: string,
  scheme: string,
  defaultPort?: number,
): { host: string; port: number } | null {
  const match = /^([a-z]+):\/\/(?:\[([^\]]+)\]|([^:/[\]]+))(?::(\d+))?\/?$/i.exec(address);
  const port = match?.[4] === undefined ? defaultPort : Number(match[4]);
  const host = match?.[2] === undefined ? match?.[3] : zoned(match[2]);
  if (match?.[1]?.toLowerCase() !== scheme || host === undefined || port === undefined) return null;
  return { host, port };
}

/** True for a field that has no meaning for the runs of a type. */
function isNoise(key: string, fields: AnyShape): boolean {
  return key in inheritedFields && fields[key] === (inheritedFields as AnyShape)[key];
}

/**
 * Derives the bodies of a type from its fields. Common fields are added; `request` is replaced as a
 * whole.
 */
export function checkBodies(type: string, fields: AnyShape, responseFields: AnyShape = {}) {
  const shape: AnyShape = { ...commonCheckFields, ...fields };
  const definitionKeys = Object.keys(fields).filter(
    (key) =>
      key === 'shouldFail' ||
      !(key in scheduledCheckFields || key === 'environmentVariables' || isNoise(key, fields)),
  );
  return {
    type,
    definitionKeys,
    create: z.object(shape),
    update: updateOf(shape),
    response: z
      .object({
        ...shape,
        ...responseFields,
        ...responseOnlyCheckFields,
        checkType: z.literal(type),
      })
      .meta({ id: `${type.charAt(0)}${type.slice(1).toLowerCase()}Check` }),
  };
}
