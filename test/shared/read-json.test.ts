import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readJson } from '@monitor/shared/read-json.ts';

test('JSON is read', () => {
  assert.deepEqual(readJson('{"a": [1, "b"]}'), { a: [1, 'b'] });
});

test('what is wrong is shown with its line, its column and a mark', () => {
  for (const [text, place] of [
    ['{\n  "name": "a"\n  "b": 1\n}', 'line 3, column 3: '],
    ['{"a": tru}', 'line 1, column 10: '],
    ['abc', 'line 1, column 1: '],
    ['{\n  "a": 1,\n}', 'line 3, column 1: '],
    ['{\n  "a": "b', 'line 2, column 10: '],
    ['{"a": 1} x', 'line 1, column 10: '],
    ['', 'line 1, column 1: it ends too early'],
  ] as const) {
    assert.throws(
      () => readJson(text),
      ({ message }: Error) => {
        assert.ok(message.startsWith(place), `${text}: ${message}`);
        const [, line = '', mark = ''] = message.split('\n');
        const [number = '', column = ''] = place.match(/\d+/g) ?? [];
        const shown = text.split('\n')[Number(number) - 1] ?? '';
        assert.ok(line.endsWith(`| ${shown}`), message);
        assert.equal(mark.indexOf('^'), line.length - shown.length + Number(column) - 1);
        return !/position|valid JSON/.test(message);
      },
    );
  }
});

test('of a long line the part around the problem is shown', () => {
  const text = `{"a": "${'x'.repeat(5000)}", b}`;
  assert.throws(
    () => readJson(text),
    ({ message }: Error) => message.includes('column 5011') && message.length < 400,
  );
});
