/** What results are made of, and what runs of each kind saw. Spec: Check result. */
import { z } from 'zod';
import { evaluatedAssertion } from './assertion.ts';
import { timestamp } from './primitives.ts';

export const resultType = z.enum(['FINAL', 'ATTEMPT']);

/** What a file of a result is. */
export const artifactType = z.enum([
  'log',
  'trace',
  'video',
  'screenshot',
  'pcap',
  'report',
  'file',
]);
export type ArtifactType = z.infer<typeof artifactType>;

/**
 * How a result refers to one of its own files until it is read: the control plane puts an expiring
 * link in its place. A whole string, so text that merely contains it is left alone.
 */
export function artifactReference(name: string): string {
  return `artifact:${name}`;
}

export const jobLogLine = z.object({
  time: z.number().meta({ description: 'Milliseconds since the epoch' }),
  msg: z.string(),
  level: z.string(),
});

/** All probes of a traceroute that were sent to one distance. Times are milliseconds, null without an answer. */
const tracerouteHop = z.object({
  /** Distance from the agent; the first router is 1. */
  hop: z.int().min(1),
  /** Who answered from there, the most frequent first; empty where nobody did. */
  addresses: z.array(z.string()),
  sent: z.int(),
  received: z.int(),
  lossPercent: z.number().min(0).max(100),
  last: z.number().nullable(),
  avg: z.number().nullable(),
  best: z.number().nullable(),
  worst: z.number().nullable(),
  stdDev: z.number().nullable(),
  isTarget: z.boolean(),
  /** What else the answer said, such as `administratively prohibited`. */
  note: z.string().nullable(),
});
export type TracerouteHop = z.output<typeof tracerouteHop>;

export const tracerouteReport = z
  .object({
    /** `tcp` connects to the port of the target, `udp` sends to high ports, `icmp` echo requests. */
    method: z.enum(['tcp', 'udp', 'icmp']),
    address: z.string(),
    port: z.int().nullable(),
    ipFamily: z.enum(['IPv4', 'IPv6']),
    startedAt: z.number().meta({ description: 'Milliseconds since the epoch' }),
    durationMs: z.number(),
    /** Whether the target itself answered. */
    isReached: z.boolean(),
    hops: z.array(tracerouteHop),
  })
  .meta({ id: 'Traceroute' });
export type TracerouteReport = z.output<typeof tracerouteReport>;

/**
 * Evidence of a failure in the network. `capture` says what was kept of the failing connection: its
 * packets (the file behind `pcapDataUrl`), or, without the right to capture, only what its socket saw.
 */
export const networkDiagnostics = z
  .object({
    capture: z.object({
      kind: z.enum(['packets', 'events']),
      /** Packets in the file; 0 for `events`. */
      packets: z.int().min(0),
      /** Why there are no packets, and what would give them; null where there are. */
      missing: z.string().nullable(),
    }),
    /** What the socket saw, in order. `at` is milliseconds since the start of the attempt. */
    events: z.array(z.object({ at: z.number(), phase: z.string(), event: z.string() })),
    traceroute: tracerouteReport.nullable(),
    /** Why there is no traceroute; null where there is one. */
    tracerouteMissing: z.string().nullable(),
  })
  .meta({ id: 'NetworkDiagnostics' });
export type NetworkDiagnostics = z.output<typeof networkDiagnostics>;

/**
 * What one attempt saw. All monitors use this shape: `response` is the HTTP response of a URL
 * monitor, the answer of a name server, the echo replies of an ICMP monitor.
 */
