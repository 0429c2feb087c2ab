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
import type { ShownRequest, ShownResponse } from '@monitor/shared/contract/shown-exchange.ts';
import type { routeGroups } from '@monitor/shared/contract/index.ts';
import type { HttpMethod, RouteOutput } from '@monitor/shared/contract/route.ts';
import type { z } from 'zod';
import type { Problem } from './problem.ts';
import type { checkTypes } from './facts.ts';

export type { CheckOverview } from '@monitor/shared/contract/check-overview.ts';

type ValueOf<T> = T[keyof T];
/** The resources that the console reads or changes; fewer are checked faster. */
type Resource =
  | 'account'
  | 'alert'
  | 'alertChannel'
  | 'alertDecision'
  | 'alertAcknowledgement'
  | 'alertDelivery'
  | 'alertOverview'
  | 'analytics'
  | 'apiKey'
  | 'artifact'
  | 'audit'
  | 'baseline'
  | 'check'
  | 'checkGroup'
  | 'checkOverview'
  | 'checkEvent'
  | 'checkResult'
  | 'checkSession'
  | 'checkTrial'
  | 'deletion'
  | 'device'
  | 'clientCertificate'
  | 'errorGroup'
  | 'escalationPolicy'
  | 'fileImport'
  | 'fleet'
  | 'heartbeat'
  | 'incident'
  | 'incidentDraft'
  | 'invitation'
  | 'maintenanceWindow'
  | 'openRun'
  | 'passkey'
  | 'person'
  | 'privateLocation'
  | 'profile'
  | 'rootCause'
  | 'schedulePreview'
  | 'service'
  | 'snippet'
  | 'statusPage'
  | 'testSession'
  | 'variable';
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

type Value = string | number | boolean | null | undefined;
/** A list is sent as one parameter for each of its values. */
type Parameter = Value | readonly Value[];
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
  /** True while the data is that of an earlier question. */
  isOld: boolean;
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
    quarantinedTests?: { test: string; until: string }[];
  };
