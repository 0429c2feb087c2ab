/** Delay before the next try after `failures` in a row: doubling from 1 s to 30 s, with jitter. In ms. */
export function backoffMs(failures: number, random: () => number): number {
  const ceiling = Math.min(30_000, 1_000 * 2 ** Math.min(failures - 1, 10));
  return ceiling / 2 + (random() * ceiling) / 2;
}
