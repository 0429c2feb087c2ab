/** Bodies that create resources, drawn from the contract. */
import fc from 'fast-check';
import type { Route } from '@monitor/shared/contract/route.ts';
import { Reference, valuesOf } from '../../scripts/fuzz/values.ts';

/** Bodies of creation as the contract describes them, with references to nothing. */
export function bodiesOf(route: Route): fc.Arbitrary<unknown> {
  const withoutReferences = (value: unknown): unknown => {
    if (value instanceof Reference) return undefined;
    if (Array.isArray(value)) {
      return value.map(withoutReferences).filter((each) => each !== undefined);
    }
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, withoutReferences(inner)]),
    );
  };
  return route.body === undefined ? fc.constant({}) : valuesOf(route.body).map(withoutReferences);
}
