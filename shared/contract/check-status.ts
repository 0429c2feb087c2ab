/** The latest state of a check. Spec: Check status. */
import { z } from 'zod';
import { timestamp } from './primitives.ts';
import { defineRoute } from './route.ts';

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

const listCheckStatuses = defineRoute({
  operationId: 'listCheckStatuses',
  method: 'GET',
  path: '/v1/check-statuses',
  tag: 'Check statuses',
  summary: 'List the statuses of all checks',
  authentication: 'apiKey',
  status: 200,
  response: z.array(checkStatus),
});

const getCheckStatus = defineRoute({
  operationId: 'getCheckStatus',
  method: 'GET',
  path: '/v1/check-statuses/{checkId}',
  tag: 'Check statuses',
  summary: 'Read the status of a check; null before its first result',
  authentication: 'apiKey',
  params: z.object({ checkId: z.string() }),
  status: 200,
  response: checkStatus.nullable(),
  errors: [404],
});

export const checkStatusRoutes = { listCheckStatuses, getCheckStatus };
