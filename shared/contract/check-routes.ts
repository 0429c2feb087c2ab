/** Operations on checks: a pair of routes per check type, and the generic ones. */
import { z } from 'zod';
import type { CheckTypeDefinition } from './checks/check-type.ts';
import { checkType, checkTypes } from './checks/index.ts';
import {
  pageQuery,
  pathId,
  queryBoolean,
  queryInstant,
  queryInteger,
  queryList,
  timestamp,
} from './primitives.ts';
import { defineRoutes, get, post, put, remove } from './route.ts';
import { maxSignatureVersion, signedPart } from './work-signature.ts';

const tag = 'Checks';
const byId = z.object({ id: pathId });

/** Spec: Endpoints, `autoAssignAlerts`. */
const autoAssignAlerts = z.object({ autoAssignAlerts: queryBoolean.default(true) });

/** "URL monitor" → "URLMonitor", "Multi-step check" → "MultiStepCheck". */
function inCamelCase(words: string): string {
  return words.replace(/(^|[ -])(\w)/g, (_all, _gap, first: string) => first.toUpperCase());
}

/** "a TCP monitor", "an ICMP monitor". */
function withArticle(noun: string): string {
  return /^[aeio]/i.test(noun) ? `an ${noun}` : `a ${noun}`;
}

/** A check of any type. */
export const anyCheck = z
  .discriminatedUnion(
    'checkType',
    Object.values(checkTypes).map((definition) => definition.response) as unknown as [
      (typeof checkTypes)['URL']['response'],
    ],
  )
  .meta({ id: 'Check' });

export const anyCreate = z.discriminatedUnion(
  'checkType',
  Object.values(checkTypes).map((definition) =>
    (definition as CheckTypeDefinition).create.extend({ checkType: z.literal(definition.type) }),
  ) as unknown as [z.ZodObject<{ checkType: z.ZodLiteral<'URL'> }>],
);

/** Clients with one shape for all types also send fields of other types. */
export const fieldsOfAnyType = z.union([anyCheck, anyCreate]);

function createRoute({ title, pathPart, create: body, response }: CheckTypeDefinition) {
  const rest = { query: autoAssignAlerts, body, relatedFields: fieldsOfAnyType, response };
  return {
    ...{ operationId: `create${inCamelCase(title)}`, tag },
    ...post(`/v1/checks/${pathPart}`, `Create ${withArticle(title)}`, {
      ...rest,
      errors: [402, 409],
    }),
  };
}

function updateRoute({ title, pathPart, update: body, response }: CheckTypeDefinition) {
  const rest = { query: autoAssignAlerts, body, relatedFields: fieldsOfAnyType, response };
  return {
    ...{ operationId: `update${inCamelCase(title)}`, tag },
    ...put(`/v1/checks/${pathPart}/{id}`, `Change ${withArticle(title)}`, {
      description: 'Fields that are absent stay as they are; `request` is replaced as a whole.',
      params: byId,
      ...rest,
      errors: [409],
    }),
  };
}

/** Create and update of every type, in the order of the type table. */
export const checkTypeRoutes = Object.values(checkTypes).map((definition) => ({
  definition: definition as CheckTypeDefinition,
  create: createRoute(definition),
  update: updateRoute(definition),
}));

export const heartbeatState = z
  .enum(['FAILING', 'EARLY', 'RECEIVED', 'GRACE', 'LATE', 'STARTED', 'LOGGED'])
  .meta({ description: 'STARTED and LOGGED change nothing about the monitor' });
export type HeartbeatState = z.infer<typeof heartbeatState>;

const availability = z.object({
  successRatio: z.object({
    previousPeriod: z.number().nullable(),
    currentPeriod: z.number().nullable(),
  }),
  totalEntitiesCurrentPeriod: z.int(),
});

export const heartbeatEvent = z
  .object({
    id: z.uuid(),
    state: heartbeatState,
    timestamp,
    source: z.string().nullable(),
    userAgent: z.string().nullable(),
    runId: z.string().nullable().meta({ description: '`rid` of the call' }),
    durationMs: z
      .number()
      .nullable()
      .meta({ description: 'From the start of the run to its end, where the job reports both' }),
    message: z
      .string()
      .nullable()
      .meta({ description: 'What the job sent along, without values of secret variables' }),
  })
  .meta({ id: 'HeartbeatEvent' });

const heartbeatStats = z.object({
  last24Hours: availability.nullable(),
  last7Days: availability.nullable(),
});

const heartbeatWindow = {
  startTime: queryInstant.exactOptional(),
  endTime: queryInstant.exactOptional(),
};

/** Limit of pings per monitor; the shortest period is half a minute. */
export const pingRateLimit = { requests: 120, seconds: 60 };

const byToken = z.object({ pingToken: z.string() });
const ofRun = z.object({
  rid: z
    .string()
    .max(64)
    .regex(/^[^\0]*$/, 'must be text')
    .exactOptional()
    .meta({ description: 'Id of the run: its start and its end have the same. Empty: none' }),
});
const exitCode = String.raw`[01]?\d?\d|2[0-4]\d|25[0-5]`;
const bySignal = byToken.extend({
  signal: z.string().regex(new RegExp(`^(start|fail|log|${exitCode})$`)),
});
const ping = {
  authentication: 'none',
  limitedByToken: true,
  params: byToken,
  query: ofRun,
  status: 200,
  response: z.object({ message: z.string() }),
  errors: [429],
} as const;
const ofHeartbeat = z.object({ checkId: z.string() });

