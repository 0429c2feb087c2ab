/** Snippets: scripts that several checks share. */
import { z } from 'zod';
import { scriptText } from './check.ts';
import { pageOf, pathInteger, timestamp } from './primitives.ts';
import { defineRoutes, resourceOperations } from './route.ts';

const body = z.object({
  name: z.string().trim().min(1).max(255),
  script: scriptText.min(1),
});

export const snippet = body
  .extend({ id: z.int(), created_at: timestamp, updated_at: timestamp.nullable() })
  .meta({ id: 'Snippet' });

export const snippetRoutes = defineRoutes('Snippets', {
  ...resourceOperations('Snippet', '/v1/snippets', {
    by: { id: pathInteger },
    response: snippet,
    list: pageOf(snippet),
    create: { body },
    update: { summary: 'Replace a snippet', body },
    remove: { summary: 'Delete a snippet; checks and groups that use it go without' },
  }),
});
