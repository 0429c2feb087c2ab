/** Runs on demand: trigger URLs and sessions. Spec: Check trigger. */
import { z } from 'zod';
import { resultType } from './check-result.ts';
import { pathId, pathInteger, plainAddress, queryInteger, timestamp } from './primitives.ts';
import { checkType } from './checks/index.ts';
import { defineRoutes, get, post, remove } from './route.ts';

const triggerFields = {
  id: z.int(),
  token: z.string(),
  created_at: timestamp,
  called_at: timestamp.nullable(),
  updated_at: timestamp.nullable(),
};

export const checkTrigger = z
  .object({ ...triggerFields, checkId: z.uuid() })
  .meta({ id: 'CheckTrigger' });
export const groupTrigger = z
  .object({ ...triggerFields, groupId: z.int() })
  .meta({ id: 'CheckGroupTrigger' });

const tag = 'Triggers';
const ofCheck = { params: z.object({ checkId: pathId }) } as const;
const ofGroup = { params: z.object({ groupId: pathInteger }) } as const;

/** Limit of calls per trigger, for all callers together. spec: open */
export const triggerRateLimit = { requests: 10, seconds: 60 };
/** How long a call waits for its runs. */
export const triggerWaitMs = 30_000;

const outcome = z.object({
  hasFailures: z.boolean(),
  responseTime: z.number(),
  hasErrors: z.boolean().meta({ description: 'A run ended with an agent error' }),
  timedOut: z.boolean().meta({ description: 'A run had not ended at the time limit' }),
});
const deployment = z.object({
  deployment: z.string().max(255).exactOptional(),
  repository: z.string().max(1024).exactOptional(),
  sha: z.string().max(255).exactOptional(),
  environmentUrl: plainAddress.exactOptional(),
  runLocation: z.string().max(64).exactOptional(),
  environmentName: z.string().max(255).exactOptional(),
  deploymentId: z.string().max(255).exactOptional(),
});

const calling = {
  description:
    'Waits up to 30 seconds for the runs. 200: all passed; 503: at least one failed, ended with an agent error or did not end. `environmentUrl` applies to API and browser checks only. At most 10 calls a minute.',
  hasEffects: true,
  authentication: 'none',
  limitedByToken: true,
  query: deployment,
  status: 200,
  otherStatuses: [503],
  errors: [429],
} as const;
const callingCheck = {
  ...calling,
  params: z.object({ checkId: pathId, token: z.string().max(200) }),
  response: outcome,
} as const;
const callingGroup = {
  ...calling,
  params: z.object({ groupId: pathInteger, token: z.string().max(200) }),
  response: z.array(outcome.extend({ checkId: z.uuid(), name: z.string() })),
} as const;
const runCheck = 'Run a check and wait for it';
const runGroup = 'Run all checks of a group and wait for them';

/** Statuses after which nothing more comes. */
const ended = z.enum(['PASSED', 'FAILED', 'DEGRADED', 'TIMED_OUT', 'CANCELLED']);
export const terminalStatuses = ended.options;
const openStatuses = ['STARTED', 'PROGRESS', 'PROGRESS_FAILED', 'PROGRESS_DEGRADED'] as const;

/** Spec: open. */
export const sessionStatus = z
  .enum([...openStatuses, ...terminalStatuses])
  .meta({ id: 'CheckSessionStatus' });
export type SessionStatus = z.infer<typeof sessionStatus>;

/** The statuses of version 1; others are shown as the nearest one. */
const sessionStatusV1 = sessionStatus.exclude(['CANCELLED']);

export const runSource = z.enum([
  'CLI_DEPLOY',
  'DEPLOYMENT',
  'DEPLOYMENT_CACHE_WARMER',
  'EDITOR',
  'GROUP_RUN_ALL',
  'LEGACY_TRIGGER',
  'SCHEDULER',
  'SCHEDULE_NOW',
  'TEST_NO_RECORD',
  'TEST_RECORD',
  'TRIGGER_NO_RECORD',
  'TRIGGER_RECORD',
  'TRIGGER_API',
]);
export type RunSource = z.infer<typeof runSource>;

const sessionFields = {
  checkSessionId: z.uuid(),
  checkSessionLink: z.string(),
  checkId: z.uuid(),
  checkType,
  name: z.string(),
  status: sessionStatus,
  startedAt: timestamp,
  stoppedAt: timestamp.nullable(),
  timeElapsed: z.int().meta({ description: 'Milliseconds' }),
  runLocations: z.array(z.string()),
  runSource,
};

const sessionResult = z.object({
  checkResultId: z.string(),
  checkResultLink: z.string(),
  checkId: z.uuid(),
  checkType,
  name: z.string(),
  runLocation: z.string(),
  resultType: resultType.nullable(),
  hasErrors: z.boolean(),
  hasFailures: z.boolean(),
  isDegraded: z.boolean(),
  aborted: z.boolean(),
  isCancelled: z.boolean(),
  responseTime: z.number(),
  startedAt: timestamp,
  stoppedAt: timestamp,
});

const started = z.object(sessionFields);
export const checkSession = z
  .object({ ...sessionFields, results: z.array(sessionResult) })
  .meta({ id: 'CheckSession' });
const checkSessionV1 = checkSession
  .extend({ status: sessionStatusV1 })
  .meta({ id: 'CheckSessionV1' });

