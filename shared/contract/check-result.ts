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

export const jobLogLine = z.object({
  time: z.number().meta({ description: 'Milliseconds since the epoch' }),
  msg: z.string(),
  level: z.string(),
});

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
  })
  .meta({ id: 'ApiCheckResult' });

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
    browserCheckResult: z.null(),
    multiStepCheckResult: z.null(),
    agenticCheckResult: agenticCheckResult.nullable(),
    checkRunId: z.int(),
    attempts: z.int().min(0).meta({ description: 'Number of this attempt; 1 without a retry' }),
    sequenceId: z.string().nullable(),
    errorGroupIds: z.array(z.string()),
    scheduledFor: timestamp
      .nullable()
      .meta({ description: 'The slot this run belongs to; null for a triggered run' }),
    underLoad: z
      .boolean()
      .meta({ description: 'The agent was too busy to time this result precisely' }),
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
  description: '`from` defaults to six hours before `to` or now, `to` to six hours after `from`.',
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
  description: 'The window has no limit; without `from` it has no beginning.',
  authentication: 'apiKey',
  rateLimit: { requests: 60, seconds: 60 },
  params: z.object({ checkId: pathId }),
  query: z.object({
    ...resultFilters,
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

/** Why a slot has no result. */
export const missedReason = z.enum([
  'no-agent',
  'agent-lost',
  'agent-overloaded',
  'agent-stopping',
  'not-run',
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

export const checkResultRoutes = {
  listCheckResults,
  listCheckResultsByCursor,
  getCheckResult,
  listCheckRuns,
};
