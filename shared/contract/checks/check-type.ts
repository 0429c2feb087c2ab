/**
 * What a check type is made of. A file beside this one defines each type; `index.ts` lists them.
 * Everything that differs between types stands in such a definition or in its runner, nowhere else: the
 * API, the agent, the command line, traces, alerts, analytics, the console and the tests read it here.
 */
import { z } from 'zod';
import type { Assertion, EvaluatedAssertion } from '../assertion.ts';
import {
  commonCheckFields,
  inheritedFields,
  responseOnlyCheckFields,
  scheduledCheckFields,
} from '../check.ts';
import type { ResultField } from '../check-result.ts';
import type { AnalyticsFacts } from './metric.ts';

/** Why a measurement could not be completed, when the cause lies with the target. */
export const failure = z.object({
  /** Where it stopped: resolve, connect, tls, send, headers, body, answer. */
  phase: z.string(),
  /** Stable code: an errno (`ECONNREFUSED`), a TLS code (`CERT_HAS_EXPIRED`) or one of ours. */
  code: z.string(),
  message: z.string(),
  /** True when the network refused, lost or never carried the exchange; see `onlyOn`. */
  isNetworkError: z.boolean(),
});
export type Failure = z.infer<typeof failure>;

/** What a runner observed. Times in milliseconds; `startedAt` and `stoppedAt` since the epoch. */
export interface Measurement {
  startedAt: number;
  stoppedAt: number;
  /** Time of the exchange itself, fractional; null when nothing could be timed. */
  responseTime: number | null;
  failure: Failure | null;
  /** What was asked, as the result shows it. */
  request: Record<string, unknown>;
  /** What came back, as the result shows it and as assertions read it; null when nothing did. */
  response: Record<string, unknown> | null;
  /** The agent was too busy to time this well. */
  underLoad: boolean;
  /** All of the body, for assertions, where `response.body` is its beginning. Never stored. */
  wholeBody?: string;
  /** What failed behind a completed exchange, such as a teardown script; assertions are judged too. */
  laterFailure?: Failure;
}

/** Every request of a monitor has assertions; what else it has differs. */
export interface JudgedRequest {
  assertions: Assertion[];
}

/** The parts of a stored check that its run depends on, besides schedule and retries. */
export interface CheckDefinition<Request extends JudgedRequest = JudgedRequest> {
  request: Request;
  shouldFail: boolean;
  degradedResponseTime: number | null;
  maxResponseTime: number | null;
  [further: string]: unknown;
}

/** What a type itself says of a measurement, before assertions and response time limits. */
export interface OwnVerdict {
  /** Why it failed, or null. */
  failed: string | null;
  /** Why it is degraded, or null. */
  degraded: string | null;
  /** True when `shouldFail` turns this failure into a pass. */
  isInvertible: boolean;
}

/** What an assertion compares. */
export interface SourceReading {
  actual: unknown;
  /** True where `actual` is a list of values that must all hold. */
  isList: boolean;
  /** The target as it is compared, where that is not as it is written. */
  target?: string;
  /** What a result shows in place of the compared value. */
  shown?: unknown;
}

/** How results of a type are judged. Pure. Absent for types that never run in a location. */
export interface Judging<Request extends JudgedRequest = JudgedRequest> {
  /** The value an assertion compares; undefined when the measurement has no such thing. */
  readSource(assertion: Assertion, measurement: Measurement, extract: Extract): SourceReading;
  /** The type's own rules: an HTTP status of 400 or more, a packet loss, a response code. */
  ownVerdict(measurement: Measurement, definition: CheckDefinition<Request>): OwnVerdict;
  /** True when `degradedResponseTime` and `maxResponseTime` apply. */
  hasResponseTimeLimits: boolean;
  /** True where a limit is already exceeded at its value. */
  areLimitsInclusive?: boolean;
  /**
   * True where another process than the agent takes the time: how long that one waited for a CPU is
   * not known.
   */
  isTimedByOtherProcess?: boolean;
  /** The measurement as it would be with `ms` less. Absent: only its `responseTime` is shorter. */
  sooner?(measurement: Measurement, ms: number): Measurement;
}

