import assert from 'node:assert/strict';
import test from 'node:test';
import { excerpt, prose } from '../../../../control-plane/status-pages/html/text.ts';
import { workMs } from '../../../support/time-spent.ts';

test('what ends a sentence is not part of the address before it', () => {
  assert.equal(
    prose('See https://shop.example/a?b=1).').text,
    '<p>\nSee <a href="https://shop.example/a?b=1" rel="noopener nofollow">https://shop.example/a?b=1</a>).\n</p>',
  );
  assert.equal(prose('https://!!!').text, '<p>\nhttps://!!!\n</p>');
});

test('the longest description there can be takes no time, whatever it says', () => {
  for (const text of [
    'https://a' + '!'.repeat(65_500) + 'a',
    '\n '.repeat(32_000),
    'http://'.repeat(9_000),
  ]) {
    const tookMs = workMs(() => prose(text));
    assert.ok(tookMs < 500, `${tookMs} ms for ${text.slice(0, 10)}`);
  }
});

test('a text is shown whole, or cut between its characters', () => {
  assert.equal(excerpt('a'.repeat(2_000)), 'a'.repeat(2_000));
  assert.equal(excerpt('a'.repeat(2_001)), `${'a'.repeat(2_000)} …`);
});
