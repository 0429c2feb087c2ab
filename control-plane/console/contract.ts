/** What the API takes and gives at the paths that the console calls. Types alone: not served. */
import type { ResultField } from '@monitor/shared/contract/check-result.ts';
import type { AnalyticsRoute } from '@monitor/shared/contract/analytics.ts';
import type { Assertion } from '@monitor/shared/contract/assertion.ts';
import type {
  commonCheckFields,
  responseOnlyCheckFields,
  responseTimeLimits,
  scheduledCheckFields,
} from '@monitor/shared/contract/check.ts';
import type { HeartbeatSettings } from '@monitor/shared/contract/checks/heartbeat.ts';
import type { CheckType } from '@monitor/shared/contract/checks/index.ts';
import type { BaselineReport } from '@monitor/shared/contract/checks/ssl-baseline.ts';
import type { routeGroups } from '@monitor/shared/contract/index.ts';
import type { HttpMethod, RouteOutput } from '@monitor/shared/contract/route.ts';
import type { z } from 'zod';
import type { Problem } from './api.js';
import type { checkTypes } from './facts.ts';

export type { CheckOverview } from '@monitor/shared/contract/check-overview.ts';

type ValueOf<T> = T[keyof T];
/** The resources that the console reads or changes; fewer are checked faster. */
type Resource =
  | 'account'
  | 'alert'
  | 'alertChannel'
  | 'alertDecision'
  | 'alertDelivery'
  | 'analytics'
  | 'artifact'
  | 'check'
  | 'checkOverview'
  | 'checkResult'
  | 'checkSession'
  | 'errorGroup'
  | 'fleet'
  | 'heartbeat'
  | 'incident'
  | 'maintenanceWindow'
  | 'openRun'
  | 'statusPage';
type Groups = { [Name in Resource]: ValueOf<(typeof routeGroups)[Name]> };
type AnyRoute = ValueOf<Groups> | AnalyticsRoute;

/** `/v1/checks/{id}` as it is called: `v1/checks/${string}`. */
type Called<Path extends string> = Path extends `/${infer Rest}` ? Filled<Rest> : never;
type Filled<Path extends string> = Path extends `${infer Before}{${string}}${infer After}`
  ? `${Before}${string}${Filled<After>}`
  : Path;

type RoutesOf<Method extends HttpMethod> = Extract<AnyRoute, { method: Method }>;
type PathIn<Route extends AnyRoute> = Route extends AnyRoute ? Called<Route['path']> : never;
export type PathOf<Method extends HttpMethod> = PathIn<RoutesOf<Method>>;

type Matching<Route extends AnyRoute, Path extends string> = Route extends AnyRoute
  ? [Path, Called<Route['path']>] extends [Called<Route['path']>, Path]
    ? Route
    : never
  : never;
type RouteAt<Method extends HttpMethod, Path extends string> = Matching<RoutesOf<Method>, Path>;

type DataOf<Route extends AnyRoute> = Route extends { operationId: 'getCheck' }
  ? Check
  : RouteOutput<Route>;
/** What the API answers at a path. */
export type DataAt<Path extends string, Method extends HttpMethod = 'GET'> = DataOf<
  RouteAt<Method, Path>
>;

type Parameter = string | number | boolean | null | undefined;
type Query<Route> = Route extends { query: infer Schema extends z.ZodType }
  ? { [Name in keyof z.output<Schema>]?: Parameter }
  : Record<string, never>;
type Body<Route> = Route extends { body: infer Schema extends z.ZodType }
  ? z.input<Schema>
  : undefined;

type Result = DataAt<`v1/check-results/${string}/${string}`>;
type Seen<Field extends ResultField> = NonNullable<Result[Field]>;
type Script =
  Seen<'browserCheckResult'> | Seen<'multiStepCheckResult'> | Seen<'playwrightCheckResult'>;
type KeyOfAny<Union> = Union extends unknown ? keyof Union : never;
type ValueOfAny<Union, Key> = Union extends unknown
  ? Key extends keyof Union
    ? Union[Key]
    : never
  : never;