/** Tools that reading a source may need; given by `domain/assertions.ts`. */
export interface Extract {
  /** First capture group of the first match, or undefined. An empty pattern gives the whole text. */
  byRegex(text: string, pattern: string): string | undefined;
  /** All values a JSONPath selects. */
  byJsonPath(document: unknown, path: string): unknown[];
}

export type { EvaluatedAssertion };

/** What an address on the command line means for a type: the fields of its request, or why there are none. */
export type AddressReading = { request: Record<string, unknown> } | { problem: string };

/** How `monitor-agent run` takes a check of the type as an address. */
export interface CommandLineAddress {
  /** As the help shows it: `tcp://host:port`. */
  form: string;
  /** Null for an address of another type. */
  read(address: string): AddressReading | null;
}

/** What the details of a result show of an attempt. */
export interface SeenByAttempt {
  request: Readonly<Record<string, unknown>>;
  response: Readonly<Record<string, unknown>> | null;
  /** From its start to its end, in milliseconds. */
  durationMs: number;
}

/** An attempt in a trace. Phases are milliseconds since its start; one without both ends is left out. */
export interface TraceFacts {
  attributes: Record<string, string | number | null>;
  phases: [name: string, from: unknown, to: unknown][];
}

/** Which client certificates a run is given. */
export type ClientCertificateChoice =
  | 'none'
  /** Of scripts, which may go anywhere: what leaves the agent chooses. */
  | 'all'
  /** Those for the host of an http address; all of them where a template names the host. */
  | { url: string }
  | { host: string; port: number }
  | { id: string };

/** A server whose certificate is read once an hour. */
export interface WatchedServer {
  host: string;
  port: number;
  /** What is asked for in place of the host. */
  serverName?: string | null;
}

/** Fields of a stored check with the settings of its group. */
export type CheckFields = Readonly<Record<string, unknown>>;

/** What all check types have. */
interface CommonDefinition {
  type: string;
  /** Path part of its routes: `/v1/checks/{pathPart}`. */
  pathPart: string;
  /** Tag and noun in the documentation: `TCP monitor`. */
  title: string;
  /** In lists: `TCP`. */
  label: string;
  /** What it looks at, in a line: a text with paths into the check in braces, as `{request.url}`. */
  target: string;
  /** Body of a creation, without its name: for tests and documents. */
  sample: Record<string, unknown>;
  /** Body of a creation: strict, with every default. */
  create: z.ZodObject;
  /** Body of an update: nothing required, no default applied. */
  update: z.ZodObject;
  response: z.ZodObject;
  /** The fields that make up its `CheckDefinition`: what a run needs besides schedule and retries. */
  definitionKeys: readonly string[];
  /** The field of a result that holds what its runs saw. */
  resultField: ResultField;
  analytics: AnalyticsFacts;
  /** The variables its runs are given: all, or secrets alone, so that they can be removed. */
  variables: 'all' | 'secrets';
  /** False where failures are not followed by another attempt, whatever the strategy says. */
  isRetried: boolean;
  /** Ceiling of one attempt in milliseconds; reaching it fails the attempt. */
  maxRunMs: number;
  /** Whether its runs execute code of the customer that relies on a runtime. */
  runtime: 'always' | 'with-scripts' | 'never';
  /** Whether its runs drive the Chromium of the agent: those of a suite do when it names it. */
  browser: 'always' | 'as-named' | 'never';
  /** What fields that are good each by itself contradict in each other; null for nothing. */
  contradictionIn?(fields: CheckFields): { field: string; problem: string } | null;
  clientCertificates(fields: CheckFields): ClientCertificateChoice;
  /** The server whose certificate is watched besides, for checks that connect to one over TLS. */
  watchedServer(fields: CheckFields): WatchedServer | null;
  /** Why a result of it is degraded: its time alone, or rules that put their reason into the result. */
  degradedBy: 'response-time' | 'own-rules';
  /**
   * How many characters of the body of a clean pass a result keeps. Absent: none, `body` is null.
   * Spec: Check result, `apiCheckResult.response`.
   */
  storedBodyLimit?: number;
  /** Body of a creation as clients send it that leave out what the specification requires. */
  lenientCreate?: z.ZodObject;
}

/** A check type that agents run. */
export interface AgentCheckType<
  Request extends JudgedRequest = JudgedRequest,
