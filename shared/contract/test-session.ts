/**
 * Test sessions: checks that run once for somebody who waits, often before they are stored. They count
 * in no status, alert or figure. Existing clients start them and get the results over MQTT
 * (`control-plane/compat/README.md`); the console and the API show them.
 */
import { z } from 'zod';
import { asset, checkResult } from './check-result-routes.ts';
import { artifactType } from './check-result.ts';
import { retryStrategy } from './check.ts';
import { checkType } from './checks/index.ts';
import { errorGroup, errorGroupRoutes } from './error-group.ts';
import {
  pageOf,
  pathId,
  plainAddress,
  queryBoolean,
  queryInteger,
  queryList,
  timestamp,
  windowQuery,
} from './primitives.ts';
import { defineRoutes, get, patch, post } from './route.ts';

/** Most jobs of one session. */
export const maxTestJobs = 1_000;
/** Most sessions of an account that have not ended. */
export const maxOpenTestSessions = 50;
/** Bodies hold scripts and their dependencies. */
const bodyLimitBytes = 20_971_520;

export const testSessionStatus = z.enum(['RUNNING', 'FAILED', 'PASSED', 'CANCELLED']);
export type TestSessionStatus = z.infer<typeof testSessionStatus>;
export const testOutcome = z.enum(['PASSED', 'DEGRADED', 'FAILED', 'CANCELLED']);
export type TestOutcome = z.infer<typeof testOutcome>;
export const testSessionProvider = z.enum(['GITHUB', 'VERCEL', 'API', 'TRIGGER', 'PW_REPORTER']);
export type TestSessionProvider = z.infer<typeof testSessionProvider>;

const text = (max: number) => z.string().max(max).nullable().default(null);

/** Where the tested code comes from. */
export const repoInfo = z
  .object({
    repoUrl: plainAddress.nullable().default(null),
    commitId: text(255),
    commitOwner: text(255),
    commitMessage: text(10_000),
    branchName: text(255),
  })
  .nullable()
  .default(null);

const runLocation = z
  .union([
    z.string().min(1).max(64),
    z.object({ type: z.literal('PUBLIC'), region: z.string().min(1).max(64) }),
    z.object({ type: z.literal('PRIVATE'), slugName: z.string().min(1).max(64) }),
  ])
  .meta({ example: 'eu-central-1' });

/** One name that a client makes for itself: part of a topic. */
const clientName = z
  .string()
  .regex(/^[\w-]{1,100}$/, 'must be 1 to 100 letters, digits, hyphens or underscores')
  .meta({ example: '0c6fe2c8-6a98-4895-9a74-41f242d42d7d' });

const ids = z.record(z.string(), z.string());

const job = z.looseObject({
  checkType,
  logicalId: z.string().min(1).max(255),
  sourceInfo: z
    .looseObject({
      ...{ checkRunSuiteId: clientName, checkRunId: clientName },
      updateSnapshots: z.boolean().nullable(),
    })
    .partial(),
  group: z.looseObject({}).nullable().exactOptional(),
  testRetryStrategy: retryStrategy.nullable().default(null),
  filePath: z.string().max(1_024).nullable().exactOptional(),
});
export type TestJob = z.output<typeof job>;

const waiting = z.object({ maxWaitSeconds: queryInteger(1, 30).default(30) });

const entry = z
  .object({
    id: z.uuid(),
    accountId: z.string(),
    projectId: z.string().nullable(),
    name: z.string(),
    provider: testSessionProvider,
    running: z.array(z.string()),
    passed: z.array(z.string()),
    failed: z.array(z.string()),
    cancelled: z.array(z.string()),
    status: testSessionStatus,
    region: z.string(),
    privateLocationId: z.string().nullable(),
    invoker: z.object({ name: z.string(), picture: z.string().nullable() }).nullable(),
    repoUrl: z.string().nullable(),
    commitId: z.string().nullable(),
    commitOwner: z.string().nullable(),
    commitMessage: z.string().nullable(),
    branchName: z.string().nullable(),
    environment: z.string().nullable(),
    startedAt: timestamp,
    stoppedAt: timestamp.nullable(),
    created_at: timestamp,
    updated_at: timestamp.nullable(),
    errorGroupIds: z.array(z.string()),
  })
  .meta({ id: 'TestSessionEntry' });