/** What the run of a script saw; some fields only some types have. */
export type ScriptRun = Pick<Script, keyof Script> & {
  [Key in Exclude<KeyOfAny<Script>, keyof Script>]?: ValueOfAny<Script, Key>;
};
/** What agents write into the `request` of an exchange; which fields depends on the check type. */
interface ShownRequest {
  method?: string;
  url?: string;
  headers?: Headers;
  params?: Headers;
  data?: unknown;
  hostname?: string;
  port?: number;
  sslConfig?: { hostname: string; port: number };
  [further: string]: unknown;
}
type Headers = Record<string, string | string[]>;
interface Latency {
  avg: number;
  min: number;
  max: number;
}
/** A certificate as SSL checks show it. */
export interface ShownCertificate {
  subject: string;
  issuer: string;
  subjectCN: string;
  issuerCN: string;
  serialNumber: string;
  notBefore: string;
  notAfter: string;
  sans: string[];
  fingerprintSha256: string;
  signatureAlgorithm: string;
  keyAlgorithm: string;
  keySizeBits: number | null;
  selfSigned: boolean;
}
export interface ShownHop {
  hop_number: number;
  main_ip: string;
  main_host: string;
  sent: number;
  loss_percentage: number;
  rtt: Record<'last_ms' | 'avg_ms' | 'best_ms' | 'worst_ms' | 'stddev_ms', number | null> | null;
  note: string | null;
}
/** The `response` of an SSL check. */
export interface SslResponse {
  certificate: ShownCertificate;
  chain: ShownCertificate[];
  securityBaseline: (Pick<BaselineReport, 'verdict' | 'grade'> & BaselineReport['rules']) | null;
  daysUntilExpiry: number;
  hostnameVerified: boolean;
  chainTrusted: boolean;
  chainProblem: string | null;
  tlsVersion: string;
  cipherSuite: string;
  ocspStapled: boolean;
  ocspStatus: string | null;
}
/** The `response` of a traceroute monitor. */
export interface TracerouteResponse {
  hops: ShownHop[];
  truncationReason: string;
  totalHops: number;
  protocol: string;
  port: number;
  packetLoss: number;
  finalHopLatency?: Latency;
}
/** What agents write into the `response` of an exchange; which fields depends on the check type. */
export interface ShownResponse extends Partial<
  Omit<SslResponse, 'certificate'> & TracerouteResponse
> {
  status?: number;
  statusText?: string;
  headers?: Headers;
  body?: unknown;
  data?: unknown;
  answer?: unknown;
  truncated?: boolean;
  redirects?: unknown[];
  returnCode?: string;
  remoteAddress?: string | null;
  resolvedIp?: string;
  ipFamily?: string;
  latency?: Latency | null;
  pingResults?: { success: boolean; rtt: number | null }[];
  timingPhases?: Record<string, number>;
  certificate?: ShownCertificate | { issuer: string; validTo: string } | null;
  [further: string]: unknown;
}
/** What all check types of the shape of an API check have. */
export type Exchange = Omit<Seen<'apiCheckResult'>, 'request' | 'response'> & {
  request: ShownRequest;
  response: ShownResponse | null;
};

export type Analytics = DataAt<`v1/analytics/${string}/${string}`>;
export type TypeFacts = (typeof checkTypes)[string];
export type NumberFacts = NonNullable<TypeFacts['numbers']>;

/** A query of a view: its newest data, and the problem of its last attempt. */
export interface Read<Data> {
  data: Data | undefined;
  total: number | null;
  /** When the data came, in ms since the epoch. */
  at: number | null;
  problem: Problem | null;
  /** True before the first answer. */
  isLoading: boolean;
  reload: () => Promise<void>;
}

/** The answer to a call: `total` of a paged list, `etag` where the server sends one. */
export interface Answer<Data> {
  data: Data;
  total: number | null;
  etag: string | null;
}

export interface CallOptions<Method extends HttpMethod, Path extends string> {
  method?: Method;
  query?: Query<RouteAt<Method, Path>>;
  body?: Body<RouteAt<Method, Path>>;
  signal?: AbortSignal;
  /** An earlier answer, which is given again when nothing has changed. */
  known?: Answer<DataAt<Path, Method>> | undefined;
}

type Fields<Shape extends Record<string, z.ZodType>> = {
  [Name in keyof Shape]: z.output<Shape[Name]>;
};
/** A check of any type. The contract leaves its fields open, as each type has its own. */
export type Check = Fields<typeof commonCheckFields & typeof responseOnlyCheckFields> &
  Partial<Fields<typeof scheduledCheckFields & ReturnType<typeof responseTimeLimits>>> & {
    checkType: CheckType;
    request?: { assertions?: Assertion[] };
    heartbeat?: HeartbeatSettings & { pingUrl: string };
    script?: string | null;
    prompt?: string;
  };