> extends CommonDefinition {
  runsOn: 'agents';
  judging: Judging<Request>;
  /** Null where a file is the only way to describe one. */
  address: CommandLineAddress | null;
  /** Null where the HTTP requests and the steps of a run are all there is to show. */
  trace: ((seen: SeenByAttempt) => TraceFacts) | null;
  /** Whether failures in the network are captured and traced. */
  hasNetworkEvidence: boolean;
  /** What its runs need of the kernel besides sockets that every process may open. */
  sockets: 'ordinary' | 'icmp' | 'tracer';
  /** Whether a run leaves a script that the next runs can use. */
  learnsScripts: boolean;
  /** Fields of its result beside `request` and `response`, which clients read without looking into these. */
  headline?(seen: Pick<Measurement, 'request' | 'response' | 'failure'>): Record<string, unknown>;
}

/** A check type that waits for pings on the control plane. */
export interface PingedCheckType extends CommonDefinition {
  runsOn: 'control-plane';
  judging: null;
}

/** One check type: its wire shape, the meaning of its measurements, and what every surface shows of it. */
export type CheckTypeDefinition<Request extends JudgedRequest = JudgedRequest> =
  AgentCheckType<Request> | PingedCheckType;

export type AnyShape = Record<string, z.ZodType>;

type WithoutDefault<S extends z.ZodType> =
  S extends z.ZodDefault<infer Inner extends z.ZodType>
    ? Inner
    : S extends z.ZodPrefault<infer Inner extends z.ZodType>
      ? Inner
      : S;

/** `.default()` and `.prefault()` removed: in an update, absent means untouched. */
function withoutDefault(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault
    ? (schema.unwrap() as z.ZodType)
    : schema;
}

/** The body of a change: nothing required, no default applied. */
export function updateOf<Shape extends AnyShape>(shape: Shape) {
  const fields = Object.entries(shape).map(([key, schema]) => [
    key,
    z.exactOptional(withoutDefault(schema)),
  ]);
  return z.object(
    Object.fromEntries(fields) as {
      [Key in keyof Shape]: z.ZodExactOptional<WithoutDefault<Shape[Key]>>;
    },
  );
}

/** What monitors have in common: no variables of their own, no code, no other connection over TLS. */
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

/** What monitors that agents run have in common. */
export const agentMonitorTraits = {
  ...monitorTraits,
  runsOn: 'agents',
  degradedBy: 'response-time',
  hasNetworkEvidence: false,
  sockets: 'ordinary',
  learnsScripts: false,
} as const;

/** A check that is degraded only after it has failed is never degraded. */
export function limitsInOrder({
  degradedResponseTime: degraded,
  maxResponseTime: max,
}: CheckFields): { field: string; problem: string } | null {
  if (typeof degraded !== 'number' || typeof max !== 'number' || degraded <= max) return null;
  return { field: 'degradedResponseTime', problem: `must not be above maxResponseTime (${max})` };
}

/** The address of an HTTP check decides about certificates of both ends. */
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

/** A title within a sentence: `Browser check` becomes `browser check`, `TCP monitor` stays. */
export function inSentence(title: string): string {
  return /^[A-Z]([a-z-])/.test(title) ? title.charAt(0).toLowerCase() + title.slice(1) : title;
}

export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

export function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

/** A host or an address of IPv6 in brackets, then a port, as in `tcp://[::1]:5432`. */
export function hostAndPort(
  address: string,
  scheme: string,
  defaultPort?: number,
): { host: string; port: number } | null {
  const match = /^([a-z]+):\/\/(?:\[([^\]]+)\]|([^:/[\]]+))(?::(\d+))?\/?$/i.exec(address);
  const port = match?.[4] === undefined ? defaultPort : Number(match[4]);
  const host = match?.[2] ?? match?.[3];
  if (match?.[1]?.toLowerCase() !== scheme || host === undefined || port === undefined) return null;
  return { host, port };
}

/** True for a field that a type has only because all bodies have it: it means nothing to its runs. */
function isNoise(key: string, fields: AnyShape): boolean {
  return key in inheritedFields && fields[key] === (inheritedFields as AnyShape)[key];
}

/** Derives the bodies of a type from its fields. Common fields are added; `request` is replaced whole. */
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