export const testSession = z
  .object({
    testSessionId: z.uuid(),
    testSessionLink: z.string(),
    name: z.string(),
    provider: testSessionProvider,
    status: testSessionStatus,
    startedAt: timestamp,
    stoppedAt: timestamp.nullable(),
    timeElapsed: z.int().meta({ description: 'Milliseconds' }),
    metadata: z.object({
      environment: z.string().exactOptional(),
      repoUrl: z.string().exactOptional(),
      commitId: z.string().exactOptional(),
      commitOwner: z.string().exactOptional(),
      commitMessage: z.string().exactOptional(),
      branchName: z.string().exactOptional(),
    }),
    errorGroupIds: z.array(z.string()),
    results: z.array(
      z.object({
        testSessionResultId: z.uuid(),
        testSessionResultLink: z.string(),
        checkId: z.string().nullable(),
        checkType: z.string(),
        name: z.string(),
        runLocation: z.string(),
        resultType: z.enum(['FINAL', 'ATTEMPT']).nullable(),
        status: testSessionStatus,
        hasErrors: z.boolean(),
        hasFailures: z.boolean(),
        isDegraded: z.boolean(),
        aborted: z.boolean(),
        responseTime: z.number().nullable(),
        startedAt: timestamp.nullable(),
        stoppedAt: timestamp.nullable(),
        error: z.string().nullable().meta({ description: 'Why there is no result' }),
        reportUrl: z
          .string()
          .nullable()
          .meta({ description: 'The files that a test runner uploaded; valid for an hour' }),
        errorGroupIds: z.array(z.string()),
      }),
    ),
  })
  .meta({ id: 'TestSession' });

const bySession = z.object({ testSessionId: pathId });
const byResult = z.object({ testSessionId: pathId, testResultId: pathId });

/** What a test runner reported has no check and no run of an agent. */
const testResult = checkResult.extend({
  checkId: z.string().nullable(),
  checkType: z.string(),
  checkRunId: z.int().nullable(),
  testSessionResultId: z.uuid(),
  testSessionResultLink: z.string(),
  status: testSessionStatus,
  aborted: z.boolean(),
  scheduleError: z.string().nullable().meta({ description: 'Why it was not run' }),
  privateLocationId: z.string().nullable(),
  updated_at: timestamp.nullable(),
  metadata: z
    .looseObject({})
    .exactOptional()
    .meta({ description: 'What a test runner reported; absent for runs of agents' }),
});

/** Errors of what sessions ran. Each session has groups of its own. */
const testErrorGroup = errorGroup
  .extend({
    projectId: z.uuid().nullable(),
    environments: z.array(z.string()).nullable(),
  })
  .meta({ id: 'TestSessionErrorGroup' });
const byErrorGroup = { params: z.object({ id: pathId }), response: testErrorGroup };

const callVariables = z.array(
  z.object({
    key: z.string().min(1).max(1_024),
    value: z.string().max(262_144),
    locked: z.boolean().default(false),
    secret: z.boolean().default(false),
  }),
);

