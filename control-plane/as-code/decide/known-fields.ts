/** The fields that a file may have: those of the body from which its resource is made. Pure. */
import { isFields, type Fields } from '@monitor/shared/fields.ts';
import { checkGroupRoutes } from '@monitor/shared/contract/check-group.ts';
import { anyCreate } from '@monitor/shared/contract/check-routes.ts';
import { projectBody, type ResourceType } from '@monitor/shared/contract/compatibility/projects.ts';
import { bodyOfResource, resourceBodies } from '@monitor/shared/contract/resource-bodies.ts';
import {
  type KnownFields,
  knownFields,
  type UnknownField,
  unknownFields,
} from '@monitor/shared/known-fields.ts';
import { z } from 'zod';

/** What every file may have beside the body of its resource. */
const inFiles = z.object({
  alertChannels: z.array(z.object({ ref: z.string(), activated: z.boolean() })),
});
/** What says how the body is read. */
const beside: Readonly<Partial<Record<ResourceType, z.ZodType>>> = {
  check: inFiles.extend({ checkType: z.string() }),
  'check-group': z.union([
    inFiles.extend({ v: z.int() }),
    checkGroupRoutes.createCheckGroupV1.body,
  ]),
};

/** `{ ref: … }` and `{ secret: … }` stand for a value of any form. */
function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (!isFields(value)) return value;
  const entries = Object.entries(value);
  const [[only, named] = []] = entries;
  if (entries.length === 1 && (only === 'ref' || only === 'secret') && typeof named === 'string') {
    return null;
  }
  return Object.fromEntries(entries.map(([name, inner]) => [name, withoutMarks(inner)]));
}

const known = new Map<z.ZodType, KnownFields>();

function knownBy(body: z.ZodType, type: ResourceType | 'project'): KnownFields {
  const found = known.get(body);
  if (found !== undefined) return found;
  const more = type === 'project' ? undefined : beside[type];
  const fields = more === undefined ? knownFields(body) : knownFields(body, more);
  known.set(body, fields);
  return fields;
}

/** The fields of a resource; those of a check of any type, since a file may name none. */
export function fieldsOfResource(type: ResourceType): KnownFields {
  const body = type === 'check' ? anyCreate : resourceBodies[type];
  return body === undefined ? knownFields() : knownBy(body, type);
}

/**
 * Fields of a file that its resource does not have. The API ignores those that resemble none, for clients of
 * other versions; in a file that a person wrote they are mistakes.
 */
export function unknownFieldsOf(type: ResourceType | 'project', fields: Fields): UnknownField[] {
  const body = type === 'project' ? projectBody.shape.project : bodyOfResource(type, fields);
  return body === undefined ? [] : unknownFields(knownBy(body, type), withoutMarks(fields));
}
