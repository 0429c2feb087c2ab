/** Runs in progress: queued for an agent, or running. */
import { z } from 'zod';
import { runSource } from './check-trigger.ts';
import { pageQuery, timestamp } from './primitives.ts';
import { checkType } from './checks/index.ts';
import { defineRoutes, get } from './route.ts';

export const openRunState = z.enum(['QUEUED', 'RUNNING']);

export const openRun = z
  .object({
    sequenceId: z.uuid().meta({ description: 'Id for cancelling the run' }),
    checkId: z.uuid(),
    name: z.string(),
    checkType,
    location: z.string().meta({ description: 'Where it runs, or waits for an agent' }),
    state: openRunState,
    runSource,
    scheduledFor: timestamp.nullable(),
    queuedAt: timestamp.nullable().meta({ description: 'Null for a run of the schedule' }),
    startedAt: timestamp.nullable().meta({
      description: 'Start of its first attempt; null until an agent has reported it',
    }),
    attempt: z.int().min(1).meta({ description: 'The attempt that is being made, or comes next' }),
    isCancelRequested: z.boolean(),
  })
  .meta({ id: 'OpenRun' });
export type OpenRunWire = z.input<typeof openRun>;

export const openRunRoutes = defineRoutes('Check results', {
  listOpenRuns: get(
    '/v1/check-runs',
    'List the runs that wait or are in progress, the newest first',
    {
      description:
        'Runs on demand are listed at once, scheduled runs after a second or two. Each can be cancelled by its `sequenceId`. Ended runs are listed by check.',
      query: z.object({
        ...pageQuery,
        checkId: z.uuid().exactOptional(),
        location: z.string().min(1).max(64).exactOptional(),
        state: openRunState.exactOptional(),
      }),
      response: z.array(openRun),
      paged: true,
    },
  ),
});
