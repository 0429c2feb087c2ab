/** The locations that a check in a form names. */
/** @import { Values } from './values.js' */
import { dataCenterLocations } from '../form-facts.js';
import { useQuery } from '../query.js';

/**
 * Codes and names of the locations of the form, in no order.
 * @param {Values} values
 * @returns {{ chosen: [code: string, name: string][], own: [code: string, name: string][] }} and the private ones of the account
 */
export function usePlaces({ privateLocations, locations }) {
  const { data: places = [] } = useQuery('v1/private-locations');
  const texts = (/** @type {unknown} */ value) => (Array.isArray(value) ? value.map(String) : []);
  const nameOf = (/** @type {string} */ code) =>
    places.find(({ slugName }) => slugName === code)?.name ??
    /** @type {Record<string, string>} */ (dataCenterLocations)[code] ??
    code;
  return {
    chosen: [...texts(privateLocations), ...texts(locations)].map((code) => [code, nameOf(code)]),
    own: places.map(({ slugName, name }) => [slugName, name]),
  };
}
