import assert from 'node:assert/strict';
import test from 'node:test';
import { keyProblem } from '../../agent/key-problem.ts';
import { makeKey } from '../../control-plane/core/keys.ts';

const key = `pl_${'0123456789abcdef'.repeat(4)}`;

test('what cannot be the key of a location is named without a piece of it, and a key passes', () => {
  const rows: [string, RegExp | null][] = [
    [key, null],
    [makeKey('pl').rawKey, null],
    ['pl_0123456789', /has 13 characters, and a key has 67/],
    [key.slice(0, -1), /has 66 characters/],
    [`${key}0`, /has 68 characters/],
    [key.toUpperCase(), /begin with pl_/],
    [key.replace('a', 'A'), /digits and the letters a to f/],
    [key.replace('0', 'l'), /digits and the letters a to f/],
    [`"${key}"`, /quotes/],
    [`API_KEY=${key}`, /its name before it/],
    [`export API_KEY=${key}`, /its name before it/],
    [`API_KEY: ${key}`, /its name before it/],
    [Buffer.from(key).toString('base64'), /base64/],
    [Buffer.from(`\ufeff${key}`, 'utf16le').toString('utf8'), /UTF-16/],
    ['abc123', /begin with pl_/],
    ['pl_abc', /has 6 characters/],
    ['pl_…4f2a', /masked/],
    ['pl_****4f2a', /masked/],
    [`cu_${'0'.repeat(64)}`, /key of the API/],
    ['${LOCATION_KEY}', /nobody has replaced/],
    ['<key of the location>', /placeholder/],
    [`# key\n${key}`, /more than one line/],
    [`${key} ${key}`, /white space/],
  ];
  for (const [text, words] of rows) {
    const what = keyProblem(text) ?? '';
    assert.match(what, words ?? /^$/, text);
    assert.doesNotMatch(what, /0123|4f2a|abc\b/);
  }
});
