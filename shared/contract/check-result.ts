/** Results of runs. Spec: Check result; Check results (endpoints); Limits. */
import { z } from 'zod';
import { evaluatedAssertion } from './assertion.ts';
import {
  checkType,
  cursorPage,
  cursorQuery,
  pageQuery,
  pathId,
  queryBoolean,
  queryInstant,
  queryInteger,
  timestamp,
} from './primitives.ts';
import { defineRoute } from './route.ts';

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
    /** `tcp` connects to the port of the target, `udp` sends to high ports. */
    method: z.enum(['tcp', 'udp']),
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
    /** Of API, URL and TCP checks that failed in the network, or whose agent could not get into it. */
    networkDiagnostics: networkDiagnostics.nullable().default(null),
  })
  .meta({ id: 'ApiCheckResult' });

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

export const checkResult = z
  .object({
    id: z.uuid(),
    name: z.string(),
    checkId: z.uuid(),
    checkType,
    resultType,
    hasFailures: z.boolean(),
    hasErrors: z.boolean(),
    isDegraded: z.boolean().nullable(),
    overMaxResponseTime: z.boolean().nullable(),
    runLocation: z.string(),
    startedAt: timestamp.nullable(),
    stoppedAt: timestamp.nullable(),
    created_at: timestamp,
    responseTime: z.int().min(0).meta({ description: 'Milliseconds' }),
    apiCheckResult: apiCheckResult.nullable(),
    browserCheckResult: browserCheckResult.nullable(),
    multiStepCheckResult: multiStepCheckResult.nullable(),
    playwrightCheckResult: playwrightCheckResult.nullable(),
    agenticCheckResult: agenticCheckResult.nullable(),
    checkRunId: z.int(),
    attempts: z.int().min(0).meta({ description: 'Number of this attempt; 1 without a retry' }),
    sequenceId: z.string().nullable(),
    errorGroupIds: z.array(z.string()),
    payloadError: z.string().exactOptional().meta({
      description:
        'Why none of the `…CheckResult` is there, although there was one: it is damaged. Absent otherwise',
    }),
    scheduledFor: timestamp
      .nullable()
      .meta({ description: 'The slot this run belongs to; null for a triggered run' }),
    underLoad: z
      .boolean()
      .meta({ description: 'The agent was too busy to time this result precisely' }),
    agentWaitMs: z.number().min(0).nullable().meta({
      description:
        'Milliseconds of the attempt in which the agent waited for a CPU, was busy or was stopped. Limits of time are judged without them; `responseTime` includes them. Null for results of older agents',
      example: 0,
    }),
    isCancelled: z.boolean().meta({ description: 'Ended by a person; counts for nothing' }),
    isLate: z
      .boolean()
      .meta({ description: 'It came after the FINAL of its run, and counts for nothing' }),
    isPayloadDropped: z.boolean().meta({
      description:
        'The agent had no room for what this run saw: the verdict and the times are all there is',
    }),
    detailsOmitted: z.literal(true).exactOptional().meta({
      description:
        'What the run saw is left out, since the answer would be too large; read the result by its id',
    }),
  })
  .meta({ id: 'CheckResult' });
export type CheckResult = z.input<typeof checkResult>;

export const sixHoursMs = 6 * 3_600_000;

const resultFilters = {
  from: queryInstant.exactOptional(),
  to: queryInstant.exactOptional(),
  location: z.string().min(1).max(64).exactOptional().meta({
    description: 'A data-center location, or the slug of a private location',
  }),
  checkType: checkType.exactOptional(),
  hasFailures: queryBoolean.exactOptional(),
  resultType: z.enum(['FINAL', 'ATTEMPT', 'ALL']).default('FINAL'),
};

const listCheckResults = defineRoute({
  operationId: 'listCheckResults',
  method: 'GET',
  path: '/v1/check-results/{checkId}',
  tag: 'Check results',
  summary: 'List the results of a check, newest first',
  description:
    '`from` defaults to six hours before `to` or now, `to` to six hours after `from`. An answer carries at most 16 MiB of what runs saw, the newest first; results beyond have `detailsOmitted`.',
  authentication: 'apiKey',
  deprecated: true,
  rateLimit: { requests: 60, seconds: 60 },
  params: z.object({ checkId: pathId }),
  query: z.object({
    ...pageQuery,
    ...resultFilters,
  }),
  status: 200,
  response: z.array(checkResult),
  errors: [400, 402, 404, 429],
  paged: true,
});

const listCheckResultsByCursor = defineRoute({
  operationId: 'listCheckResultsByCursor',
  method: 'GET',
  path: '/v2/check-results/{checkId}',
  tag: 'Check results',
  summary: 'List the results of a check, newest first, page by page',
  description:
    'The window has no limit; without `from` it has no beginning. An answer carries at most 16 MiB of what runs saw; results beyond have `detailsOmitted`.',
  authentication: 'apiKey',
  rateLimit: { requests: 60, seconds: 60 },
  params: z.object({ checkId: pathId }),
  query: z.object({
    ...resultFilters,
    isLate: queryBoolean.exactOptional().meta({
      description: 'True for those that came after the FINAL of their run, of any `resultType`',
    }),
    limit: queryInteger(1, 100).default(10),
    nextId: cursorQuery.nextId,
  }),
  status: 200,
  response: cursorPage(checkResult),
  errors: [400, 402, 404, 429],
});

