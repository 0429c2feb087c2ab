/** Snippets: scripts that several checks share. */
import { z } from 'zod';
import { scriptText } from './check.ts';
import { pageOf, pathInteger, timestamp } from './primitives.ts';
import { defineRoutes, get, post, put, remove } from './route.ts';

const body = z.object({
  name: z.string().trim().min(1).max(255),
  script: scriptText.min(1),
});

export const snippet = body
  .extend({ id: z.int(), created_at: timestamp, updated_at: timestamp.nullable() })
  .meta({ id: 'Snippet' });

const byId = z.object({ id: pathInteger });

export const snippetRoutes = defineRoutes('Snippets', {
  listSnippets: get('/v1/snippets', 'List snippets', pageOf(snippet)),
  createSnippet: post('/v1/snippets', 'Create a snippet', { body, response: snippet }),
  getSnippet: get('/v1/snippets/{id}', 'Read a snippet', { params: byId, response: snippet }),
  updateSnippet: put('/v1/snippets/{id}', 'Replace a snippet', {
    params: byId,
    body,
    response: snippet,
  }),
  deleteSnippet: remove(
    '/v1/snippets/{id}',
    'Delete a snippet; checks and groups that use it go without',
    { params: byId },
  ),
});
