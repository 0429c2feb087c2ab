/** Validation errors of zod as texts, for both sides. */
import type { z } from 'zod';

export interface FieldIssue {
  /** Path of the value, such as `request.url`; empty for the whole. */
  path: string;
  /** The problem without the name of the field. */
  message: string;
}

/** What zod says, as the end of a sentence that begins with the name of the field. */
function sentenceOf({ message }: z.core.$ZodIssue): string {
  const text = message
    .replace(/^Invalid (input$|\w+: )/, '')
    .replace(/^Invalid /, 'must be a valid ');
  return text === '' ? 'is not valid' : text.charAt(0).toLowerCase() + text.slice(1);
}

function withArticle(type: string): string {
  const noun = type === 'int' ? 'whole number' : type;
  return /^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`;
}

function unitOf(origin: string): string {
  if (origin === 'string') return ' characters long';
  return origin === 'array' ? ' items long' : '';
}

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
      if (issue.origin === 'string' && issue.minimum === 1) return 'must not be empty';
      return `must be ${issue.inclusive === false ? 'more than' : 'at least'} ${String(issue.minimum)}${unitOf(issue.origin)}`;
    case 'invalid_union':
      return 'options' in issue && Array.isArray(issue.options)
        ? `must be one of ${issue.options.map(String).join(', ')}`
        : sentenceOf(issue);
    default:
      return sentenceOf(issue);
  }
}

function depthOf(branch: readonly FieldIssue[]): number {
  return Math.max(0, ...branch.map((issue) => issue.path.split('.').length));
}

/** For a union, the closest branch explains the problem best. */
function flatten(issue: z.core.$ZodIssue, prefix: readonly PropertyKey[]): FieldIssue[] {
  const path = [...prefix, ...issue.path];
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const branches = issue.errors.map((errors) => errors.flatMap((inner) => flatten(inner, path)));
    const deepest = Math.max(...branches.map(depthOf));
    return branches.find((branch) => depthOf(branch) === deepest) ?? [];
  }
  return [{ path: path.map(String).join('.'), message: problemOf(issue) }];
}

/** One issue per field. Parse with `reportInput`: otherwise missing and wrong values look the same. */
export function fieldIssues(
  issues: readonly z.core.$ZodIssue[],
  /** Path of the parsed value. */
  within: readonly PropertyKey[] = [],
): FieldIssue[] {
  return issues.flatMap((issue) => flatten(issue, within));
}

/** `"request" is required`; `whole` names the value with the empty path. */
export function issueText({ path, message }: FieldIssue, whole: string): string {
  return `${path === '' ? whole : `"${path}"`} ${message}`;
}
