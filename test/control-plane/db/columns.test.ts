import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { toTimestamp } from '../../../control-plane/db/columns.ts';

test('a timestamp is what the standard library says, in any order of days', () => {
  const instants = fc.oneof(
    fc.integer({ min: Date.UTC(2025), max: Date.UTC(2028) }),
    fc.maxSafeInteger().map((value) => value % 8.64e15),
  );
  fc.assert(
    fc.property(fc.array(instants), (given) => {
      assert.deepEqual(
        given.map(toTimestamp),
        given.map((instant) => new Date(instant).toISOString()),
      );
    }),
  );
  for (const instant of [0, -1, Date.UTC(9999, 11, 31, 23, 59, 59, 999), Date.UTC(10_000), 1.5]) {
    assert.equal(toTimestamp(instant), new Date(instant).toISOString());
  }
});
