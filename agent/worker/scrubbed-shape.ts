/**
 * Restores the shape of scrubbed results. The scrubber does not know shapes: a secret such as
 * `test` may be the name of a field, and a PIN part of an instant. The control plane would refuse a
 * result with a wrong shape.
 */
import { type Fields, isFields } from '@monitor/shared/fields.ts';
import { z } from 'zod';

/** The schema of a present value. */
function presentOf(schema: z.ZodType): z.ZodType {
  let present = schema;
  while (
    present instanceof z.ZodNullable ||
    present instanceof z.ZodOptional ||
    present instanceof z.ZodExactOptional ||
    present instanceof z.ZodDefault
  ) {
    present = present.unwrap() as z.ZodType;
  }
  return present;
}

/** The names of a known shape are not secret and stay as they are; other names are scrubbed. */
function objectWithShape({ shape }: z.ZodObject, original: Fields, scrubbed: Fields): Fields {
  const names = Object.keys(scrubbed);
  const entries = Object.entries(original).map(([name, value], index): [string, unknown] => {
    const given = names[index] ?? name;
    const field = Object.hasOwn(shape, name) ? (shape[name] as z.ZodType) : undefined;
    return field === undefined
      ? [given, scrubbed[given]]
      : [name, restored(field, value, scrubbed[given])];
  });
  return Object.fromEntries(entries);
}

function restored(schema: z.ZodType, original: unknown, scrubbed: unknown): unknown {
  const type = presentOf(schema);
  if (type instanceof z.ZodArray && Array.isArray(original) && Array.isArray(scrubbed)) {
    const element = type.element as z.ZodType;
    return original.map((item, index) => restored(element, item, scrubbed[index]));
  }
  if (isFields(original) && isFields(scrubbed)) {
    if (type instanceof z.ZodObject) return objectWithShape(type, original, scrubbed);
    if (type instanceof z.ZodRecord) {
      const value = type.valueType as z.ZodType;
      const originals = Object.values(original);
      const entries = Object.entries(scrubbed);
      return Object.fromEntries(
        entries.map(([name, item], index) => [name, restored(value, originals[index], item)]),
      );
    }
  }
  if (type.safeParse(scrubbed).success) return scrubbed;
  // Masks may be longer than the masked value.
  const cut = typeof original === 'string' ? String(scrubbed).slice(0, original.length) : original;
  return type.safeParse(cut).success ? cut : original;
}

/**
 * `scrubbed` is `original` without secrets; this gives it the shape of the schema again. Numbers,
 * instants and enum values are restored from the original.
 */
export function withShapeOf<T>(schema: z.ZodType, original: T, scrubbed: T): T {
  if (scrubbed === original || schema.safeParse(scrubbed).success) return scrubbed;
  return restored(schema, original, scrubbed) as T;
}
