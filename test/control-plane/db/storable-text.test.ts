import assert from 'node:assert/strict';
import test from 'node:test';
import { storableText } from '../../../control-plane/db/storable-text.ts';

test('a text keeps everything that PostgreSQL stores', () => {
  const texts = ['', 'ä🙂\n', '\\u0000', String.raw`{"a":"\\u0000 \ud83d\ude00 \u0001 \\ud800"}`];
  for (const text of texts) assert.equal(storableText(text), text);
});

test('a NUL and half of a surrogate pair become U+FFFD, also as escapes of JSON', () => {
  assert.equal(storableText('a\0b\ud800'), 'a\u{fffd}b\u{fffd}');
  const value = { 'a\0': ['\0', '\ud800', '\udc00\ud83d', '\\\0', '🙂', '\\u0000'] };
  assert.deepEqual(JSON.parse(storableText(JSON.stringify(value))), {
    'a\u{fffd}': ['\u{fffd}', '\u{fffd}', '\u{fffd}\u{fffd}', '\\\u{fffd}', '🙂', '\\u0000'],
  });
});

test('a text that is no JSON keeps its escapes', () => {
  const script = String.raw`{ const nothing = "\u0000"; }`;
  assert.equal(storableText(script), script);
});
