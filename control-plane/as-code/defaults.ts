/** What a file need not say: fields of checks and groups with the value that they have by default. Pure. */
import { isFields } from '@monitor/shared/fields.ts';
import type { ProjectResource } from '@monitor/shared/contract/compatibility/projects.ts';
import { withoutDefaults as shortened } from '@monitor/shared/without-defaults.ts';
import type { z } from 'zod';
import { bodyOfResource } from '@monitor/shared/contract/resource-bodies.ts';

/** The same resource with fewer fields, which a deployment reads as the same. */
export function withoutDefaults(resource: ProjectResource): ProjectResource {
  const { type, payload } = resource;
  if (payload === null || (type !== 'check' && type !== 'check-group')) return resource;
  const { checkType, v, ...fields } = payload;
  const schema = bodyOfResource(type, payload) as z.ZodObject | undefined;
  if (schema === undefined) return resource;
  // Types of checks share their table: what another type has is null.
  const own = Object.entries(fields).filter(
    ([name, value]) => Object.hasOwn(schema.shape, name) || value !== null,
  );
  const short = shortened(schema, Object.fromEntries(own));
  const kept = type === 'check' ? { checkType } : { v };
  const { name, ...rest } = isFields(short) ? short : {};
  return { ...resource, payload: { ...kept, ...(name !== undefined && { name }), ...rest } };
}
