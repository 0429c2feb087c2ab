import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { statistics } from '@monitor/shared/contract/checks/metric.ts';
import { relativeAccuracy } from '../../../../../control-plane/analytics/decide/roll-ups/bins.ts';
import { Distribution } from '../../../../../control-plane/analytics/decide/roll-ups/distribution.ts';
import {
  pack,
  unpackInto,
  type Distributions,
} from '../../../../../control-plane/analytics/decide/roll-ups/packing.ts';
import { statisticOfSorted } from '../../../../../control-plane/analytics/decide/statistics.ts';

const anyValue = fc.oneof(
  fc.constant(0),
  fc.double({ min: -1e6, max: 1e6, noNaN: true }),
  fc.double({ min: 0.001, max: 1000, noNaN: true }),
  fc.integer({ min: 0, max: 100 }),
  fc.constantFrom(1e-9, -1e-9, 1e12, 1e15, -1e15),
);
const values = fc.array(anyValue, { minLength: 1, maxLength: 200 });

function distributionOf(given: readonly number[]): Distribution {
  const distribution = new Distribution();
  for (const value of given) distribution.add(value);
  return distribution;
}

function unpacked(packed: Uint8Array, wanted?: ReadonlySet<string>): Distributions {
  const distributions: Distributions = new Map();
  unpackInto(packed, distributions, wanted);
  return distributions;
}

const exact = new Set(['avg', 'max', 'min', 'sum']);

/** What an answer may be off by; quantiles by the accuracy of the values they lie between. */
function assertSame(distribution: Distribution, given: readonly number[]): void {
  const sorted = Float64Array.from(given).sort();
  const largest = Math.max(...given.map(Math.abs));
  for (const statistic of statistics) {
    const expected = statisticOfSorted(sorted, statistic) ?? Number.NaN;
    const actual = distribution.statistic(statistic) ?? Number.NaN;
    if (exact.has(statistic) || statistic === 'stddev') {
      const tolerance = 1e-9 * largest * given.length + 1e-12;
      assert.ok(Math.abs(actual - expected) <= tolerance, `${statistic}: ${actual}, ${expected}`);
      continue;
    }
    const share = Number(statistic.replace('median', 'p50').slice(1)) / 100;
    const rank = (sorted.length - 1) * share;
    const neighbours = [sorted[Math.floor(rank)] ?? 0, sorted[Math.ceil(rank)] ?? 0];
    // Beyond 1e12 all is one bin.
    if (neighbours.some((value) => Math.abs(value) > 1e12)) continue;
    const tolerance = relativeAccuracy * Math.max(...neighbours.map(Math.abs)) + 2e-6;
    assert.ok(
      Math.abs(actual - expected) <= tolerance * 1.001,
      `${statistic}: ${actual}, ${expected}`,
    );
  }
}

test('statistics of any values are exact, and quantiles as close as promised', () => {
  fc.assert(
    fc.property(values, (given) => {
      assertSame(distributionOf(given), given);
    }),
  );
});

test('parts that are merged, in any order and through bytes, are what the whole would be', () => {
  fc.assert(
    fc.property(fc.array(values, { minLength: 1, maxLength: 6 }), fc.boolean(), (parts, isBack) => {
      const merged: Distributions = new Map();
      for (const part of isBack ? parts.toReversed() : parts) {
        unpackInto(pack(new Map([['dns', distributionOf(part)]])), merged);
      }
      const distribution = merged.get('dns');
      assert.ok(distribution !== undefined);
      assert.equal(distribution.count, parts.flat().length);
      assertSame(distribution, parts.flat());
    }),
  );
});

test('nothing has no statistic', () => {
  for (const name of statistics) assert.equal(new Distribution().statistic(name), null);
});

test('of one or two values everything is exact, and of equal ones too', () => {
  for (const name of ['median', 'p90', 'p99', 'avg'] as const) {
    assert.equal(distributionOf([123.4]).statistic(name), 123.4);
    assert.equal(distributionOf([20, 20, 20, 20, 20]).statistic(name), 20);
  }
  assert.equal(distributionOf([100, 200]).statistic('median'), 150);
});

test('only the metrics asked for are unpacked', () => {
  const packed = pack(
    new Map([
      ['dns', distributionOf([1, 2])],
      ['tcp', distributionOf([3])],
      ['wait', new Distribution()],
    ]),
  );
  assert.deepEqual([...unpacked(packed).keys()], ['dns', 'tcp']);
  assert.deepEqual([...unpacked(packed, new Set(['tcp'] as const)).keys()], ['tcp']);
});

test('a metric of a newer version is left out; a form that is not known, or is cut off, is refused', () => {
  const packed = pack(new Map([['dns', distributionOf([1, 2, 3])]]));
  const newer = packed.slice();
  newer[1] = 99;
  assert.equal(unpacked(newer).size, 0);
  const other = packed.slice();
  other[0] = 2;
  assert.throws(() => unpacked(other), /version 2/);
  assert.throws(() => unpacked(packed.subarray(0, packed.length - 1)), RangeError);
});

test('an hour of one-minute results of a metric takes less than 250 bytes', () => {
  const minutes = Array.from({ length: 60 }, (_, minute) => 80 + ((minute * 7919) % 400));
  assert.ok(pack(new Map([['responseTime', distributionOf(minutes)]])).length < 250);
});
