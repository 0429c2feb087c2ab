import assert from 'node:assert/strict';
import test from 'node:test';
import { changesOf } from '../../../../control-plane/audit/decide/changes.ts';

test('of a change the fields that differ are kept, of something new or deleted all', () => {
  const before = { id: 1, name: 'a', tags: ['x'], gone: true, updated_at: 'then' };
  const after = { id: 1, name: 'b', tags: ['x'], come: null, updated_at: 'now' };
  assert.deepEqual(changesOf(before, after), {
    before: { name: 'a', gone: true },
    after: { name: 'b', come: null },
  });
  assert.deepEqual(changesOf(null, before), { before: null, after: before });
  assert.deepEqual(changesOf(before, null), { before, after: null });
  assert.deepEqual(changesOf(before, { ...before }), { before: null, after: null });
});

test('a long value is kept by its length and beginning, and an entry has an end', () => {
  const long = 'x'.repeat(100_000);
  const { before, after } = changesOf({ script: long }, { script: `${long}y` });
  assert.deepEqual(
    [before?.['script'], after?.['script']].map((value) => Object.keys(value as object)),
    [
      ['length', 'start'],
      ['length', 'start'],
    ],
  );
  assert.notDeepEqual(before, after);
  const many = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, at) => [`field${at}`, 'value']),
  );
  assert.ok(JSON.stringify(changesOf(null, many)).length < 80_000);
});
