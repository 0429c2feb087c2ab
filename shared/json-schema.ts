/** JSON schemas of the contract, for the API description and for forms. */
import { z } from 'zod';

export type Json = Record<string, unknown>;

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A schema of zod, and its JSON schema, which may be changed. */
export interface Translated {
  zodSchema: z.core.$ZodTypes;
  jsonSchema: z.core.JSONSchema.BaseSchema;
}

/**
 * A schema's meta `override` replaces what zod would say of a parsed query string. A default and a description that
 * were given afterwards stand beside it.
 */
function applyOverrides(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(applyOverrides);
  if (!isJson(value)) return value;
  if (isJson(value['override'])) {
    const { override, default: fallback, description } = value;
    return {
      ...(description !== undefined && { description }),
      ...override,
      ...(fallback !== undefined && { default: fallback }),
    };
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, applyOverrides(inner)]),
  );
}

/**
 * zod leaves the default out of what it transforms on the way in, and a client needs to know it. It
 * bounds every whole number by what JavaScript holds exactly, which is no limit of the contract and
 * would become the example of every id.
 */
function keepDefaults({ zodSchema, jsonSchema }: Translated): void {
  const { def } = zodSchema._zod;
  if (def.type === 'default') jsonSchema.default ??= def.defaultValue as typeof jsonSchema.default;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}

/** The JSON schema of a schema, with named definitions below `$defs`. */
export function jsonSchemaOf(
  schema: z.ZodType,
  io: 'input' | 'output',
  change: (translated: Translated) => void = () => undefined,
): Json {
  const override = (translated: Translated): void => {
    keepDefaults(translated);
    change(translated);
  };
  return applyOverrides(z.toJSONSchema(schema, { io, unrepresentable: 'any', override })) as Json;
}

/** Puts definitions in the place of their names, except those that `isKept` leaves where they are. */
export function inPlace(
  value: unknown,
  definitions: Json,
  isKept: (definition: Json) => boolean = () => false,
): unknown {
  if (Array.isArray(value)) return value.map((inner) => inPlace(inner, definitions, isKept));
  if (!isJson(value)) return value;
  const { $ref: reference, ...beside } = value;
  const definition =
    typeof reference === 'string' ? definitions[reference.replace('#/$defs/', '')] : undefined;
  if (isJson(definition) && !isKept(definition)) {
    const { id: _name, ...rest } = definition;
    return inPlace({ ...rest, ...beside }, definitions, isKept);
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, inPlace(inner, definitions, isKept)]),
  );
}

/** The JSON schema of a body, with definitions in the place of their names. */
export function inputSchema(schema: z.ZodType, change?: (translated: Translated) => void): Json {
  const { $defs = {}, ...own } = jsonSchemaOf(schema, 'input', change);
  return inPlace(own, $defs as Json) as Json;
}
