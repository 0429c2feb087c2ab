/** Variables of the account, for all checks. Spec: Environment variable object. */
import { z } from 'zod';
import { pageQuery } from './primitives.ts';
import { defineRoute } from './route.ts';

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

const tag = 'Variables';
const byKey = z.object({ key: z.string().min(1).max(1024) });

const listVariables = defineRoute({
  operationId: 'listVariables',
  method: 'GET',
  path: '/v1/variables',
  tag,
  summary: 'List the variables of the account, by key',
  authentication: 'apiKey',
  query: z.object(pageQuery),
  status: 200,
  response: z.array(variable),
  errors: [400],
  paged: true,
});

const createVariable = defineRoute({
  operationId: 'createVariable',
  method: 'POST',
  path: '/v1/variables',
  tag,
  summary: 'Create a variable',
  authentication: 'apiKey',
  body: z.object({
    key,
    value,
    locked: z.boolean().default(false),
    secret: z.boolean().default(false),
  }),
  status: 201,
  response: variable,
  errors: [400, 409],
});

const getVariable = defineRoute({
  operationId: 'getVariable',
  method: 'GET',
  path: '/v1/variables/{key}',
  tag,
  summary: 'Read a variable',
  authentication: 'apiKey',
  params: byKey,
  status: 200,
  response: variable,
  errors: [400, 404],
});

const updateVariable = defineRoute({
  operationId: 'updateVariable',
  method: 'PUT',
  path: '/v1/variables/{key}',
  tag,
  summary: 'Change a variable; its key stays, and a secret stays a secret',
  authentication: 'apiKey',
  params: byKey,
  body: z.object({
    key: key.exactOptional(),
    value: value.exactOptional(),
    locked: z.boolean().exactOptional(),
    secret: z.boolean().exactOptional(),
  }),
  status: 200,
  response: variable,
  errors: [400, 404],
});

const deleteVariable = defineRoute({
  operationId: 'deleteVariable',
  method: 'DELETE',
  path: '/v1/variables/{key}',
  tag,
  summary: 'Delete a variable',
  authentication: 'apiKey',
  params: byKey,
  status: 204,
  errors: [400, 404],
});

export const variableRoutes = {
  listVariables,
  createVariable,
  getVariable,
  updateVariable,
  deleteVariable,
};
