/** The overview of all checks in one answer, a few hundred bytes per check. */
import { z } from 'zod';
import { pathId, queryInteger, queryList, timestamp } from './primitives.ts';
import { checkType } from './checks/index.ts';
import { defineRoutes, get } from './route.ts';

export const checkOverview = z
  .object({
    id: z.uuid(),
    name: z.string(),
    checkType,
    tags: z.array(z.string()),
    groupId: z.int().nullable(),
    groupName: z.string().nullable(),
    activated: z.boolean().meta({ description: 'True when the check and its group are activated' }),
    muted: z.boolean().meta({ description: 'True when the check or its group is muted' }),
    frequency: z.int().meta({ description: 'Minutes; 0 for every `frequencyOffset` seconds' }),
    frequencyOffset: z.int(),
    locations: z.array(z.string()),
    unservedLocations: z.array(z.string()).meta({
      description: 'Locations of the check that no agent serves at the moment',
    }),
    state: z.enum(['PASSING', 'DEGRADED', 'FAILING', 'UNKNOWN']).meta({
      description: 'Last known state of the target; UNKNOWN before the first conclusive result',
    }),
    hasErrors: z.boolean().meta({
      description: 'The newest run ended with an agent error, which says nothing about the target',
    }),
    lastRunAt: timestamp.nullable(),
    createdAt: timestamp,
    importedFrom: timestamp.nullable(),
    sslDaysRemaining: z.number().nullable(),
    maintenance: z.object({ name: z.string(), endsAt: timestamp }).nullable().meta({
      description: 'The maintenance window that the check is in',
    }),
    recentRuns: z
      .object({
        outcomes: z.string().meta({
          description: 'A letter for each run: P passed, D degraded, F failed, E agent error',
          example: 'PPDF',
        }),
        responseTimes: z.array(z.int()).meta({ description: 'Milliseconds' }),
        newestAt: timestamp.nullable(),
        oldestAt: timestamp.nullable(),
      })
      .meta({ description: 'The latest FINAL results of all locations, oldest first' }),
  })
  .meta({ id: 'CheckOverview' });
export type CheckOverview = z.input<typeof checkOverview>;

export const checkOverviewRoutes = defineRoutes('Check statuses', {
  listCheckOverview: get(
    '/v1/check-overview',
    'All checks with their state and latest runs, by name',
    {
      query: z.object({
        checkId: queryList(pathId).exactOptional().meta({ description: 'Only these checks' }),
        runs: queryInteger(0, 100).default(24).meta({ description: 'How many runs of each check' }),
      }),
      response: z.array(checkOverview),
      errors: [404],
    },
  ),
});
