/** Deletions that can be undone for a minute. */
import { z } from 'zod';
import { pathId, timestamp } from './primitives.ts';
import { defineRoute } from './route.ts';

const tag = 'Deletions';

export const deletion = z
  .object({
    id: z.uuid(),
    path: z.string().meta({ description: 'Of the entry, such as `v1/checks/{id}`' }),
    name: z.string(),
    dueAt: timestamp.meta({ description: 'It can be undone until then' }),
    problem: z.string().nullable().meta({ description: 'Why the entry could not be deleted' }),
  })
  .meta({ id: 'Deletion' });

const listDeletions = defineRoute({
  operationId: 'listDeletions',
  method: 'GET',
  path: '/v1/deletions',
  tag,
  summary: 'List the deletions that can be undone',
  description:
    'A `DELETE` of an entry with the header `Prefer: respond-async` answers 202, and the entry is deleted a minute later. A check does not run and is in no list from the beginning; other entries are there until then. Without the header, and where a deletion takes access away (keys, people) or has an answer of its own (projects), entries are deleted at once. The newest thousand are listed.',
  authentication: 'apiKey',
  status: 200,
  response: z.array(deletion),
  errors: [],
});

const undoDeletion = defineRoute({
  operationId: 'undoDeletion',
  method: 'DELETE',
  path: '/v1/deletions/{id}',
  tag,
  summary: 'Undo a deletion',
  description: 'The entry is as it was. One that could not be deleted is no longer listed.',
  authentication: 'apiKey',
  params: z.object({ id: pathId }),
  status: 204,
  errors: [404],
});

export const deletionRoutes = { listDeletions, undoDeletion };
