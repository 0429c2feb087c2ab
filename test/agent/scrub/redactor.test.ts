import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Matcher } from '../../../agent/scrub/matcher.ts';
import { NeedleSet } from '../../../agent/scrub/needle-set.ts';
import { Redactor, withMasks } from '../../../agent/scrub/redactor.ts';
import { mask } from '../../../agent/scrub/scrubber.ts';
import { testSeed, tries } from '../../support/random.ts';

const seed = testSeed() | 0;
console.log(`# TEST_SEED=${seed}`);

/** The plainest way: every needle at every position; overlapping occurrences are one region. */
function plainRegions(text: Buffer, needles: readonly Buffer[]): number[] {
  const regions: number[] = [];
  let end = -1;
  for (let start = 0; start < text.length; start += 1) {
    for (const needle of needles) {
      if (!text.subarray(start, start + needle.length).equals(needle)) continue;
      const stop = start + needle.length;
      if (start >= end) regions.push(start, stop);
      else if (stop > end) regions[regions.length - 1] = stop;
      end = Math.max(end, stop);
    }
  }
  return regions;
}

/** Few letters, so that needles overlap, repeat and contain each other. */
const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 4, maxLength: 24 });

test('what the matcher finds is what the plainest search finds', () => {
  fc.assert(
    fc.property(
      fc.array(letters, { minLength: 1, maxLength: 6 }),
      fc.array(letters),
      (words, text) => {
        const needles = words.map((word) => Buffer.from(word));
        const bytes = Buffer.from(text.concat(words.slice(0, 2)).join(''));
        assert.deepEqual(new Matcher(needles).regions(bytes), plainRegions(bytes, needles));
      },
    ),
    { seed, numRuns: tries(20_000) },
  );
});

test('a needle in any case is found as the plainest search finds it, and others are not', () => {
  const mixed = fc.string({ unit: fc.constantFrom('a', 'A', 'b', 'B', '[', '{'), minLength: 3 });
  fc.assert(
    fc.property(mixed, mixed, fc.array(mixed), (exact, anyCase, parts) => {
      const lower = anyCase.toLowerCase();
      const text = Buffer.from([exact, ...parts, anyCase].join(''));
      const exactly = new Matcher([Buffer.from(exact)]);
      assert.deepEqual(exactly.regions(text), plainRegions(text, [Buffer.from(exact)]));
      const inAnyCase = new Matcher([{ bytes: Buffer.from(lower), anyCase: true }]);
      const folded = Buffer.from(text.toString().toLowerCase());
      assert.deepEqual(inAnyCase.regions(text), plainRegions(folded, [Buffer.from(lower)]));
      const open = inAnyCase.openFrom(text);
      for (let start = 0; start < open; start += 1) {
        const rest = folded.toString('latin1', start);
        assert.ok(!lower.startsWith(rest) || rest === lower);
      }
    }),
    { seed, numRuns: tries(10_000) },
  );
});

test('any chunking gives the same as the whole at once', () => {
  fc.assert(
    fc.property(
      fc.array(letters, { minLength: 1, maxLength: 3 }),
      fc.array(fc.oneof(letters, fc.nat(2)), { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 }),
      (secrets, parts, sizes) => {
        const matcher = new Matcher(secrets.map((secret) => Buffer.from(secret)));
        const text = Buffer.from(
          parts
            .map((part) => (typeof part === 'string' ? part : secrets[part % secrets.length]))
            .join(''),
        );
        const whole = withMasks(text, matcher.regions(text));
        const redactor = new Redactor({ isEmpty: false, matcher });
        const pieces: Buffer[] = [];
        for (let at = 0, turn = 0; at < text.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          pieces.push(...redactor.push(text.subarray(at, at + size)));
          at += size;
        }
        pieces.push(...redactor.end());
        assert.equal(Buffer.concat(pieces).toString(), whole.toString());
      },
    ),
    { seed, numRuns: tries(80_000) },
  );
});

test('of bytes of any kind nothing is lost but what was searched for', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 300 }),
      fc.array(fc.uint8Array({ minLength: 4, maxLength: 20 }), { minLength: 1, maxLength: 5 }),
      (bytes, list) => {
        const needles = list.map((needle) => Buffer.from(needle));
        const text = Buffer.concat([bytes, ...needles, bytes]);
        assert.deepEqual(new Matcher(needles).regions(text), plainRegions(text, needles));
      },
    ),
    { seed, numRuns: tries(10_000) },
  );
});

function redact(needles: NeedleSet, chunks: readonly string[]): string {
  const redactor = new Redactor(needles);
  return Buffer.concat([
    ...chunks.flatMap((chunk) => redactor.push(Buffer.from(chunk))),
    ...redactor.end(),
  ]).toString();
}

test('secrets that overlap are removed together, and neighbours each on their own', () => {
  const needles = new NeedleSet();
  for (const secret of ['alpha-beta', 'beta-gamma', 'alpha']) needles.add(secret);
  assert.equal(redact(needles, ['<alpha-beta-gamma>']), `<${mask}>`);
  assert.equal(redact(needles, ['<al', 'pha-be', 'ta-gam', 'ma>']), `<${mask}>`);
  assert.equal(redact(needles, ['alpha-betaalpha']), mask + mask);
});

test('text that is not the beginning of a secret is given at once', () => {
  const needles = new NeedleSet();
  needles.add('correct horse battery');
  const redactor = new Redactor(needles);
  assert.equal(redactor.push(Buffer.from('a line\nand cor')).join(''), 'a line\nand ');
  assert.equal(redactor.push(Buffer.from('!')).join(''), 'cor!');
});

test('a secret learned in the midst of a stream is removed from what was not given yet', () => {
  const needles = new NeedleSet();
  needles.add('first-secret');
  const redactor = new Redactor(needles);
  const before = redactor.push(Buffer.from('first-secret second-secret first-sec'));
  needles.add('second-secret');
  const after = [...redactor.push(Buffer.from('ret second-secret')), ...redactor.end()];
  assert.equal(before.join(''), `${mask} second-secret `);
  assert.equal(after.join(''), `${mask} ${mask}`);
});

test('a chunk that its owner reuses does not change what is held back', () => {
  const needles = new NeedleSet();
  needles.add('correct horse');
  const redactor = new Redactor(needles);
  const chunk = Buffer.from('is correct ');
  const first = redactor.push(chunk).join('');
  chunk.fill('x');
  assert.equal(first + redactor.push(Buffer.from('horse')).join(''), `is ${mask}`);
});
