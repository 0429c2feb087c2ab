import { dataCenterLocations } from '@monitor/shared/contract/primitives.ts';

const order = Object.keys(dataCenterLocations);

/**
 * The locations of a check in the order round robin follows: data-center locations as the
 * specification lists them, then private ones by name. Without repeats.
 */
export function orderedLocations(
  dataCenter: readonly string[] | null,
  privateSlugs: readonly string[] | null,
): string[] {
  const first = [...new Set(dataCenter ?? [])].sort((a, b) => order.indexOf(a) - order.indexOf(b));
  return [...first, ...[...new Set(privateSlugs ?? [])].sort()];
}