export const apiCheckResult = z
  .object({
    assertions: z.array(evaluatedAssertion),
    request: z.record(z.string(), z.unknown()),
    response: z.record(z.string(), z.unknown()).nullable(),
    requestError: z.string().nullable(),
    jobLog: z.object({
      setup: z.array(jobLogLine),
      request: z.array(jobLogLine),
      teardown: z.array(jobLogLine),
    }),
    jobAssets: z.array(z.string()).nullable(),
    pcapDataUrl: z.string().nullable(),
    /** Of checks that failed in the network, or whose agent could not get into it. */
    networkDiagnostics: networkDiagnostics.nullable().default(null),
    degradedReason: z.string().exactOptional().meta({
      description: 'Why it is degraded, of types with rules of their own; absent otherwise',
    }),
  })
  .meta({ id: 'ApiCheckResult' });

/**
 * What an SSL check saw: an exchange, whose `response` holds the certificate, and what clients read without
 * looking into it. Null where there was no handshake. spec: open
 */
const sslCheckResult = apiCheckResult
  .extend({
    tlsVersion: z.string().nullable(),
    cipherSuite: z.string().nullable(),
    daysUntilExpiry: z.int().nullable(),
    handshakeTimeMs: z.number().min(0).nullable(),
    chainTrusted: z.boolean().nullable(),
    hostnameVerified: z.boolean().nullable(),
    baselineVerdict: z.enum(['pass', 'warn', 'fail']).nullable(),
    baselineGrade: z.enum(['A-', 'B', 'F']).nullable(),
    failureCategory: z
      .enum(['dns', 'connect', 'timeout', 'handshake', 'hostname', 'chain', 'expired'])
      .nullable(),
  })
  .meta({ id: 'SslCheckResult' });

/** Of the answers of the target, in milliseconds; `best` and `worst` are other words for `min` and `max`. */
const finalHopLatency = z.object({
  avg: z.number(),
  min: z.number(),
  max: z.number(),
  stdDev: z.number(),
  best: z.number(),
  worst: z.number(),
});

/** What a traceroute saw: an exchange, whose `response` lists the hops. Null where nothing was sent. spec: open */
const tracerouteCheckResult = apiCheckResult
  .extend({
    totalHops: z.int().nullable(),
    destinationReached: z.boolean().nullable(),
    finalHopLatency: finalHopLatency.nullable(),
    timingPhases: z.object({ dns: z.number(), total: z.number() }).nullable(),
  })
  .meta({ id: 'TracerouteCheckResult' });

/** A web vital: its value (milliseconds; CLS without unit) and what it is worth. */
const webVital = z.object({
  score: z.enum(['GOOD', 'NEEDS_IMPROVEMENT', 'POOR']),
  value: z.number().min(0),
});

/** Absent where a page was left before it could be measured. */
const webVitals = z.object({
  FCP: webVital.exactOptional(),
  LCP: webVital.exactOptional(),
  CLS: webVital.exactOptional(),
  TBT: webVital.exactOptional(),
  TTFB: webVital.exactOptional(),
});
export type WebVitals = z.output<typeof webVitals>;

const consoleEntry = z.object({
  time: z.number(),
  type: z.string().meta({ description: 'error, warning, info, log, debug' }),
  text: z.string(),
  location: z.string().nullable(),
});

const networkEntry = z.object({
  time: z.number(),
  method: z.string(),
  url: z.string(),
  resourceType: z.string(),
  status: z.int().nullable(),
  durationMs: z.number().nullable(),
  sizeBytes: z.number().nullable(),
  failure: z.string().nullable(),
});

const visitedPage = z.object({
  url: z.string(),
  title: z.string(),
  webVitals,
  console: z.array(consoleEntry),
  network: z.array(networkEntry),
  screenshots: z.array(z.string()).meta({ description: 'Links to the images of this page' }),
});

/** An error of a script, as it was thrown. */
const scriptError = z.object({
  message: z.string(),
  stack: z.string().nullable(),
  /** Where in the script, for example the titles of the test. */
  title: z.string().nullable(),
});
export type ScriptError = z.output<typeof scriptError>;

