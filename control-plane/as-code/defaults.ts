/** What a file need not say: fields of checks and groups with the value that they have by default. Pure. */
import { type Fields, isFields } from '@monitor/shared/fields.ts';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { ProjectResource } from '@monitor/shared/contract/compatibility/projects.ts';
import { bodyOfResource } from './decide/known-fields.ts';

/** The object below defaults and null; undefined for another schema. */
function objectIn(schema: z.core.$ZodType): z.ZodObject | undefined {
  if (schema instanceof z.ZodObject) return schema;
  const { innerType } = schema._zod.def as { innerType?: z.core.$ZodType };
  return innerType === undefined ? undefined : objectIn(innerType);
}

function isDefault(schema: z.core.$ZodType, value: unknown): boolean {
  const { success, data } = z.safeParse(schema, undefined);
  return (
    success && data !== undefined && isDeepStrictEqual(JSON.parse(JSON.stringify(data)), value)
  );
}

function shortened({ shape }: z.ZodObject, fields: Fields, isWhole = false): Fields {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => {
      const schema = (shape as Record<string, z.core.$ZodType>)[name];
      // Types of checks share their table: what another type has is null.
      if (schema === undefined) return isWhole && value === null ? [] : [[name, value]];
      if (isDefault(schema, value)) return [];
      const object = objectIn(schema);
      return [[name, object !== undefined && isFields(value) ? shortened(object, value) : value]];
    }),
  );
}

/** The same resource with fewer fields, which a deployment reads as the same. */
export function withoutDefaults(resource: ProjectResource): ProjectResource {
  const { type, payload } = resource;
  if (payload === null || (type !== 'check' && type !== 'check-group')) return resource;
  const { checkType, v, ...fields } = payload;
  const schema = bodyOfResource(type, payload);
  if (schema === undefined) return resource;
  const kept = type === 'check' ? { checkType } : { v };
  const { name, ...rest } = shortened(schema as unknown as z.ZodObject, fields, true);
  return { ...resource, payload: { ...kept, ...(name !== undefined && { name }), ...rest } };
}
