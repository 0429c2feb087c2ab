import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  contrast,
  formatColor,
  parseColor,
  readable,
  shapeContrast,
  textContrast,
  type Color,
} from '../../../control-plane/status-pages/html/contrast.ts';
import { tries } from '../../support/random.ts';

const part = fc.integer({ min: 0, max: 255 });
const color = fc.tuple(part, part, part);

test('contrast is what WCAG says', () => {
  const near = (left: string, right: string, expected: number) => {
    const found = contrast(parseColor(left), parseColor(right));
    assert.ok(Math.abs(found - expected) < 0.01, `${left} on ${right}: ${found}`);
  };
  near('#000', '#FFF', 21);
  near('#FFFFFF', '#777777', 4.48);
  near('#06C', '#FFF', 5.57);
  near('#123456', '#123456', 1);
});

test('any colour can be read on any other after its correction, and good ones stay', () => {
  fc.assert(
    fc.property(
      color,
      color,
      fc.constantFrom(textContrast, shapeContrast),
      (over, behind, needed) => {
        const corrected = readable(over, behind, needed);
        // As it is written down and read again by a browser.
        const written = parseColor(formatColor(corrected));
        assert.ok(contrast(written, behind) >= needed);
        if (contrast(over, behind) >= needed) assert.deepEqual<Color>(corrected, over);
      },
    ),
    { numRuns: tries(5_000) },
  );
});
