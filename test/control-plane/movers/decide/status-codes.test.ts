import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  assertionsFor,
  parseCodeRange,
  type CodeRange,
} from '../../../../control-plane/movers/decide/status-codes.ts';

const holds: Readonly<Record<string, (code: number, target: number) => boolean>> = {
  EQUALS: (code, target) => code === target,
  NOT_EQUALS: (code, target) => code !== target,
  GREATER_THAN: (code, target) => code > target,
  LESS_THAN: (code, target) => code < target,
};

function accepts(ranges: readonly CodeRange[], code: number): boolean {
  const { assertions } = assertionsFor(ranges);
  return assertions.every(
    ({ comparison, target }) => holds[String(comparison)]?.(code, Number(target)) === true,
  );
}

const range = fc
  .tuple(fc.integer({ min: 100, max: 599 }), fc.integer({ min: 0, max: 120 }))
  .map(([first, length]): CodeRange => [first, Math.min(599, first + length)]);

test('assertions accept a set of codes, and beyond it unassigned codes at most', () => {
  fc.assert(
    fc.property(fc.array(range, { minLength: 1, maxLength: 5 }), (ranges) => {
      const { assertions, passesNow } = assertionsFor(ranges);
      assert.ok(assertions.length <= 100);
      for (let code = 0; code < 700; code += 1) {
        const isWanted = ranges.some(([first, last]) => code >= first && code <= last);
        if (isWanted) assert.equal(accepts(ranges, code), true, String(code));
        else if (passesNow === null) assert.equal(accepts(ranges, code), false, String(code));
      }
    }),
  );
});

test('registered codes between two distant ranges are refused', () => {
  const ranges: CodeRange[] = [
    [200, 299],
    [401, 401],
  ];
  for (const code of [200, 250, 401]) assert.equal(accepts(ranges, code), true, String(code));
  for (const code of [199, 301, 304, 400, 402, 500]) {
    assert.equal(accepts(ranges, code), false, String(code));
  }
  assert.equal(assertionsFor(ranges).passesNow, 399);
});

test('no range accepts nothing', () => {
  for (const code of [0, 200, 500]) assert.equal(accepts([], code), false);
});

test('a range is a code or two codes in order', () => {
  assert.deepEqual(parseCodeRange('200'), [200, 200]);
  assert.deepEqual(parseCodeRange(' 200 - 299 '), [200, 299]);
  for (const text of ['', '2xx', '299-200', '200-', 'a-b'])
    assert.equal(parseCodeRange(text), null);
});
