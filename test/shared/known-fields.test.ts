import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { knownFields, unknownFields } from '@monitor/shared/known-fields.ts';

const schema = z.object({
  name: z.string(),
  frequency: z.int().default(10),
  labels: z.record(z.string(), z.string()).default({}),
  request: z
    .object({
      url: z.string(),
      assertions: z.array(z.object({ source: z.string(), target: z.string() })).default([]),
    })
    .nullable(),
  config: z.union([z.object({ address: z.string() }), z.object({ number: z.string() })]).optional(),
  tags: z.preprocess((given) => given ?? [], z.array(z.object({ key: z.string() }))),
});
const all = (value: unknown, tolerated?: z.ZodType) =>
  unknownFields(knownFields(schema), value, tolerated && knownFields(tolerated));
const unknown = (value: unknown) => all(value).map(({ path, meant }) => ({ path, meant }));

test('a misspelt field is named with its place and the one that was meant', () => {
  assert.deepEqual(unknown({ name: 'a', frequencee: 5 }), [
    { path: 'frequencee', meant: 'frequency' },
  ]);
  assert.deepEqual(unknown({ request: { asertions: [] } }), [
    { path: 'request.asertions', meant: 'assertions' },
  ]);
  assert.deepEqual(unknown({ request: { assertions: [{ source: 'a', taget: 'b' }] } }), [
    { path: 'request.assertions.0.taget', meant: 'target' },
  ]);
  assert.deepEqual(unknown({ tags: [{ kye: 'a' }] }), [{ path: 'tags.0.kye', meant: 'key' }]);
  assert.deepEqual(unknown({ Name: 'a' }), [{ path: 'Name', meant: 'name' }]);
});

test('a field in the wrong place is named with the right one', () => {
  assert.deepEqual(unknown({ assertions: [] }), [
    { path: 'assertions', meant: 'request.assertions' },
  ]);
});

test('a field that is near none is unknown, and nothing is said to be meant', () => {
  assert.deepEqual(unknown({ colour: 'red' }), [{ path: 'colour', meant: null }]);
});

test('every branch of a choice is known, and whatever a record holds', () => {
  const value = { labels: { anything: 'x' }, config: { number: '1', address: 'b' } };
  assert.deepEqual(unknown(value), []);
});

test('fields of answers are not taken for misspelt, in any depth, and come with their value', () => {
  const answer = z.object({ names: z.string(), request: z.object({ urls: z.string() }) });
  const tolerated = { meant: null, isTolerated: true };
  assert.deepEqual(all({ names: 'a', request: { urls: 'b' } }, answer), [
    { path: 'names', steps: ['names'], value: 'a', ...tolerated },
    { path: 'request.urls', steps: ['request', 'urls'], value: 'b', ...tolerated },
  ]);
  assert.equal(unknown({ names: 'a', request: { urls: 'b' } }).length, 2);
});

test('what is no object has no fields', () => {
  assert.deepEqual(unknown(null), []);
  assert.deepEqual(unknown({ request: 'a', tags: 'b' }), []);
});
