/** Turns what zod found wrong into a refusal that names every field. */
import { fieldIssues, issueText } from '@monitor/shared/field-issues.ts';
import type { z } from 'zod';
import { ApiError } from '../api-error.ts';

type Source = 'payload' | 'query' | 'params';

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
  const issues = fieldIssues(parsed.error.issues, within);
  const [first = { path: '', message: 'is not valid' }] = issues;
  const text = issueText(first, source === 'payload' ? 'the body' : 'the request');
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  throw new ApiError('VALIDATION', `${text}${more}`, {
    source,
    keys: [...new Set(issues.map((issue) => issue.path))].filter((path) => path !== ''),
    issues,
  });
}
