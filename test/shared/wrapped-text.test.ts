import assert from 'node:assert/strict';
import test from 'node:test';
import { namedText, wrapped } from '@monitor/shared/wrapped-text.ts';

test('a text is broken between words, and a long word stays whole', () => {
  assert.deepEqual(wrapped('one two three four five six', 20), ['one two three four', 'five six']);
  const long = 'x'.repeat(30);
  assert.deepEqual(wrapped(`a ${long} b`, 20), ['a', long, 'b']);
});

test('a meaning stands below its name', () => {
  assert.equal(
    namedText('A_LONG_NAME_OF_A_SETTING', 'what it is for, in a few (default: 7)', 39),
    '  A_LONG_NAME_OF_A_SETTING\n      what it is for, in a few\n      (default: 7)',
  );
});
