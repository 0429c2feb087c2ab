import { dataCenterLocations } from '@monitor/shared/contract/primitives.ts';

const order = Object.keys(dataCenterLocations);

/**
 * The locations of a check in round-robin order, without repeats: data-center locations in the
 * order of the specification, then private ones by name.
 */
export function orderedLocations(
  dataCenter: readonly string[] | null,
  privateSlugs: readonly string[] | null,
): string[] {
  const first = [...new Set(dataCenter ?? [])].sort((a, b) => order.indexOf(a) - order.indexOf(b));
  return [...first, ...[...new Set(privateSlugs ?? [])].sort()];
}
