/** Runtimes: the versions of the packages that scripts can use. */
import { z } from 'zod';
import { runtimeId } from './primitives.ts';
import { defineRoute } from './route.ts';

export const runtime = z
  .object({
    name: runtimeId,
    multiStepSupport: z.boolean(),
    nodeJsVersion: z.string().meta({ example: 'v24.13.1' }),
    stage: z.enum(['ALPHA', 'BETA', 'CURRENT', 'DEPRECATED', 'REMOVED', 'STABLE']),
    runtimeEndOfLife: z.string().exactOptional(),
    description: z.string(),
    dependencies: z.record(z.string(), z.string()),
  })
  .meta({ id: 'Runtime' });
export type Runtime = z.input<typeof runtime>;

const listRuntimes = defineRoute({
  operationId: 'listRuntimes',
  method: 'GET',
  path: '/v1/runtimes',
  tag: 'Runtimes',
  summary: 'List runtimes, newest first',
  authentication: 'none',
  status: 200,
  response: z.array(runtime),
});

const getRuntime = defineRoute({
  operationId: 'getRuntime',
  method: 'GET',
  path: '/v1/runtimes/{id}',
  tag: 'Runtimes',
  summary: 'Read a runtime',
  authentication: 'none',
  params: z.object({ id: z.string().max(64) }),
  status: 200,
  response: runtime,
  errors: [404],
});

export const runtimeRoutes = { listRuntimes, getRuntime };
