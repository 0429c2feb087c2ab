/** Variables of the account, for all checks. Spec: Environment variable object. */
import { z } from 'zod';
import { pageOf } from './primitives.ts';
import { defineRoutes, get, post, put, remove } from './route.ts';

const key = z
  .string()
  .min(1)
  .max(1024)
  .regex(/^\S+$/, 'must not contain spaces')
  .meta({ example: 'BASE_URL' });
const value = z.string().max(262_144);

export const variable = z
  .object({
    key,
    value: value.nullable().meta({ description: 'Null for secrets' }),
    locked: z.boolean(),
    secret: z.boolean(),
  })
  .meta({ id: 'Variable' });

const byKey = z.object({ key: z.string().min(1).max(1024) });

export const variableRoutes = defineRoutes('Variables', {
  listVariables: get(
    '/v1/variables',
    'List the variables of the account, by key',
    pageOf(variable),
  ),
  createVariable: post('/v1/variables', 'Create a variable', {
    body: z.object({
      key,
      value,
      locked: z.boolean().default(false),
      secret: z.boolean().default(false),
    }),
    response: variable,
    errors: [409],
  }),
  getVariable: get('/v1/variables/{key}', 'Read a variable', { params: byKey, response: variable }),
  updateVariable: put(
    '/v1/variables/{key}',
    'Change a variable; its key stays, and a secret stays a secret',
    {
      params: byKey,
      body: z.object({
        key: key.exactOptional(),
        value: value.exactOptional(),
        locked: z.boolean().exactOptional(),
        secret: z.boolean().exactOptional(),
      }),
      response: variable,
    },
  ),
  deleteVariable: remove('/v1/variables/{key}', 'Delete a variable', { params: byKey }),
});
