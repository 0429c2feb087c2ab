/** Trials: a check is run once as somebody has typed it, before it is saved. */
import { z } from 'zod';
import { anyCreate } from './check-routes.ts';
import { pathId } from './primitives.ts';
import { defineRoute } from './route.ts';

const tag = 'Check sessions';

const createCheckTrial = defineRoute({
  operationId: 'createCheckTrial',
  method: 'POST',
  path: '/v1/check-trials',
  tag,
  summary: 'Run a check once before saving it',
  description:
    'The check is kept for an hour, inactive and in no list; it alerts nobody. Its session is read as any other, its result by the id of the trial. With `checkId`, hidden values that the body leaves out are those of that check.',
  authentication: 'apiKey',
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
  status: 201,
  response: z.object({ id: z.uuid(), checkSessionId: z.uuid() }).meta({ id: 'CheckTrial' }),
  errors: [400, 404],
});

const deleteCheckTrial = defineRoute({
  operationId: 'deleteCheckTrial',
  method: 'DELETE',
  path: '/v1/check-trials/{id}',
  tag,
  summary: 'End a trial and delete its result',
  authentication: 'apiKey',
  params: z.object({ id: pathId }),
  status: 204,
  errors: [404],
});

export const checkTrialRoutes = { createCheckTrial, deleteCheckTrial };
