/** Turns validation errors and unknown fields into a 400 that names every field. */
import { isDeepStrictEqual } from 'node:util';
import { lossOf } from '@monitor/shared/contract/not-kept.ts';
import { fieldIssues, issueText, type FieldIssue } from '@monitor/shared/field-issues.ts';
import { isFields } from '@monitor/shared/fields.ts';
import {
  knownFields,
  unknownFields,
  type KnownFields,
  type UnknownField,
} from '@monitor/shared/known-fields.ts';
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

/** SQLite reads no JSON of more than 1,000 levels, and a body is stored within others. */
const maxLevels = 500;

interface Unstorable {
  steps: string[];
  message: string;
}

const tooDeep = `must not have more than ${maxLevels} levels of objects and lists`;
/** UTF-8 has no such character: the text would be stored with a mark of replacement in its place. */
const ofHalfPair = 'is no text of Unicode: half of a surrogate pair stands alone';

/** The first place of a value that would not be stored as it is. */
function unstorableIn(value: unknown, levels: number): Unstorable | null {
  if (typeof value === 'string') {
    return value.isWellFormed() ? null : { steps: [], message: ofHalfPair };
  }
  if (typeof value !== 'object' || value === null) return null;
  if (levels === 0) return { steps: [], message: tooDeep };
  for (const [name, part] of Object.entries(value)) {
    const found = name.isWellFormed()
      ? unstorableIn(part, levels - 1)
      : { steps: [], message: ofHalfPair };
    if (found === null) continue;
    // A path of 500 steps tells nobody anything.
    if (found.message !== tooDeep) found.steps.unshift(name);
    return found;
  }
  return null;
}

/** Refuses a body that could not be stored as it is, or then not be searched any more. */
export function refuseUnstorable(body: unknown): void {
  const found = unstorableIn(body, maxLevels);
  if (found === null) return;
  throw refusalOf([{ path: found.steps.join('.'), message: found.message }], 'payload');
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

/** Null, false and what is empty say nothing; so does `{ enabled: false }`. */
function isOff(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isFields(value)) {
    return 'enabled' in value ? isOff(value['enabled']) : Object.values(value).every(isOff);
  }
  return value === undefined || value === null || value === false || value === '';
}

/**
 * Refuses a body with a misspelt or misplaced field, or with one whose loss would change what happens.
 * Gives its other unknown fields, which are not kept.
 */
export function refuseMisspelt(
  { known, tolerated }: BodyFields,
  body: unknown,
  within: readonly string[] = [],
): UnknownField[] {
  const unknown = unknownFields(known, body, tolerated, within);
  const issues = unknown.flatMap(({ path, meant, value }) => {
    const loss = isOff(value) ? undefined : lossOf.get(path.split('.').at(-1) ?? '');
    if (loss !== undefined) return [{ path, message: `is not supported yet: ${loss}` }];
    return meant === null ? [] : [{ path, message: `is not a field; did you mean "${meant}"?` }];
  });
  if (issues.length > 0) throw refusalOf(issues, 'payload');
  return unknown;
}

/** What a body or query of agents and visitors has beyond what this version knows: never refused. */
export function ignoredBy(known: KnownFields, value: unknown): UnknownField[] {
  return unknownFields(known, value);
}

/**
 * The paths of fields that an answer does not have as they were sent; without an answer, of those that none
 * has. What was read may be sent back, and clients send fields of other types without a value.
 */
export function notKept(unknown: readonly UnknownField[], answer?: unknown): string[] {
  const answered = (path: string): unknown =>
    path
      .split('.')
      .reduce<unknown>((at, step) => (at as Record<string, unknown> | null)?.[step], answer);
  return unknown.flatMap(({ path, value, isTolerated }) =>
    isTolerated &&
    (answer === undefined || isOff(value) || isDeepStrictEqual(answered(path), value))
      ? []
      : [path],
  );
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

/**
 * Query parameters by name. Refuses unknown ones: an ignored filter would return everything. An empty list
 * is no filter, since clients write a list whether or not it has entries; `page=` stays a mistake.
 */
export function readQuery(
  known: KnownFields,
  query: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const plain = withoutBrackets(query);
  const names = [...known.fields.keys()];
  const issues = Object.keys(plain).flatMap((name): FieldIssue[] => {
    const field = known.fields.get(name);
    const isRepeated = Array.isArray(plain[name]) && field?.items === null;
    if (field !== undefined)
      return isRepeated ? [{ path: name, message: 'must be one value' }] : [];
    const meant = nearestWord(name, names);
    const hint =
      meant === null ? `its parameters are ${names.join(', ')}` : `did you mean "${meant}"?`;
    const message = `is not a parameter of this operation; ${names.length === 0 ? 'it has none' : hint}`;
    return [{ path: name, message }];
  });
  if (issues.length > 0) throw refusalOf(issues, 'query');
  const isEmptyList = ([name, value]: [string, unknown]): boolean =>
    known.fields.get(name)?.items != null && [value].flat().every((each) => each === '');
  return Object.fromEntries(Object.entries(plain).filter((each) => !isEmptyList(each)));
}
