/** Runtimes: the versions of the packages that scripts can use. */
import { z } from 'zod';
import { runtimeId } from './primitives.ts';
import { defineRoutes, get } from './route.ts';

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

export const runtimeRoutes = defineRoutes('Runtimes', {
  listRuntimes: get('/v1/runtimes', 'List runtimes, newest first', {
    authentication: 'none',
    response: z.array(runtime),
  }),
  getRuntime: get('/v1/runtimes/{id}', 'Read a runtime', {
    authentication: 'none',
    params: z.object({ id: z.string().max(64) }),
    response: runtime,
  }),
});