/** A step of a script, in a tree. */
export interface ScriptStep {
  title: string;
  category: string;
  startTime: number;
  durationMs: number;
  error: string | null;
  steps: ScriptStep[];
  /** Requests made in this step itself, by number in `requests`. */
  requests: number[];
}
const scriptStep: z.ZodType<ScriptStep> = z
  .object({
    title: z.string(),
    category: z.string(),
    startTime: z.number(),
    durationMs: z.number(),
    error: z.string().nullable(),
    get steps() {
      return z.array(scriptStep).meta({ example: [] });
    },
    requests: z.array(z.int()),
  })
  .meta({ id: 'ScriptStep' });

/** One test of a script or suite. */
const scriptTest = z.object({
  title: z.string(),
  file: z.string(),
  project: z.string(),
  tags: z.array(z.string()),
  status: z.enum(['passed', 'failed', 'timedOut', 'skipped', 'interrupted']),
  outcome: z.enum(['expected', 'unexpected', 'flaky', 'skipped']),
  /** How often it was run again by the test runner itself. */
  retries: z.int(),
  durationMs: z.number(),
  errors: z.array(scriptError),
  steps: z.array(scriptStep).meta({ example: [] }),
});
export type ScriptTest = z.output<typeof scriptTest>;

const scriptRunFields = {
  errors: z.array(scriptError),
  /** Milliseconds since the epoch. */
  startTime: z.number(),
  endTime: z.number(),
  runtimeVersion: z.string(),
  jobLog: z.array(jobLogLine),
  /** Links, good for an hour; read the result again for new ones. */
  jobAssets: z.array(z.string()),
  playwrightTestTraces: z.array(z.string()),
  playwrightTestJsonReportFile: z.string().nullable(),
  tests: z.array(scriptTest),
};

/** Spec: Check result, `browserCheckResult`. Shape from the field's practice. spec: open */
export const browserCheckResult = z
  .object({
    type: z.string().meta({ description: 'What ran: PLAYWRIGHT_TEST or SCRIPT' }),
    ...scriptRunFields,
    traceSummary: z.object({
      consoleErrors: z.int(),
      networkErrors: z.int(),
      documentErrors: z.int(),
      userScriptErrors: z.int(),
    }),
    pages: z.array(visitedPage),
    playwrightTestVideos: z.array(z.string()),
  })
  .meta({ id: 'BrowserCheckResult' });
export type BrowserCheckResult = z.output<typeof browserCheckResult>;

/** A request of a multi-step check. */
const stepRequest = z.object({
  method: z.string(),
  url: z.string(),
  requestHeaders: z.record(z.string(), z.string()),
  requestBody: z.string().nullable(),
  status: z.int().nullable(),
  statusText: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.string().nullable(),
  truncated: z.boolean(),
  /** Milliseconds since the epoch. */
  startTime: z.number(),
  timings: z.record(z.string(), z.number()),
  timingPhases: z.record(z.string(), z.number()),
  error: z.string().nullable(),
});

/** Spec: Check result, `multiStepCheckResult`. Shape from the field's practice. spec: open */
export const multiStepCheckResult = z
  .object({ ...scriptRunFields, requests: z.array(stepRequest) })
  .meta({ id: 'MultiStepCheckResult' });
export type MultiStepCheckResult = z.output<typeof multiStepCheckResult>;

/** What a Playwright suite saw. Shape from the field's practice. spec: open */
export const playwrightCheckResult = z
  .object({
    ...scriptRunFields,
    playwrightTestVideos: z.array(z.string()),
    playwrightTraceFiles: z.array(
      z.object({ url: z.string(), name: z.string(), filename: z.string() }),
    ),
    /** For the overview of the check. */
    metrics: z.object({
      total: z.int(),
      passed: z.int(),
      failed: z.int(),
      flaky: z.int(),
      skipped: z.int(),
      retries: z.int(),
      durationMs: z.number(),
      installMs: z.number(),
      cacheHit: z.boolean(),
    }),
  })
  .meta({ id: 'PlaywrightCheckResult' });
