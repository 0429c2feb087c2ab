/** Snippets: scripts that several checks share. */
import { z } from 'zod';
import { scriptText } from './check.ts';
import { pageQuery, pathInteger, timestamp } from './primitives.ts';
import { defineRoute } from './route.ts';

const body = z.object({
  name: z.string().trim().min(1).max(255),
  script: scriptText.min(1),
});

export const snippet = body
  .extend({ id: z.int(), created_at: timestamp, updated_at: timestamp.nullable() })
  .meta({ id: 'Snippet' });

const tag = 'Snippets';
const byId = z.object({ id: pathInteger });

const listSnippets = defineRoute({
  operationId: 'listSnippets',
  method: 'GET',
  path: '/v1/snippets',
  tag,
  summary: 'List snippets',
  authentication: 'apiKey',
  query: z.object(pageQuery),
  status: 200,
  response: z.array(snippet),
  errors: [400],
  paged: true,
});

const createSnippet = defineRoute({
  operationId: 'createSnippet',
  method: 'POST',
  path: '/v1/snippets',
  tag,
  summary: 'Create a snippet',
  authentication: 'apiKey',
  body,
  status: 201,
  response: snippet,
  errors: [400],
});

const getSnippet = defineRoute({
  operationId: 'getSnippet',
  method: 'GET',
  path: '/v1/snippets/{id}',
  tag,
  summary: 'Read a snippet',
  authentication: 'apiKey',
  params: byId,
  status: 200,
  response: snippet,
  errors: [400, 404],
});

const updateSnippet = defineRoute({
  operationId: 'updateSnippet',
  method: 'PUT',
  path: '/v1/snippets/{id}',
  tag,
  summary: 'Replace a snippet',
  authentication: 'apiKey',
  params: byId,
  body,
  status: 200,
  response: snippet,
  errors: [400, 404],
});

const deleteSnippet = defineRoute({
  operationId: 'deleteSnippet',
  method: 'DELETE',
  path: '/v1/snippets/{id}',
  tag,
  summary: 'Delete a snippet; checks and groups that use it go without',
  authentication: 'apiKey',
  params: byId,
  status: 204,
  errors: [400, 404],
});

export const snippetRoutes = {
  listSnippets,
  createSnippet,
  getSnippet,
  updateSnippet,
  deleteSnippet,
};
