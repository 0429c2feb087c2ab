/** Error groups: similar errors of a check, together. Spec: Error group. */
import { z } from 'zod';
import { pageQuery, pathId, timestamp } from './primitives.ts';
import { defineRoute } from './route.ts';

/** Shape of an analysis from the field's practice. spec: open */
const rootCauseAnalysis = z.looseObject({ id: z.string(), created_at: timestamp });

export const errorGroup = z
  .object({
    id: z.uuid(),
    checkId: z.uuid(),
    errorHash: z.string(),
    rawErrorMessage: z.string().nullable(),
    cleanedErrorMessage: z.string(),
    firstSeen: timestamp,
    lastSeen: timestamp,
    archivedUntilNextEvent: z.boolean(),
    rootCauseAnalyses: z.array(rootCauseAnalysis),
  })
  .meta({ id: 'ErrorGroup' });

const tag = 'Error groups';
const byId = z.object({ id: pathId });

const listErrorGroups = defineRoute({
  operationId: 'listErrorGroups',
  method: 'GET',
  path: '/v1/error-groups',
  tag,
  summary: 'List error groups, last seen first',
  authentication: 'apiKey',
  query: z.object(pageQuery),
  status: 200,
  response: z.array(errorGroup),
  errors: [400],
  paged: true,
});

const listErrorGroupsOfCheck = defineRoute({
  operationId: 'listErrorGroupsOfCheck',
  method: 'GET',
  path: '/v1/error-groups/checks/{checkId}',
  tag,
  summary: 'List the error groups of a check, last seen first',
  authentication: 'apiKey',
  params: z.object({ checkId: pathId }),
  query: z.object(pageQuery),
  status: 200,
  response: z.array(errorGroup),
  errors: [400, 404],
  paged: true,
});

const getErrorGroup = defineRoute({
  operationId: 'getErrorGroup',
  method: 'GET',
  path: '/v1/error-groups/{id}',
  tag,
  summary: 'Read an error group',
  authentication: 'apiKey',
  params: byId,
  status: 200,
  response: errorGroup,
  errors: [404],
});

const updateErrorGroup = defineRoute({
  operationId: 'updateErrorGroup',
  method: 'PATCH',
  path: '/v1/error-groups/{id}',
  tag,
  summary: 'Archive an error group for ever, or until the error is seen again',
  authentication: 'apiKey',
  params: byId,
  body: z.object({
    archiveForEver: z.boolean().exactOptional(),
    archivedUntilNextEvent: z.boolean().exactOptional(),
  }),
  status: 200,
  response: errorGroup,
  errors: [400, 404],
});

const analyseErrorGroup = defineRoute({
  operationId: 'analyseErrorGroup',
  method: 'POST',
  path: '/v1/root-cause-analyses/error-groups/{errorGroupId}',
  tag: 'Root cause analyses',
  summary: 'Ask for an analysis of an error group',
  description: 'Needs a language model; an installation without one answers 402.',
  authentication: 'apiKey',
  params: z.object({ errorGroupId: pathId }),
  body: z.object({ userContext: z.string().max(256).exactOptional() }).prefault({}),
  status: 202,
  response: z.object({ id: z.uuid(), status: z.enum(['PENDING']) }),
  errors: [402, 404],
});

const getRootCauseAnalysis = defineRoute({
  operationId: 'getRootCauseAnalysis',
  method: 'GET',
  path: '/v1/root-cause-analyses/{id}',
  tag: 'Root cause analyses',
  summary: 'Read an analysis',
  authentication: 'apiKey',
  params: byId,
  status: 200,
  otherStatuses: [202],
  response: rootCauseAnalysis,
  errors: [404],
});

export const errorGroupRoutes = {
  listErrorGroups,
  listErrorGroupsOfCheck,
  getErrorGroup,
  updateErrorGroup,
  analyseErrorGroup,
  getRootCauseAnalysis,
};
