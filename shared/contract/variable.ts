/** Variables of the account, for all checks. Spec: Environment variable object. */
import { z } from 'zod';
import { pageOf, updateOf } from './primitives.ts';
import { sensitive } from './sensitive.ts';
import { defineRoutes, resourceOperations } from './route.ts';

const key = z
  .string()
  .min(1)
  .max(1024)
  .regex(/^\S+$/, 'must not contain spaces')
  .meta({ example: 'BASE_URL' });
const value = z.string().max(262_144);

const fields = {
  key,
  value,
  locked: z.boolean().default(false),
  secret: z.boolean().default(false),
};

export const variable = z
  .object({
    ...{ key, value: value.nullable().meta({ description: 'Null for secrets' }) },
    ...{ locked: z.boolean(), secret: z.boolean() },
  })
  .meta({ id: 'Variable' });

export const variableRoutes = defineRoutes('Variables', {
  ...resourceOperations('Variable', '/v1/variables', {
    by: { key: z.string().min(1).max(1024) },
    response: variable,
    list: { summary: 'List the variables of the account, by key', ...pageOf(variable) },
    create: { body: sensitive('variable', z.object(fields)), errors: [409] },
    update: {
      summary: 'Change a variable; its key stays, and a secret stays a secret',
      body: sensitive('variable', updateOf(fields)),
    },
  }),
});