export const testSessionRoutes = defineRoutes('Compatibility', {
  runTestSession: post(
    '/v1/test-sessions/run',
    'Run checks that are not stored, for a client that waits for their results',
    {
      description:
        'Each job is the body of a check with `checkType`, its group inlined. `dependencies` may be indexes into `sharedFiles`.',
      role: 'READ_WRITE',
      body: z.object({
        name: z.string().min(1).max(255),
        checkRunJobs: z
          .array(job)
          .min(1)
          .max(maxTestJobs)
          .meta({
            example: [
              {
                ...{ checkType: 'URL', logicalId: 'shop', name: 'Shop' },
                ...{ request: { url: 'https://shop.example/' }, sourceInfo: {} },
              },
            ],
          }),
        project: z.looseObject({ logicalId: z.string().max(255) }).exactOptional(),
        sharedFiles: z
          .array(z.object({ path: z.string(), content: z.string() }))
          .nullable()
          .default([]),
        runLocation,
        repoInfo,
        environment: text(255),
        shouldRecord: z.boolean().default(true),
        streamLogs: z.boolean().default(false),
        refreshCache: z.boolean().default(false),
      }),
      bodyLimitBytes,
      status: 202,
      response: z.object({
        schedulingId: z.string(),
        testSessionId: z.uuid().exactOptional(),
        testResultIds: ids,
        sequenceIds: ids,
      }),
      errors: [413, 429],
    },
  ),
  triggerTestSession: post(
    '/next/test-sessions/trigger',
    'Run stored checks for a client that waits for their results',
    {
      description:
        'Copies of the checks run once in `runLocation`. 403 with `errorCode` ERR_NO_MATCHING_CHECKS when no activated check matches.',
      role: 'READ_RUN',
      body: z.object({
        name: z.string().min(1).max(255).default('Triggered session'),
        shouldRecord: z.boolean().default(true),
        runLocation,
        checkRunSuiteId: clientName.exactOptional(),
        targetTags: z.array(z.array(z.string()).max(50)).max(50).default([]).meta({
          description: 'All tags of an inner list must match; one matching list is enough',
        }),
        checkId: z.array(z.string().max(64)).max(maxTestJobs).nullable().default(null),
        environmentVariables: callVariables.max(500).default([]),
        repoInfo,
        environment: text(255),
        testRetryStrategy: retryStrategy.nullable().default(null),
        refreshCache: z.boolean().default(false),
      }),
      bodyLimitBytes,
      response: z.object({
        checks: z.array(
          z.object({
            id: z.uuid(),
            name: z.string(),
            checkType,
            tags: z.array(z.string()),
            sourceFile: z.string().exactOptional(),
          }),
        ),
        testSessionId: z.uuid().exactOptional(),
        testResultIds: ids,
        sequenceIds: ids,
      }),
      errors: [403, 413, 429],
    },
  ),
  createTestSession: post(
    '/v1/test-sessions/trigger',
    'Run stored checks as a test session, which alerts nobody',
    {
      description:
        'Copies of the checks that match run once in `runLocation`; without a filter those of all activated checks. It does not wait for them.',
      role: 'READ_RUN',
      body: z.object({
        name: z.string().min(1).max(255),
        runLocation: z.string().min(1).max(64).meta({ example: 'eu-central-1' }),
        target: z
          .object({
            matchTags: z.array(z.array(z.string()).max(50)).max(50).exactOptional(),
            checkId: z.array(z.uuid()).max(maxTestJobs).exactOptional(),
            allowDeactivated: z.boolean().default(false),
          })
          .prefault({}),
        environmentVariables: callVariables.max(50).default([]),
        retryStrategy: retryStrategy.nullable().default(null),
        refreshCache: z.boolean().default(false),
        metadata: repoInfo
          .unwrap()
          .unwrap()
          .extend({ environment: text(255) })
          .prefault({}),
      }),
      response: testSession,
      errors: [404, 429],
    },
  ),
  awaitTestSessionScheduling: get(
    '/v1/test-sessions/scheduling/{schedulingId}/completion',
    'Whether the runs of a session were scheduled',
    {
      params: z.object({ schedulingId: pathId }),
      query: waiting,
      response: z.object({
        schedulingId: z.string(),
        testSessionId: z.uuid().nullable(),
        status: z.enum(['PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED']),
        checksTotal: z.int(),
        error: z.object({ code: z.string(), message: z.string() }).nullable(),
        createdAt: timestamp,
        startedAt: timestamp,
        endedAt: timestamp,
      }),
    },
  ),
  listTestSessions: get('/v1/test-sessions', 'List test sessions, newest first', {
    query: z.object({
      ...windowQuery,
      limit: queryInteger(1, 100).default(20),
      nextId: z.string().min(1).max(200).exactOptional(),
      statuses: queryList(testSessionStatus).exactOptional(),
      branches: queryList(z.string().min(1)).exactOptional(),
      users: queryList(z.string().min(1)).exactOptional(),
      providers: queryList(testSessionProvider).exactOptional(),
      noUsers: queryBoolean.exactOptional(),
      textSearch: z.string().max(255).exactOptional(),
      errorGroupId: z.string().max(64).exactOptional(),
    }),
    response: z.object({
      length: z.int(),
      entries: z.array(entry),
      nextId: z.string().nullable(),
    }),
  }),
  getTestSession: get(
    '/v1/test-sessions/{testSessionId}',
    'Read a test session with its results so far',
    { params: bySession, response: testSession },
  ),
  awaitTestSession: get(
    '/v1/test-sessions/{testSessionId}/completion',
    'Wait for the end of a test session',
    {
      description: 'Answers 408 when it has not ended within `maxWaitSeconds`; call again then.',
      params: bySession,
      query: waiting,
      response: testSession,
      errors: [408],
    },
  ),
  cancelTestSession: post(
    '/v1/test-sessions/{testSessionId}/cancel',
    'Cancel the runs of a test session, waiting or in progress',
    {
      role: 'READ_RUN',
      params: bySession,
      body: z
        .object({ sequenceId: z.array(z.string().max(200)).max(maxTestJobs).exactOptional() })
        .prefault({}),
      status: 204,
    },
  ),
  getTestSessionResult: get(
    '/v1/test-sessions/{testSessionId}/results/{testResultId}',
    'Read a result of a test session',
    { params: byResult, response: testResult },
  ),
  listTestSessionResultAssets: get(
    '/v1/test-sessions/{testSessionId}/results/{testResultId}/assets',
    'List the files of a result of a test session',
    {
      params: byResult,
      query: z.object({
        type: artifactType.exactOptional(),
        name: z.string().max(200).exactOptional(),
      }),
      response: z.object({
        assets: z.array(
          asset.extend({
            source: z.looseObject({ type: z.string() }),
            archive: z
              .object({ entryName: z.string() })
              .exactOptional()
              .meta({ description: 'Where it is in the file that the URL leads to' }),
          }),
        ),
        truncated: z.boolean(),
        entriesReturned: z.int(),
        entriesTotal: z.int(),
      }),
    },
  ),
  listTestSessionErrorGroups: get(
    '/v1/test-session-error-groups',
    'List the error groups of test sessions, last seen first',
    pageOf(testErrorGroup),
  ),
  listTestSessionErrorGroupsOfProject: get(
    '/v1/test-session-error-groups/projects/{projectId}',
    'List the error groups of the test sessions of a project, last seen first',
    { params: z.object({ projectId: pathId }), response: z.array(testErrorGroup) },
  ),
  getTestSessionErrorGroup: get(
    '/v1/test-session-error-groups/{id}',
    'Read an error group of a test session',
    byErrorGroup,
  ),
  updateTestSessionErrorGroup: patch(
    '/v1/test-session-error-groups/{id}',
    'Archive an error group of a test session',
    { ...byErrorGroup, body: errorGroupRoutes.updateErrorGroup.body },
  ),
  getTestSessionLink: get(
    '/next/test-sessions/{testSessionId}/link',
    'The page of a test session',
    { params: bySession, response: z.object({ link: z.string() }) },
  ),
  getTestSessionResultLinks: get(
    '/next/test-sessions/{testSessionId}/results/{testResultId}/links',
    'The page of a result of a test session, and its files',
    {
      params: byResult,
      response: z.object({
        testResultLink: z.string(),
        testTraceLinks: z.array(z.string()),
        videoLinks: z.array(z.string()),
        screenshotLinks: z.array(z.string()),
      }),
    },
  ),
});
