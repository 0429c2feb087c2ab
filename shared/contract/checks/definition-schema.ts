import { z } from 'zod';
import type { CheckTypeDefinition } from './check-type.ts';

/** Schemas are compiled when they are first used: once for a type, not for each of its checks. */
const schemas = new Map<CheckTypeDefinition, z.ZodObject>();

/** The fields of a check that its runs need: `definition` of an assigned check. */
export function definitionSchemaOf(type: CheckTypeDefinition): z.ZodObject {
  const { shape } = type.create;
  const known = schemas.get(type);
  if (known !== undefined) return known;
  const fields = type.definitionKeys.map((key) => [key, shape[key]]);
  const schema = z.object(Object.fromEntries(fields));
  schemas.set(type, schema);
  return schema;
}
