import assert from 'node:assert/strict';
import test from 'node:test';
import { edits, nearestWord } from '@monitor/shared/nearest-word.ts';

test('letters that are added, removed, replaced or swapped count once each', () => {
  for (const [word, other, count] of [
    ['dns', 'dns', 0],
    ['', 'dns', 3],
    ['dsn', 'dns', 1],
    ['dn', 'dns', 1],
    ['dnss', 'dns', 1],
    ['dms', 'dns', 1],
    ['kitten', 'sitting', 3],
  ] as const) {
    assert.equal(edits(word, other), count, `${word} ${other}`);
    assert.equal(edits(other, word), count, `${other} ${word}`);
  }
});

test('the nearest word is suggested, and none where all are far', () => {
  const known = ['dns', 'icmp', 'control-plane', 'clock'];
  assert.equal(nearestWord('dsn', known), 'dns');
  assert.equal(nearestWord('DNS', known), 'dns');
  assert.equal(nearestWord('controlplan', known), 'control-plane');
  assert.equal(nearestWord('abc', known), null);
  assert.equal(nearestWord('', known), null);
});
