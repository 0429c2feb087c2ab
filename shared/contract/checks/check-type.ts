/**
 * What a check type is made of. A file beside this one defines each type; `index.ts` lists them.
 * Everything that differs between types stands in such a definition or in its runner, nowhere else.
 */
import { z } from 'zod';
import type { Assertion, EvaluatedAssertion } from '../assertion.ts';
import {
  commonCheckFields,
  inheritedFields,
  responseOnlyCheckFields,
  scheduledCheckFields,
} from '../check.ts';
import type { CheckType } from '../primitives.ts';

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

/** The parts of a stored check that its run depends on, besides schedule and retries. */
export interface CheckDefinition {
  request: Record<string, unknown> & { assertions: Assertion[] };
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

/** How results of a type are judged. Pure. Absent for types that never run in a location. */
export interface Judging {
  /** The value an assertion compares; undefined when the measurement has no such thing. */
  readSource(
    assertion: Assertion,
    measurement: Measurement,
    extract: Extract,
  ): { actual: unknown; isList: boolean };
  /** The type's own rules: an HTTP status of 400 or more, a packet loss, a response code. */
  ownVerdict(measurement: Measurement, definition: CheckDefinition): OwnVerdict;
  /** True when `degradedResponseTime` and `maxResponseTime` apply. */
  hasResponseTimeLimits: boolean;
  /**
   * True where another process than the agent takes the time: how long that one waited for a CPU is
   * not known.
   */
  isTimedElsewhere?: boolean;
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

/** One check type: its wire shape and the meaning of its measurements. */
export interface CheckTypeDefinition {
  type: CheckType;
  /** Path part of its routes: `/v1/checks/{pathPart}`. */
  pathPart: string;
  /** Tag and noun in the documentation. */
  title: string;
  /** Body of a creation: strict, with every default. */
  create: z.ZodObject;
  /** Body of an update: nothing required, no default applied. */
  update: z.ZodObject;
  response: z.ZodObject;
  /** The fields that make up its `CheckDefinition`: what a run needs besides schedule and retries. */
  definitionKeys: readonly string[];
  /** Null for types that wait rather than run (HEARTBEAT). */
  judging: Judging | null;
  /** The field of a result that holds what its runs saw. */
  resultField: ResultField;
  /** The variables its runs are given: all, or secrets alone, so that they can be removed. */
  variables: 'all' | 'secrets';
  /** False where failures are not followed by another attempt, whatever the strategy says. */
  isRetried: boolean;
  /** Ceiling of one attempt in milliseconds; reaching it fails the attempt. */
  longestRunMs: number;
  /** Whether its runs execute code of the customer that relies on a runtime. */
  runtime: 'always' | 'with-scripts' | 'never';
  /** Whether its runs drive the Chromium of the agent: those of a suite do when it names it. */
  browser: 'always' | 'as-named' | 'never';
  /**
   * How many characters of the body of a clean pass a result keeps. Absent: none, `body` is null.
   * Spec: Check result, `apiCheckResult.response`.
   */
  bodyOfPass?: number;
  /** Body of a creation as clients send it that leave out what the specification requires. */
  lenientCreate?: z.ZodObject;
}

/** Spec: Check result. `playwrightCheckResult` is newer. */
export type ResultField =
  | 'apiCheckResult'
  | 'browserCheckResult'
  | 'multiStepCheckResult'
  | 'playwrightCheckResult'
  | 'agenticCheckResult';

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

/** What monitors have in common: no variables of their own, no code. */
export const monitorTraits = {
  resultField: 'apiCheckResult',
  variables: 'secrets',
  isRetried: true,
  longestRunMs: 30_000,
  runtime: 'never',
  browser: 'never',
} as const;

/** True for a field that a type has only because all bodies have it: it means nothing to its runs. */
function isNoise(key: string, fields: AnyShape): boolean {
  return key in inheritedFields && fields[key] === (inheritedFields as AnyShape)[key];
}

/** Derives the bodies of a type from its fields. Common fields are added; `request` is replaced whole. */
export function checkBodies(type: CheckType, fields: AnyShape, responseFields: AnyShape = {}) {
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
