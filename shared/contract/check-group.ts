/**
 * Check groups: settings that the checks of a group share. Where a group has null, `FALLBACK` or an
 * empty value, the check decides. Spec: Check group.
 */
import { z } from 'zod';
import { maxAssertions } from './assertion.ts';
import { anyCheck } from './check-routes.ts';
import {
  alertChannelSubscriptions,
  alertSettings,
  locations,
  maxGroupVariables,
  privateLocations,
  retryStrategyOrFallback,
  scriptText,
  maxTags,
  tag as checkTag,
} from './check.ts';
import { apiAssertion, basicAuth } from './checks/api.ts';
import {
  environmentVariable,
  keyValuePair,
  listOf,
  pageOf,
  pageQuery,
  pathId,
  pathInteger,
  plainAddress,
  queryBoolean,
  queryList,
  runtimeId,
  timestamp,
  updateOf,
} from './primitives.ts';
import { projectBindings } from './project-bindings.ts';
import { sensitive } from './sensitive.ts';
import { defineRoutes, get, post, put, remove } from './route.ts';

const name = z.string().trim().min(1).max(255);

/** Spec: Check group, `apiCheckDefaults`. */
export const apiCheckDefaults = z
  .object({
    url: sensitive('address', plainAddress).nullable().default(''),
    headers: z.array(keyValuePair).max(100).default([]),
    queryParameters: z.array(keyValuePair).max(100).default([]),
    assertions: z.array(apiAssertion).max(maxAssertions).default([]),
    basicAuth: basicAuth.nullable().prefault({}),
  })
  .meta({ id: 'ApiCheckDefaults' });

const fields = {
  name,
  activated: z.boolean().default(true),
  muted: z.boolean().default(false),
  tags: listOf(checkTag, maxTags),
  locations: locations.default([]),
  concurrency: z.int().min(1).max(10_000).default(3),
  apiCheckDefaults: apiCheckDefaults.nullable().prefault({}),
  browserCheckDefaults: z
    .union([z.string().max(4096), z.looseObject({})])
    .nullable()
    .default(null),
  runtimeId: runtimeId.nullable().default(null),
  environmentVariables: z.array(environmentVariable).max(maxGroupVariables).nullable().default([]),
  alertChannelSubscriptions: alertChannelSubscriptions.default([]),
  setupSnippetId: z.int().nullable().default(null),
  tearDownSnippetId: z.int().nullable().default(null),
  localSetupScript: scriptText.nullable().default(null),
  localTearDownScript: scriptText.nullable().default(null),
  privateLocations: privateLocations.default([]),
  runParallel: z
    .boolean()
    .nullable()
    .default(false)
    .meta({ description: 'Only true overrides the checks' }),
  alertSettings: alertSettings.nullable().default(null),
  retryStrategy: retryStrategyOrFallback
    .default('FALLBACK')
    .meta({ description: '`FALLBACK`: each check its own; null: no retries' }),
  useGlobalAlertSettings: z.boolean().nullable().default(null),
  doubleCheck: z.boolean().default(false).meta({ deprecated: true }),
};

/** In version 1 the group's settings win by default. */
const fieldsOfV1 = {
  ...fields,
  useGlobalAlertSettings: z.boolean().nullable().default(true),
  doubleCheck: z.boolean().default(true).meta({ deprecated: true }),
};

export const createCheckGroupBody = z.object(fields);
/** Only `name` is required; absent fields stay as they are. */
const updateBody = updateOf(fields).extend({ name });
export type CheckGroupFields = z.output<typeof createCheckGroupBody>;
export type CheckGroupChanges = z.output<typeof updateBody>;

export const checkGroup = z
  .object({
    ...fields,
    apiCheckDefaults: apiCheckDefaults.nullable(),
    id: z.int(),
    projectBindings,
    badgeToken: z
      .string()
      .nullable()
      .meta({ description: 'Part of the address of the badge of the group' }),
    created_at: timestamp,
    updated_at: timestamp.nullable(),
  })
  .meta({ id: 'CheckGroup' });

const tag = 'Check groups';
const byId = z.object({ id: pathInteger });
const onCreation = z.object({ autoAssignAlerts: queryBoolean.default(true) });

const listChecks = 'List the checks of a group, with its settings applied';
const readCheck = 'Read a check of a group, with its settings applied';
const listing = { params: byId, ...pageOf(anyCheck) };
const reading = {
  params: z.object({ groupId: pathInteger, checkId: pathId }),
  response: anyCheck,
};

const update = { params: byId, query: onCreation, body: updateBody, response: checkGroup } as const;

export const checkGroupRoutes = defineRoutes(tag, {
  listCheckGroups: get('/v1/check-groups', 'List check groups', {
    query: z.object({
      ...pageQuery,
      tag: queryList(z.string().min(1)).exactOptional(),
      name: queryList(z.string().min(1)).exactOptional(),
    }),
    response: z.array(checkGroup),
    paged: true,
  }),
  createCheckGroupV1: post('/v1/check-groups', 'Create a check group that decides for its checks', {
    deprecated: true,
    query: onCreation,
    body: z.object(fieldsOfV1),
    response: checkGroup,
  }),
  createCheckGroup: post('/v2/check-groups', 'Create a check group', {
    query: onCreation,
    body: createCheckGroupBody,
    response: checkGroup,
  }),
  getCheckGroup: get('/v1/check-groups/{id}', 'Read a check group', {
    params: byId,
    response: checkGroup,
  }),
  updateCheckGroupV1: put('/v1/check-groups/{id}', 'Change a check group', {
    deprecated: true,
    ...update,
  }),
  updateCheckGroup: put('/v2/check-groups/{id}', 'Change a check group', {
    description: 'Fields that are absent stay as they are.',
    ...update,
  }),
  deleteCheckGroup: remove('/v1/check-groups/{id}', 'Delete a check group that has no checks', {
    params: byId,
    errors: [409],
  }),
  listChecksOfGroup: get('/v1/check-groups/{id}/checks', listChecks, listing),
  getCheckOfGroup: get('/v1/check-groups/{groupId}/checks/{checkId}', readCheck, reading),
  listChecksOfGroupV2: get('/v2/check-groups/{id}/checks', listChecks, listing),
  getCheckOfGroupV2: get('/v2/check-groups/{groupId}/checks/{checkId}', readCheck, reading),
});