export type PlaywrightCheckResult = z.output<typeof playwrightCheckResult>;

/** Spec: Check result, `agenticCheckResult`. What tools took and gave is free-form. */
export const agenticCheckResult = z
  .object({
    summary: z.string(),
    prompt: z.string(),
    assertions: z.array(
      z.object({
        condition: z.string(),
        passed: z.boolean(),
        actual: z.string(),
        expected: z.string(),
      }),
    ),
    suggestions: z.array(
      z.object({
        summary: z.string(),
        prompt: z.string(),
        secrets: z.array(z.string()),
        category: z.string(),
      }),
    ),
    steps: z.array(
      z.object({
        type: z.string(),
        name: z.string(),
        input: z.unknown(),
        output: z.unknown(),
        timestamp,
        sequenceNumber: z.int(),
      }),
    ),
    errors: z.array(z.looseObject({})),
    artifactManifest: z.looseObject({}),
  })
  .meta({ id: 'AgenticCheckResult' });

/** What runs saw. A result has one of these, which its check type names; the others are null. */
export const resultShapes = {
  apiCheckResult,
  browserCheckResult,
  multiStepCheckResult,
  playwrightCheckResult,
  agenticCheckResult,
  sslCheckResult,
  tracerouteCheckResult,
} as const;
export type ResultField = keyof typeof resultShapes;
export const resultFields = Object.keys(resultShapes) as ResultField[];

/** What runs saw, by field, as far as a result has it. */
export type ResultDetails = {
  [Field in ResultField]: z.output<(typeof resultShapes)[Field]> | null;
};

/** A result that shows nothing of what its run saw. */
export const noDetails = Object.fromEntries(resultFields.map((field) => [field, null])) as {
  [Field in ResultField]: null;
};

type NullableShapes = { [Field in ResultField]: z.ZodNullable<(typeof resultShapes)[Field]> };
type DefaultedShapes = { [Field in ResultField]: z.ZodDefault<NullableShapes[Field]> };

/** The fields of a result as clients read them. */
export const nullableResults = Object.fromEntries(
  Object.entries(resultShapes).map(([field, shape]) => [field, shape.nullable()]),
) as NullableShapes;

/** The same fields as agents send them, which leave out those that they do not know. */
export const submittedResults = Object.fromEntries(
  Object.entries<z.ZodNullable>(nullableResults).map(([field, shape]) => [
    field,
    shape.default(null),
  ]),
) as DefaultedShapes;

/** The results that show one exchange with a target, all in the shape of `apiCheckResult`. */
export const exchangeFields = [
  'apiCheckResult',
  'sslCheckResult',
  'tracerouteCheckResult',
] as const satisfies readonly ResultField[];
export type ExchangeField = (typeof exchangeFields)[number];
export type ExchangeResult = z.output<typeof apiCheckResult>;

export function isExchangeField(field: ResultField): field is ExchangeField {
  return (exchangeFields as readonly ResultField[]).includes(field);
}

/** The exchange that a result shows; null where it shows something else, or nothing. */
export function exchangeOf(result: Pick<ResultDetails, ExchangeField>): ExchangeResult | null {
  for (const field of exchangeFields) {
    const exchange = result[field];
    if (exchange !== null) return exchange;
  }
  return null;
}

/**
 * Why a slot has no result. `maintenance`: it was not to have one; `record-lost`: it may have had one that
 * the database has lost; the others are outages of the agents. `agent-suspended`: the agent was stopped, or
 * its machine slept.
 */
export const missedReason = z.enum([
  'no-agent',
  'agent-lost',
  'agent-overloaded',
  'agent-suspended',
  'agent-stopping',
  'no-runtime',
  'type-not-served',
  'not-run',
  'record-lost',
  'maintenance',
]);
export type MissedReason = z.infer<typeof missedReason>;
