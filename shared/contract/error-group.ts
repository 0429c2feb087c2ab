/** Error groups: similar errors of a check, together. Spec: Error group. */
import { z } from 'zod';
import { pageOf, pathId, timestamp } from './primitives.ts';
import { rootCauseAnalysis } from './root-cause.ts';
import { defineRoutes, get, patch } from './route.ts';

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

export const errorGroupRoutes = defineRoutes(tag, {
  listErrorGroups: get(
    '/v1/error-groups',
    'List error groups, last seen first',
    pageOf(errorGroup),
  ),
  listErrorGroupsOfCheck: get(
    '/v1/error-groups/checks/{checkId}',
    'List the error groups of a check, last seen first',
    {
      params: z.object({ checkId: pathId }),
      ...pageOf(errorGroup),
    },
  ),
  getErrorGroup: get('/v1/error-groups/{id}', 'Read an error group', {
    params: byId,
    response: errorGroup,
  }),
  updateErrorGroup: patch(
    '/v1/error-groups/{id}',
    'Archive an error group for ever, or until the error is seen again',
    {
      params: byId,
      body: z.object({
        archiveForEver: z.boolean().exactOptional(),
        archivedUntilNextEvent: z.boolean().exactOptional(),
      }),
      response: errorGroup,
    },
  ),
});
