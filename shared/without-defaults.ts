/** Leaves out what a schema adds by itself: the rest is parsed to the same value. Pure. */
import { z } from 'zod';
import { canonicalJson } from './canonical-json.ts';
import { isFields } from './fields.ts';

/** The schema within one that adds a default, null or a transform; null for others. */
export function withinOf(schema: z.core.$ZodType): z.core.$ZodType | null {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'catch':
    case 'readonly':
      return def.innerType;
    // The input of a transform is what clients send.
    case 'pipe':
      return def.in._zod.def.type === 'transform' ? def.out : def.in;
    default:
      return null;
  }
}

/** The schema of the value itself. */
function bare(schema: z.core.$ZodType): z.core.$ZodTypes {
  const within = withinOf(schema);
  return within === null ? (schema as z.core.$ZodTypes) : bare(within);
}

function isDefault(schema: z.core.$ZodType, value: unknown): boolean {
  const { success, data } = z.safeParse(schema, undefined);
  return success && data !== undefined && canonicalJson(data) === canonicalJson(value);
}

/** The value without the fields that have their default, at any depth. */
export function withoutDefaults(schema: z.core.$ZodType, value: unknown): unknown {
  const { def } = bare(schema)._zod;
  if (def.type === 'array' && Array.isArray(value)) {
    return value.map((item: unknown) => withoutDefaults(def.element, item));
  }
  if (def.type !== 'object' || !isFields(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => {
      const field = Object.hasOwn(def.shape, name) ? def.shape[name] : undefined;
      if (field === undefined) return [[name, inner]];
      return isDefault(field, inner) ? [] : [[name, withoutDefaults(field, inner)]];
    }),
  );
}
