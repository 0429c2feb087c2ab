/** The parts of results, and the details of each kind of run. Spec: Check result. */
import { z } from 'zod';
import { evaluatedAssertion } from './assertion.ts';
import { maxComparisons, screenshotComparison, snapshotPath } from './baseline.ts';
import { timestamp } from './primitives.ts';

export const resultType = z.enum(['FINAL', 'ATTEMPT']);

/** Kinds of files of a result. */
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
 * The reference to a file inside a stored result: the control plane replaces it with an expiring
 * link when the result is read. It is a whole string, so other texts that contain it stay.
 */
export function artifactReference(name: string): string {
  return `artifact:${name}`;
}

export const jobLogLine = z.object({
  time: z.number().meta({ description: 'Milliseconds since the epoch' }),
  msg: z.string(),
  level: z.string(),
});

/** All probes of a traceroute with the same TTL. Times in milliseconds, null without an answer. */
const tracerouteHop = z.object({
  /** The TTL: the first router is 1. */
  hop: z.int().min(1),
  /** Addresses that answered, most frequent first; empty without an answer. */
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
  /** Further information in the answer, such as `administratively prohibited`. */
  note: z.string().nullable(),
});
export type TracerouteHop = z.output<typeof tracerouteHop>;

export const tracerouteReport = z
  .object({
    /** `tcp` connects to the port of the target, `udp` sends to high ports, `icmp` sends echo requests. */
    method: z.enum(['tcp', 'udp', 'icmp']),
    address: z.string(),
    port: z.int().nullable(),
    ipFamily: z.enum(['IPv4', 'IPv6']),
    startedAt: z.number().meta({ description: 'Milliseconds since the epoch' }),
    durationMs: z.number(),
    /** True when the target itself answered. */
    isReached: z.boolean(),
    hops: z.array(tracerouteHop),
  })
  .meta({ id: 'Traceroute' });
export type TracerouteReport = z.output<typeof tracerouteReport>;

/**
 * Evidence of a network failure. `capture` says what was recorded of the failed connection: its
 * packets (the file of `pcapDataUrl`), or, without the right to capture, only socket events.
 */
export const networkDiagnostics = z
  .object({
    capture: z.object({
      kind: z.enum(['packets', 'events']),
      /** Packets in the file; 0 for `events`. */
      packets: z.int().min(0),
      /** Why there are no packets and how to get them; null with packets. */
      missing: z.string().nullable(),
    }),
    /** Socket events, in order; `at` is milliseconds since the start of the attempt. */
    events: z.array(z.object({ at: z.number(), phase: z.string(), event: z.string() })),
    traceroute: tracerouteReport.nullable(),
    /** Why there is no traceroute; null with one. */
    tracerouteMissing: z.string().nullable(),
  })
  .meta({ id: 'NetworkDiagnostics' });
export type NetworkDiagnostics = z.output<typeof networkDiagnostics>;

/**
 * The details of one attempt. All monitors use this shape: `response` is the HTTP response of a URL
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
    /** For checks that failed in the network, or whose agent had no network. */
    networkDiagnostics: networkDiagnostics.nullable().default(null),
    degradedReason: z.string().exactOptional().meta({
      description: 'Why it is degraded, of types with rules of their own; absent otherwise',
    }),
  })
  .meta({ id: 'ApiCheckResult' });

/**
 * The details of an SSL check: an exchange whose `response` holds the certificate, and summary
 * fields for clients. Null without a handshake. spec: open
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

/** Latency of the target's answers in milliseconds; `best` and `worst` equal `min` and `max`. */
const finalHopLatency = z.object({
  avg: z.number(),
  min: z.number(),
  max: z.number(),
  stdDev: z.number(),
  best: z.number(),
  worst: z.number(),
});

/**
 * The details of a traceroute: an exchange whose `response` lists the hops. Null where nothing was
 * sent. spec: open
 */
const tracerouteCheckResult = apiCheckResult
  .extend({
    totalHops: z.int().nullable(),
    destinationReached: z.boolean().nullable(),
    finalHopLatency: finalHopLatency.nullable(),
    timingPhases: z.object({ dns: z.number(), total: z.number() }).nullable(),
  })
  .meta({ id: 'TracerouteCheckResult' });

/**
 * The details of a gRPC check: an exchange whose `response` holds message, metadata and status. Null
 * where nothing was called. spec: open
 */
const grpcCheckResult = apiCheckResult
  .extend({
    grpcStatusCode: z.int().nullable(),
    healthStatus: z.int().nullable().meta({
      description: '0 UNKNOWN, 1 SERVING, 2 NOT_SERVING, 3 SERVICE_UNKNOWN; null without an answer',
    }),
    timingPhases: z.object({ dns: z.number(), connect: z.number(), total: z.number() }).nullable(),
  })
  .meta({ id: 'GrpcCheckResult' });

/** A web vital: its value (milliseconds; CLS without unit) and its rating. */
const webVital = z.object({
  score: z.enum(['GOOD', 'NEEDS_IMPROVEMENT', 'POOR']),
  value: z.number().min(0),
});

/** Absent when the page was left before the measurement. */
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
  /** The place in the script, for example the titles of the test. */
  title: z.string().nullable(),
});
export type ScriptError = z.output<typeof scriptError>;

/** A step of a script; steps form a tree. */
const scriptStep = z
  .object({
    title: z.string(),
    category: z.string(),
    startTime: z.number(),
    durationMs: z.number(),
    error: z.string().nullable(),
    get steps() {
      return z.array(scriptStep).meta({ example: [] });
    },
    /** Indexes in `requests` of the requests of this step itself. */
    requests: z.array(z.int()),
  })
  .meta({ id: 'ScriptStep' });
export type ScriptStep = z.output<typeof scriptStep>;

