/** Which project owns a resource, as answers show it. Shape from the field's practice. spec: open */
import { z } from 'zod';

const shownProject = z.object({ id: z.uuid(), logicalId: z.string(), name: z.string() });
const binding = z.object({
  project: shownProject,
  binding: z.object({
    logicalId: z.string(),
    pending: z.boolean().meta({
      description: 'Imported, and not in the files of the project yet',
    }),
  }),
});

/** Absent in answers that no project is looked up for. */
export const projectBindings = z
  .object({
    owner: binding.nullable(),
    references: z.array(binding).meta({
      description: 'Always empty: what a project only refers to is not noted',
      example: [],
    }),
  })
  .meta({ id: 'ProjectBindings' })
  .exactOptional();

/** The same for clients from before a resource could be in several projects. Null where none owns it. */
export const flatProjectBinding = {
  project: shownProject.nullable().exactOptional(),
  logicalId: z.string().nullable().exactOptional(),
  member: z.boolean().nullable().exactOptional(),
  pending: z.boolean().nullable().exactOptional(),
};
