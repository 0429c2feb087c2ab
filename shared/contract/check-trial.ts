/** Trials: a check is run once as somebody has typed it, before it is saved. */
import { z } from 'zod';
import { anyCreate } from './check-routes.ts';
import { pathId } from './primitives.ts';
import { defineRoutes, post, remove } from './route.ts';

export const checkTrialRoutes = defineRoutes('Check sessions', {
  createCheckTrial: post('/v1/check-trials', 'Run a check once before saving it', {
    description:
      'The check is kept for an hour, inactive and in no list; it alerts nobody. Its session is read as any other, its result by the id of the trial. With `checkId`, hidden values that the body leaves out are those of that check.',
    rateLimit: { requests: 30, seconds: 60 },
    query: z.object({
      location: z
        .string()
        .min(1)
        .max(64)
        .exactOptional()
        .meta({ description: 'The first location of the check when it is absent' }),
      checkId: pathId.exactOptional(),
    }),
    body: anyCreate.meta({
      example: {
        checkType: 'URL',
        name: 'Shop',
        locations: ['eu-central-1'],
        request: { url: 'https://shop.example/health' },
      },
    }),
    response: z.object({ id: z.uuid(), checkSessionId: z.uuid() }).meta({ id: 'CheckTrial' }),
    errors: [404],
  }),
  deleteCheckTrial: remove('/v1/check-trials/{id}', 'End a trial and delete its result', {
    params: z.object({ id: pathId }),
  }),
});
