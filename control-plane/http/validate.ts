/** Turns validation errors and unknown fields into a 400 that names every field. */
import { fieldIssues, issueText, type FieldIssue } from '@monitor/shared/field-issues.ts';
import { knownFields, unknownFields, type KnownFields } from '@monitor/shared/known-fields.ts';
import { nearestWord } from '@monitor/shared/nearest-word.ts';
import type { z } from 'zod';
import { ApiError } from '../errors/api-error.ts';

type Source = 'payload' | 'query' | 'params';

/** Parses one part of a request, or refuses it with 400. */
export function validate<S extends z.ZodType>(
  schema: S,
  value: unknown,
  source: Source,
  /** Path of the value in the body. */
  within: readonly string[] = [],
): z.output<S> {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw refusalOf(fieldIssues(parsed.error.issues, within), source);
}

function refusalOf(issues: FieldIssue[], source: Source): ApiError {
  const [first = { path: '', message: 'is not valid' }] = issues;
  const text = issueText(first, source === 'payload' ? 'the body' : 'the request');
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  return new ApiError('VALIDATION', `${text}${more}`, {
    source,
    keys: [...new Set(issues.map((issue) => issue.path))].filter((path) => path !== ''),
    issues,
  });
}

/** The fields of a body, and related fields that do not count as misspelt. */
export interface BodyFields {
  readonly known: KnownFields;
  readonly tolerated: KnownFields;
}

/** `related` are schemas whose fields clients also send: those of answers, and of other check types. */
export function bodyFields(body: z.ZodType, related: readonly z.ZodType[]): BodyFields {
  return { known: knownFields(body), tolerated: knownFields(...related) };
}

/**
 * Refuses a body with a misspelt or misplaced field, which would silently have no effect. Gives the
 * paths of other unknown fields, which are ignored.
 */
export function refuseMisspelt(
  { known, tolerated }: BodyFields,
  body: unknown,
  within: readonly string[] = [],
): string[] {
  const unknown = unknownFields(known, body, tolerated, within);
  const issues = unknown.flatMap(({ path, meant }) =>
    meant === null ? [] : [{ path, message: `is not a field; did you mean "${meant}"?` }],
  );
  if (issues.length > 0) throw refusalOf(issues, 'payload');
  return unknown.map(({ path }) => path);
}

/** Accepts lists as most clients write them: `tag[]=a&tag[]=b` means `tag=a&tag=b`. */
function withoutBrackets(query: Readonly<Record<string, unknown>>): Record<string, unknown> {
  if (!Object.keys(query).some((name) => name.endsWith('[]'))) return { ...query };
  const merged = new Map<string, unknown>();
  for (const [given, value] of Object.entries(query)) {
    const isList = given.endsWith('[]');
    const name = isList ? given.slice(0, -2) : given;
    const before = merged.get(name);
    const isAlone = before === undefined && !isList;
    merged.set(name, isAlone ? value : [before ?? [], value].flat());
  }
  return Object.fromEntries(merged);
}

/** Query parameters by name. Refuses unknown ones: an ignored filter would return everything. */
export function readQuery(
  known: KnownFields,
  query: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const plain = withoutBrackets(query);
  const names = [...known.fields.keys()];
  const issues = Object.keys(plain).flatMap((name): FieldIssue[] => {
    if (known.fields.has(name)) return [];
    const meant = nearestWord(name, names);
    const hint =
      meant === null ? `its parameters are ${names.join(', ')}` : `did you mean "${meant}"?`;
    const message = `is not a parameter of this operation; ${names.length === 0 ? 'it has none' : hint}`;
    return [{ path: name, message }];
  });
  if (issues.length > 0) throw refusalOf(issues, 'query');
  return plain;
}
