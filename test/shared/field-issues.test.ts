import assert from 'node:assert/strict';
import test from 'node:test';
import { fieldIssues, issueText } from '@monitor/shared/field-issues.ts';
import { z } from 'zod';

const schema = z.object({
  request: z.object({ url: z.string(), timeout: z.int().max(30).optional() }),
  kind: z.enum(['a', 'b']).optional(),
  count: z.number().min(1).optional(),
  share: z.number().gt(0).optional(),
});

function texts(value: unknown): string[] {
  const { error } = schema.safeParse(value, { reportInput: true });
  return fieldIssues(error?.issues ?? []).map((issue) => issueText(issue, 'the check'));
}

test('each field that is missing or wrong is named, with what it must be', () => {
  assert.deepEqual(texts({}), ['"request" is required']);
  assert.deepEqual(texts(7), ['the check must be an object']);
  assert.deepEqual(texts({ request: { url: '' }, count: 0, share: 0 }), [
    '"count" must be at least 1',
    '"share" must be more than 0',
  ]);
  assert.deepEqual(texts({ request: { url: 7, timeout: 31 }, kind: 'c' }), [
    '"request.url" must be a string',
    '"request.timeout" must be at most 30',
    '"kind" must be one of a, b',
  ]);
});

test('for a union, the issue of the closest branch is reported', () => {
  const union = z.union([z.string(), z.object({ to: z.object({ port: z.int() }) })]);
  const { error } = union.safeParse({ to: { port: 'x' } }, { reportInput: true });
  assert.deepEqual(fieldIssues(error?.issues ?? [], ['body']), [
    { path: 'body.to.port', message: 'must be a number' },
  ]);
});

test('what zod says of a format continues a sentence', () => {
  const rows: [z.ZodType, unknown][] = [
    ...[z.iso.datetime(), z.iso.date(), z.email(), z.uuid(), z.url(), z.ipv4(), z.base64()],
    ...[z.string().startsWith('a'), z.string().includes('a'), z.string().refine(() => false)],
  ].map((format): [z.ZodType, unknown] => [format, '-']);
  rows.push([z.number().multipleOf(5), 3], [z.custom(() => false), 1]);
  for (const [schema, value] of rows) {
    const [issue] = fieldIssues(schema.safeParse(value, { reportInput: true }).error?.issues ?? []);
    assert.match(issue?.message ?? '', /^(must (be|not|start|include) |is not valid$)/);
  }
});
