/** Turns what zod found wrong into a refusal that names every field. */
import type { z } from 'zod';
import { ApiError } from '../api-error.ts';

type Source = 'payload' | 'query' | 'params';

function pathText(path: readonly PropertyKey[]): string {
  return path.map(String).join('.');
}

/** A sentence for one issue, without the field's name. */
function problemOf(issue: z.core.$ZodIssue): string {
  if (issue.code.startsWith('invalid_') && issue.input === undefined) return 'is required';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${withArticle(issue.expected)}`;
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}`;
    case 'too_big':
      return `must be at most ${String(issue.maximum)}${unitOf(issue.origin)}`;
    case 'too_small':
      return `must be ${issue.inclusive === false ? 'more than' : 'at least'} ${String(issue.minimum)}${unitOf(issue.origin)}`;
    case 'invalid_union':
      return 'options' in issue && Array.isArray(issue.options)
        ? `must be one of ${issue.options.map(String).join(', ')}`
        : sentenceOf(issue);
    default:
      return sentenceOf(issue);
  }
}

function sentenceOf(issue: z.core.$ZodIssue): string {
  return issue.message.charAt(0).toLowerCase() + issue.message.slice(1);
}

function withArticle(type: string): string {
  const noun = type === 'int' ? 'whole number' : type;
  return /^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`;
}

function unitOf(origin: string): string {
  if (origin === 'string') return ' characters long';
  return origin === 'array' ? ' items long' : '';
}

/** The branch of a union that came closest says most about what is wrong. */
function flatten(issue: z.core.$ZodIssue, prefix: readonly PropertyKey[]): FieldIssue[] {
  const path = [...prefix, ...issue.path];
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const branches = issue.errors.map((errors) => errors.flatMap((inner) => flatten(inner, path)));
    const deepest = Math.max(...branches.map(depthOf));
    return branches.find((branch) => depthOf(branch) === deepest) ?? [];
  }
  return [{ path: pathText(path), message: problemOf(issue) }];
}

interface FieldIssue {
  path: string;
  message: string;
}

function depthOf(branch: FieldIssue[]): number {
  return Math.max(0, ...branch.map((issue) => issue.path.split('.').length));
}

/** Parses one part of a request, or refuses it with 400. */
export function validate<S extends z.ZodType>(
  schema: S,
  value: unknown,
  source: Source,
  /** Where in the body the value stands. */
  within: readonly string[] = [],
): z.output<S> {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.flatMap((issue) => flatten(issue, within));
  const [first] = issues;
  const whole = source === 'payload' ? 'the body' : 'the request';
  const subject = first === undefined || first.path === '' ? whole : `"${first.path}"`;
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  throw new ApiError('VALIDATION', `${subject} ${first?.message ?? 'is not valid'}${more}`, {
    source,
    keys: [...new Set(issues.map((issue) => issue.path))].filter((path) => path !== ''),
    issues,
  });
}