const sessionTag = 'Check sessions';
const bySession = z.object({ checkSessionId: pathId });

/** `matchTags`: all tags of an inner list must match; one matching list is enough. */
const triggerBody = z
  .object({
    target: z
      .object({
        matchTags: z
          .array(z.array(z.string().min(1)).max(50))
          .max(50)
          .exactOptional(),
        checkId: z.array(z.uuid()).max(1000).exactOptional(),
      })
      .prefault({}),
    refreshCache: z.boolean().default(false),
  })
  .prefault({});

const triggering = {
  description:
    'Starts one session for each check that matches; without a filter for every activated check that runs in locations.',
  role: 'READ_RUN',
  body: triggerBody,
  response: z.object({ sessions: z.array(started) }),
  errors: [402, 404],
} as const;
const awaiting = {
  description: 'Answers 408 when it has not ended within `maxWaitSeconds`; call again then.',
  params: bySession,
  query: z.object({ maxWaitSeconds: queryInteger(1, 30).default(30) }),
  errors: [408],
} as const;
const inV1 = { deprecated: true, response: checkSessionV1 } as const;
const inV2 = { response: checkSession } as const;

const sequenceIds = z.array(z.string().max(200)).max(1000).exactOptional();

export const checkTriggerRoutes = defineRoutes(tag, {
  getCheckTrigger: get('/v1/triggers/checks/{checkId}', 'Read the trigger of a check', {
    deprecated: true,
    role: 'READ_WRITE',
    ...ofCheck,
    response: checkTrigger,
  }),
  createCheckTrigger: post(
    '/v1/triggers/checks/{checkId}',
    'Create the trigger of a check, or give the one it has',
    { deprecated: true, ...ofCheck, response: checkTrigger },
  ),
  deleteCheckTrigger: remove('/v1/triggers/checks/{checkId}', 'Delete the trigger of a check', {
    deprecated: true,
    ...ofCheck,
  }),
  getGroupTrigger: get('/v1/triggers/check-groups/{groupId}', 'Read the trigger of a check group', {
    deprecated: true,
    role: 'READ_WRITE',
    ...ofGroup,
    response: groupTrigger,
  }),
  createGroupTrigger: post(
    '/v1/triggers/check-groups/{groupId}',
    'Create the trigger of a check group, or give the one it has',
    { deprecated: true, ...ofGroup, response: groupTrigger },
  ),
  deleteGroupTrigger: remove(
    '/v1/triggers/check-groups/{groupId}',
    'Delete the trigger of a check group',
    { deprecated: true, ...ofGroup },
  ),
  callCheckTrigger: get('/checks/{checkId}/trigger/{token}', runCheck, callingCheck),
  callCheckTriggerByPost: post('/checks/{checkId}/trigger/{token}', runCheck, callingCheck),
  callGroupTrigger: get('/check-groups/{groupId}/trigger/{token}', runGroup, callingGroup),
  callGroupTriggerByPost: post('/check-groups/{groupId}/trigger/{token}', runGroup, callingGroup),
});
export const checkSessionRoutes = defineRoutes(sessionTag, {
  triggerCheckSessionsV1: post('/v1/check-sessions/trigger', 'Run checks now', {
    ...triggering,
    deprecated: true,
  }),
  triggerCheckSessions: post('/v2/check-sessions/trigger', 'Run checks now', triggering),
  getCheckSessionV1: get(
    '/v1/check-sessions/{checkSessionId}',
    'Read a session with its results so far',
    { params: bySession, ...inV1 },
  ),
  getCheckSession: get(
    '/v2/check-sessions/{checkSessionId}',
    'Read a session with its results so far',
    { params: bySession, ...inV2 },
  ),
  awaitCheckSessionV1: get(
    '/v1/check-sessions/{checkSessionId}/completion',
    'Wait for the end of a session',
    { ...awaiting, ...inV1 },
  ),
  awaitCheckSession: get(
    '/v2/check-sessions/{checkSessionId}/completion',
    'Wait for the end of a session',
    { ...awaiting, ...inV2 },
  ),
  cancelCheckSession: post(
    '/v1/check-sessions/{checkSessionId}/cancel',
    'Cancel the runs of a session, waiting or in progress',
    {
      role: 'READ_RUN',
      params: bySession,
      body: z.object({ sequenceId: sequenceIds }).prefault({}),
      status: 204,
    },
  ),
  cancel: post('/v1/cancel', 'Cancel runs, of a session or of the schedule', {
    description:
      'With the id of a session: its runs, or those of them that `sequenceId` names. Without one: any runs that wait or are in progress, by their `sequenceId`; 404 when none of them does.',
    role: 'READ_RUN',
    body: z
      .object({
        checkSessionId: z.string().min(1).exactOptional(),
        testSessionId: z.string().min(1).exactOptional(),
        sequenceId: sequenceIds,
      })
      .refine(
        ({ checkSessionId, testSessionId, sequenceId = [] }) =>
          checkSessionId === undefined && testSessionId === undefined
            ? sequenceId.length > 0
            : (checkSessionId === undefined) !== (testSessionId === undefined),
        'must name a "checkSessionId", a "testSessionId" or the "sequenceId" of runs',
      )
      .meta({ example: { checkSessionId: '0c6fe2c8-6a98-4895-9a74-41f242d42d7d' } }),
    status: 204,
    errors: [404],
  }),
});
