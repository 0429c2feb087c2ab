import { longTier } from '../../scripts/tests/summary.ts';

/** A small seeded generator (mulberry32): the same seed gives the same run. Values in [0, 1). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The seed of this run: TEST_SEED, or a new one. Tests print it, so a failure can be repeated. */
export function testSeed(): number {
  const given = process.env['TEST_SEED'];
  return given === undefined ? Math.floor(Math.random() * 4_294_967_296) : Number(given);
}

/** True with `TEST_LONG=1`: properties are tried as often as it takes to find what is rare. */
export const isLong = process.env['TEST_LONG'] === '1';

/** The option of a test that proves once more what a quicker one proves, or waits long: only with `TEST_LONG=1`. */
export const inLongTier = { skip: isLong ? false : longTier };

/** How often a property is tried: a twentieth of `long`, but for `TEST_LONG=1`. */
export function tries(long: number): number {
  return isLong ? long : Math.ceil(long / 20);
}
