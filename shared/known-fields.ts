/** Finds unknown fields, which zod would drop silently. */
import type { z } from 'zod';
import { type Sensitivity, sensitivityOf } from './contract/sensitive.ts';
import { nearestWord } from './nearest-word.ts';
import { withinOf } from './without-defaults.ts';

/** Known fields by path. */
export interface KnownFields {
  readonly fields: ReadonlyMap<string, KnownFields>;
  /** Fields of list items. */
  readonly items: KnownFields | null;
  /** True when any field is known: records and untyped values. */
  readonly isOpen: boolean;
  /** What kind of credential it is; null for none. */
  readonly sensitivity: Sensitivity | null;
  /** Those of its fields that are credentials or hold any. */
  readonly sensitive: readonly (readonly [string, KnownFields])[];
}

export interface UnknownField {
  /** `request.asertions`, `request.headers.0.kye`. */
  path: string;
  /** The same one by one: a name may have a dot. */
  steps: readonly string[];
  /** The similar known field, relative to the same place: `assertions`; null without one. */
  meant: string | null;
  value: unknown;
  /** Tolerated ones are not misspelt. */
  isTolerated: boolean;
}

const leaf: KnownFields = {
  ...{ fields: new Map(), items: null, isOpen: false },
  ...{ sensitivity: null, sensitive: [] },
};
const open: KnownFields = { ...leaf, isOpen: true };

const isSensitive = ({ sensitivity, sensitive, items }: KnownFields): boolean =>
  sensitivity !== null || sensitive.length > 0 || (items !== null && isSensitive(items));

const sensitiveOf = (fields: KnownFields['fields']) =>
  [...fields].filter(([, field]) => isSensitive(field));

function merge(one: KnownFields, other: KnownFields): KnownFields {
  const fields = new Map(one.fields);
  for (const [name, known] of other.fields) {
    const first = fields.get(name);
    fields.set(name, first === undefined ? known : merge(first, known));
  }
  const items =
    one.items === null || other.items === null
      ? (one.items ?? other.items)
      : merge(one.items, other.items);
  return {
    ...{ fields, items, isOpen: one.isOpen || other.isOpen },
    sensitivity: one.sensitivity ?? other.sensitivity,
    sensitive: sensitiveOf(fields),
  };
}

/** The union of several schemas. No schema of a body is recursive. */
export function knownFields(...schemas: readonly z.ZodType[]): KnownFields {
  return schemas.map(knownBy).reduce(merge, leaf);
}

function knownBy(schema: z.core.$ZodType): KnownFields {
  const known = fieldsBy(schema);
  const sensitivity = sensitivityOf(schema) ?? known.sensitivity;
  return { ...known, sensitivity, sensitive: sensitiveOf(known.fields) };
}

function fieldsBy(schema: z.core.$ZodType): KnownFields {
  const within = withinOf(schema);
  if (within !== null) return knownBy(within);
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object': {
      const entries = Object.entries(def.shape);
      return {
        ...leaf,
        fields: new Map(entries.map(([name, field]) => [name, knownBy(field)])),
        isOpen: def.catchall !== undefined && def.catchall._zod.def.type !== 'never',
      };
    }
    case 'array':
      return { ...leaf, items: knownBy(def.element) };
    case 'union':
      return def.options.map(knownBy).reduce(merge, leaf);
    case 'intersection':
      return merge(knownBy(def.left), knownBy(def.right));
    case 'record':
    case 'map':
    case 'any':
    case 'unknown':
    case 'custom':
    case 'transform':
    case 'lazy':
    case 'tuple':
      return open;
    default:
      return leaf;
  }
}

/** A value with `map` applied to its credentials, wherever they stand in it. */
export function mapSensitive<T>(
  { sensitivity, sensitive, items }: KnownFields,
  value: T,
  map: (is: Sensitivity, value: unknown) => unknown,
): T {
  if (value == null) return value;
  if (sensitivity !== null) return map(sensitivity, value) as T;
  if (Array.isArray(value)) {
    if (items === null) return value;
    return value.map((item: unknown) => mapSensitive(items, item, map)) as T;
  }
  if (sensitive.length === 0 || typeof value !== 'object') return value;
  const mapped = { ...value } as Record<string, unknown>;
  for (const [name, field] of sensitive) {
    if (name in mapped) mapped[name] = mapSensitive(field, mapped[name], map);
  }
  return mapped as T;
}

/** Finds a misplaced field: `assertions` of a check belongs into its `request`. */
function pathInChildren(name: string, known: KnownFields): string | null {
  for (const [parent, { fields }] of known.fields) {
    if (fields.has(name)) return `${parent}.${name}`;
  }
  return null;
}

function* walk(
  known: KnownFields,
  value: unknown,
  tolerated: KnownFields,
  within: readonly string[],
): Generator<UnknownField, void> {
  if (typeof value !== 'object' || value === null || known.isOpen) return;
  if (Array.isArray(value)) {
    const { items } = known;
    if (items === null) return;
    for (const [index, item] of value.entries()) {
      yield* walk(items, item, tolerated.items ?? leaf, [...within, String(index)]);
    }
    return;
  }
  for (const [name, inner] of Object.entries(value)) {
    const path = [...within, name];
    const field = known.fields.get(name);
    if (field !== undefined) yield* walk(field, inner, tolerated.fields.get(name) ?? leaf, path);
    else {
      const isTolerated = tolerated.isOpen || tolerated.fields.has(name);
      const meant = isTolerated
        ? null
        : (nearestWord(name, [...known.fields.keys()]) ?? pathInChildren(name, known));
      yield { path: path.join('.'), steps: path, meant, value: inner, isTolerated };
    }
  }
}

/** Limit of suggestions: they are expensive, and nobody reads more. */
const maxNamed = 100;

/**
 * The fields of a value that `known` does not have; `tolerated` contains response fields and fields of other
 * types. At most a hundred.
 */
export function unknownFields(
  known: KnownFields,
  value: unknown,
  tolerated: KnownFields = leaf,
  within: readonly string[] = [],
): UnknownField[] {
  return walk(known, value, tolerated, within).take(maxNamed).toArray();
}
