/** Deletions that can be undone for a minute. */
import { z } from 'zod';
import { pathId, timestamp } from './primitives.ts';
import { defineRoutes, get, remove } from './route.ts';

export const deletion = z
  .object({
    id: z.uuid(),
    path: z.string().meta({ description: 'Of the entry, such as `v1/checks/{id}`' }),
    name: z.string(),
    dueAt: timestamp.meta({ description: 'It can be undone until then' }),
    problem: z.string().nullable().meta({ description: 'Why the entry could not be deleted' }),
  })
  .meta({ id: 'Deletion' });

export const deletionRoutes = defineRoutes('Deletions', {
  listDeletions: get('/v1/deletions', 'List the deletions that can be undone', {
    description:
      'A `DELETE` of an entry with the header `Prefer: respond-async` answers 202, and the entry is deleted a minute later. A check does not run and is in no list from the beginning; other entries are there until then. Without the header, and where a deletion takes access away (keys, people) or has an answer of its own (projects), entries are deleted at once. The newest thousand are listed.',
    response: z.array(deletion),
    errors: [],
  }),
  undoDeletion: remove('/v1/deletions/{id}', 'Undo a deletion', {
    description: 'The entry is as it was. One that could not be deleted is no longer listed.',
    params: z.object({ id: pathId }),
  }),
});
