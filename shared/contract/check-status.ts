/** The latest state of a check. Spec: Check status. */
import { z } from 'zod';
import { timestamp } from './primitives.ts';
import { defineRoutes, get } from './route.ts';

export const checkStatus = z
  .object({
    name: z.string(),
    checkId: z.uuid(),
    hasFailures: z.boolean(),
    hasErrors: z.boolean(),
    isDegraded: z.boolean(),
    longestRun: z.number().nullable(),
    shortestRun: z.number().nullable(),
    lastRunLocation: z.string().nullable(),
    lastCheckRunId: z.string().nullable(),
    sslDaysRemaining: z.number().nullable(),
    created_at: timestamp,
    updated_at: timestamp.nullable(),
    unservedLocations: z.array(z.string()).meta({
      description: 'Locations of the check that no agent serves at the moment',
    }),
  })
  .meta({ id: 'CheckStatus' });

export const checkStatusRoutes = defineRoutes('Check statuses', {
  listCheckStatuses: get('/v1/check-statuses', 'List the statuses of all checks', {
    response: z.array(checkStatus),
  }),
  getCheckStatus: get(
    '/v1/check-statuses/{checkId}',
    'Read the status of a check; null before its first result',
    { params: z.object({ checkId: z.string() }), response: checkStatus.nullable() },
  ),
});
