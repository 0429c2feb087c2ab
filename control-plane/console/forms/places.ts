/** The locations that a check in a form names. */
import { textsOf, type Values } from './values.ts';
import { dataCenterLocations } from '../form-facts.ts';
import { useQuery } from '../query.ts';

/**
 * Codes and names of the locations of the form, in no order.
 * and the private ones of the account
 */
export function usePlaces({ privateLocations, locations }: Values): {
  chosen: [code: string, name: string][];
  own: [code: string, name: string][];
} {
  const { data: places = [] } = useQuery('v1/private-locations');
  const nameOf = (code: string) =>
    places.find(({ slugName }) => slugName === code)?.name ??
    (dataCenterLocations as Record<string, string>)[code] ??
    code;
  return {
    chosen: [...textsOf(privateLocations), ...textsOf(locations)].map((code) => [
      code,
      nameOf(code),
    ]),
    own: places.map(({ slugName, name }) => [slugName, name]),
  };
}
