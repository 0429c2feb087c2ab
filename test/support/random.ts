import { longTier } from '../../scripts/tests/summary.ts';

export { seededRandom } from '../../proof/random.ts';

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