const listing = {
  query: z.object({
    ...pageQuery,
    apiCheckUrlFilterPattern: z.string().max(2048).exactOptional(),
    tag: queryList(z.string().min(1)).exactOptional(),
    checkType: checkType.exactOptional(),
    search: z.string().max(255).exactOptional(),
    status: z.enum(['passing', 'failing', 'degraded']).exactOptional(),
    applyGroupSettings: queryBoolean.default(false),
  }),
  response: z.array(anyCheck),
  paged: true,
} as const;
const reading = {
  params: byId,
  query: z.object({
    includeDependencies: queryBoolean.default(true).meta({
      description: 'False leaves the files of scripted checks out',
    }),
    applyGroupSettings: queryBoolean.default(false),
  }),
  response: anyCheck,
} as const;
const inV2 = {
  description:
    'Without `project`, `logicalId`, `member` and `pending` of the first version: `projectBindings` says it.',
};
const inV3 = { description: 'As the second version, with `constraints` in `intent`.' };

export const checkRoutes = defineRoutes(tag, {
  listChecks: get('/v1/checks', 'List checks, newest first', listing),
  listChecksV2: get('/v2/checks', 'List checks, newest first', { ...listing, ...inV2 }),
  listChecksV3: get('/v3/checks', 'List checks, newest first', { ...listing, ...inV3 }),
  createCheck: post('/v1/checks', 'Create a check of the type in `checkType`', {
    deprecated: true,
    query: autoAssignAlerts,
    body: anyCreate,
    response: anyCheck,
    errors: [402, 409],
  }),
  getCheck: get('/v1/checks/{id}', 'Read a check', reading),
  getCheckV2: get('/v2/checks/{id}', 'Read a check', { ...reading, ...inV2 }),
  getCheckV3: get('/v3/checks/{id}', 'Read a check', { ...reading, ...inV3 }),
  getSignedPart: get('/v1/checks/{id}/signed-part', 'Read what is to be signed of a check', {
    description:
      'For locations whose agents run only signed work. Who signs what a control plane shows trusts it: read it first.',
    role: 'READ_WRITE',
    params: byId,
    query: z.object({
      version: queryInteger(1, maxSignatureVersion)
        .exactOptional()
        .meta({ description: 'Of a new signature; without it, that of the present one, or now' }),
    }),
    response: signedPart,
  }),
  updateCheck: put('/v1/checks/{id}', 'Change a check of any type', {
    description: 'The fields are those of the update of its type; `checkType` cannot change.',
    deprecated: true,
    params: byId,
    query: autoAssignAlerts,
    body: z.looseObject({}),
    response: anyCheck,
    errors: [409],
  }),
  deleteCheck: remove('/v1/checks/{id}', 'Delete a check with its results', { params: byId }),
});
export const heartbeatRoutes = defineRoutes('Heartbeats', {
  listHeartbeatEvents: get(
    '/v1/checks/heartbeats/{checkId}/events',
    'List the pings and state changes of a heartbeat monitor, newest first',
    {
      params: ofHeartbeat,
      query: z.object({
        ...heartbeatWindow,
        limit: z
          .string()
          .regex(/^\d{1,2}$/, 'must be a whole number')
          .transform(Number)
          .pipe(z.int().min(1).max(10))
          .default(10)
          .meta({ override: { type: 'integer', minimum: 1, maximum: 10, default: 10 } }),
      }),
      response: z.array(z.object({ events: z.array(heartbeatEvent), stats: heartbeatStats })),
    },
  ),
  getHeartbeatEvent: get(
    '/v1/checks/heartbeats/{checkId}/events/{id}',
    'Read one ping or state change',
    {
      params: ofHeartbeat.extend({ id: z.string() }),
      response: z.object({ event: heartbeatEvent, stats: heartbeatStats }),
    },
  ),
  getHeartbeatAvailability: get(
    '/v1/checks/heartbeats/{checkId}/availability',
    'Share of time in which pings came as expected',
    {
      params: ofHeartbeat,
      query: z.object(heartbeatWindow),
      response: availability.nullable(),
    },
  ),
  pingHeartbeat: get('/ping/{pingToken}', 'Ping a heartbeat monitor', ping),
  /** For jobs that use POST. */
  pingHeartbeatByPost: post(
    '/ping/{pingToken}',
    'Ping a heartbeat monitor; the beginning of the body is kept as what the job says',
    { ...ping, bodyStream: true },
  ),
  /** The addresses of clients that say more than that a job ran. */
  signalHeartbeat: get(
    '/ping/{pingToken}/{signal}',
    'Report a failure (`fail`), an exit code (`0` to `255`), `start` or `log`',
    { ...ping, params: bySignal },
  ),
  signalHeartbeatByPost: post(
    '/ping/{pingToken}/{signal}',
    'The same for jobs that use POST; the beginning of the body is kept',
    { ...ping, params: bySignal, bodyStream: true },
  ),
});