/** One test of a script or suite. */
const scriptTest = z.object({
  title: z.string(),
  file: z.string(),
  project: z.string(),
  tags: z.array(z.string()),
  status: z.enum(['passed', 'failed', 'timedOut', 'skipped', 'interrupted']),
  outcome: z.enum(['expected', 'unexpected', 'flaky', 'skipped']),
  /** Retries by the test runner. */
  retries: z.int(),
  durationMs: z.number(),
  errors: z.array(scriptError),
  steps: z.array(scriptStep).meta({ example: [] }),
  /** Of a suite: it does not make the suite fail. */
  quarantined: z.boolean().exactOptional(),
});
export type ScriptTest = z.output<typeof scriptTest>;

/** What a test is called in series and settings: the same in every run. */
export function nameOfTest({
  file,
  title,
  project,
}: Pick<ScriptTest, 'file' | 'title' | 'project'>) {
  return `${file} › ${title}${project === '' ? '' : ` [${project}]`}`;
}

const scriptRunFields = {
  errors: z.array(scriptError),
  /** Milliseconds since the epoch. */
  startTime: z.number(),
  endTime: z.number(),
  runtimeVersion: z.string(),
  jobLog: z.array(jobLogLine),
  /** Links, valid for an hour; read the result again for new ones. */
  jobAssets: z.array(z.string()),
  playwrightTestTraces: z.array(z.string()),
  playwrightTestJsonReportFile: z.string().nullable(),
  tests: z.array(scriptTest),
};

/** Of types whose tests compare screenshots. */
const screenshotResult = {
  screenshotComparisons: z.array(screenshotComparison).max(maxComparisons).exactOptional().meta({
    description: 'Screenshots that had no baseline, or differed from it. Absent without any',
  }),
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
    ...screenshotResult,
    updatedSnapshots: z
      .array(z.object({ path: snapshotPath, name: z.string().max(200) }))
      .max(maxComparisons)
      .exactOptional()
      .meta({
        description:
          'Snapshots that the run made anew, with the names of their files. Absent unless a client asked for them',
      }),
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

/** A page of a suite: all its visits in a Chromium, by address without query. */
const suitePage = z.object({
  url: z.string(),
  visits: z.int(),
  requests: z.int(),
  bytes: z.int().meta({ description: 'As they were transferred' }),
  webVitals: webVitals.meta({ description: 'The median of the visits' }),
});

/** The details of a Playwright suite. Shape from the field's practice. spec: open */
export const playwrightCheckResult = z
  .object({
    ...scriptRunFields,
    pages: z.array(suitePage).max(50).exactOptional(),
    playwrightTestVideos: z.array(z.string()),
    playwrightTraceFiles: z.array(
      z.object({ url: z.string(), name: z.string(), filename: z.string() }),
    ),
    ...screenshotResult,
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
      /** Of pages, absent where no Chromium was started; older agents do not measure them. */
      requests: z.int().exactOptional(),
      bytes: z.int().exactOptional(),
      browserStartMs: z.number().exactOptional(),
    }),
  })
  .meta({ id: 'PlaywrightCheckResult' });
export type PlaywrightCheckResult = z.output<typeof playwrightCheckResult>;

/** Spec: Check result, `agenticCheckResult`. Inputs and outputs of tools are free-form. */
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

/** The result details by field. A result has the field of its check type; the others are null. */
export const resultShapes = {
  apiCheckResult,
  browserCheckResult,
  multiStepCheckResult,
  playwrightCheckResult,
  agenticCheckResult,
  sslCheckResult,
  tracerouteCheckResult,
  grpcCheckResult,
} as const;
export type ResultField = keyof typeof resultShapes;
export const resultFields = Object.keys(resultShapes) as ResultField[];

/** The result details, as far as a result has them. */
export type ResultDetails = {
  [Field in ResultField]: z.output<(typeof resultShapes)[Field]> | null;
};

/** A result without details. */
export const noDetails = Object.fromEntries(resultFields.map((field) => [field, null])) as {
  [Field in ResultField]: null;
};

type NullableShapes = { [Field in ResultField]: z.ZodNullable<(typeof resultShapes)[Field]> };
type DefaultedShapes = { [Field in ResultField]: z.ZodDefault<NullableShapes[Field]> };

/** The detail fields for clients. */
export const nullableResults = Object.fromEntries(
  Object.entries(resultShapes).map(([field, shape]) => [field, shape.nullable()]),
) as NullableShapes;

/** The detail fields that agents send; unknown ones are left out. */
export const submittedResults = Object.fromEntries(
  Object.entries<z.ZodNullable>(nullableResults).map(([field, shape]) => [
    field,
    shape.default(null),
  ]),
) as DefaultedShapes;

/** Fields with one exchange with a target, all in the shape of `apiCheckResult`. */
export const exchangeFields = [
  'apiCheckResult',
  'sslCheckResult',
  'tracerouteCheckResult',
  'grpcCheckResult',
] as const satisfies readonly ResultField[];
export type ExchangeField = (typeof exchangeFields)[number];
export type ExchangeResult = z.output<typeof apiCheckResult>;

export function isExchangeField(field: ResultField): field is ExchangeField {
  return (exchangeFields as readonly ResultField[]).includes(field);
}

/** The exchange of a result; null for other kinds of details, and without any. */
export function exchangeOf(result: Pick<ResultDetails, ExchangeField>): ExchangeResult | null {
  for (const field of exchangeFields) {
    const exchange = result[field];
    if (exchange !== null) return exchange;
  }
  return null;
}

/**
 * Why a slot has no result. `maintenance`: it was not due; `record-lost`: the database lost its
 * result, if there was one; the other reasons are outages of agents. `agent-suspended`: the agent
 * was stopped, or its machine was suspended.
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