const getCheckResult = defineRoute({
  operationId: 'getCheckResult',
  method: 'GET',
  path: '/v1/check-results/{checkId}/{checkResultId}',
  tag: 'Check results',
  summary: 'Read one result',
  authentication: 'apiKey',
  params: z.object({ checkId: z.string(), checkResultId: z.string() }),
  status: 200,
  response: checkResult,
  errors: [404],
});

const asset = z.object({
  type: artifactType,
  name: z.string(),
  url: z.string().nullable().meta({ description: 'Good for an hour; null until it has arrived' }),
  contentType: z.string(),
  size: z.int().min(0),
  state: z.enum(['PENDING', 'STORED', 'WITHHELD', 'EXPIRED']),
  reason: z.string().nullable().meta({ description: 'Why it was withheld' }),
  viewerUrl: z
    .string()
    .nullable()
    .meta({ description: 'A page that shows the trace, good for an hour' }),
  source: z.object({
    type: z.literal('check-result'),
    checkId: z.uuid(),
    checkName: z.string(),
    checkType,
    resultId: z.uuid(),
  }),
});
export type Asset = z.input<typeof asset>;

const listCheckResultAssets = defineRoute({
  operationId: 'listCheckResultAssets',
  method: 'GET',
  path: '/v1/check-results/{checkId}/{checkResultId}/assets',
  tag: 'Check results',
  summary: 'List the files of a result with links to them',
  authentication: 'apiKey',
  params: z.object({ checkId: pathId, checkResultId: pathId }),
  query: z.object({
    type: artifactType.exactOptional(),
    name: z.string().min(1).max(200).exactOptional().meta({
      description: 'Pattern with * and ?, case-insensitive',
    }),
  }),
  status: 200,
  response: z
    .object({
      assets: z.array(asset),
      truncated: z.boolean(),
      entriesReturned: z.int(),
      entriesTotal: z.int(),
    })
    .meta({ id: 'AssetManifest' }),
  errors: [400, 404],
});

const downloadArtifact = defineRoute({
  operationId: 'downloadArtifact',
  method: 'GET',
  path: '/v1/artifacts/{resultId}/{name}',
  tag: 'Check results',
  summary: 'Download a file of a result by its link',
  description:
    'Links come with results and asset lists and need no key; they expire after an hour. `Range` and `If-None-Match` are honoured: 206, 304, or 416 for a range outside the file. An expired or altered link answers 403.',
  authentication: 'none',
  params: z.object({ resultId: pathId, name: z.string().max(200) }),
  query: z.object({ expires: queryInteger(0, 4_102_444_800), signature: z.string().max(128) }),
  status: 200,
  otherStatuses: [206, 304, 416],
  responseStream: 'application/octet-stream',
  errors: [403, 404],
});

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

export const checkRun = z
  .object({
    checkRunId: z.int(),
    sequenceId: z.string(),
    checkId: z.uuid(),
    location: z.string(),
    scheduledFor: timestamp.nullable(),
    state: z.enum(['RUNNING', 'FINAL', 'MISSED']),
    missedReason: missedReason.nullable(),
    resultId: z.string().nullable().meta({ description: 'The FINAL result, when there is one' }),
    lateResults: z.int().min(0).meta({
      description: 'Results that arrived after the FINAL and were kept apart',
    }),
    lateResultIds: z.array(z.uuid()).meta({ description: 'Of these results, which can be read' }),
  })
  .meta({ id: 'CheckRun' });

const listCheckRuns = defineRoute({
  operationId: 'listCheckRuns',
  method: 'GET',
  path: '/v1/check-runs/{checkId}',
  tag: 'Check results',
  summary: 'List the runs of a check, newest first: every slot, run or missed',
  description:
    'Every slot a check was due at is listed once, with its FINAL result or with the reason why it was missed.',
  authentication: 'apiKey',
  params: z.object({ checkId: z.string() }),
  query: z.object({
    ...pageQuery,
    from: queryInstant.exactOptional(),
    to: queryInstant.exactOptional(),
    location: z.string().min(1).max(64).exactOptional(),
    state: z.enum(['RUNNING', 'FINAL', 'MISSED']).exactOptional(),
  }),
  status: 200,
  response: z.array(checkRun),
  errors: [400, 404],
  paged: true,
});

export const artifactRoutes = { listCheckResultAssets, downloadArtifact };

export const checkResultRoutes = {
  listCheckResults,
  listCheckResultsByCursor,
  getCheckResult,
  listCheckRuns,
};
