/** A check of one line: its target, and what all such checks share. */
/** @import { DataAt } from '../contract.ts' */
/** @import { Line } from './read-line.js' */
import { send } from '../api.js';
import { forms } from '../form-facts.js';
import { isValues, newValues } from './values.js';

/**
 * The subscriptions of a new check: to the channels that new checks use.
 * @param {DataAt<'v1/alert-channels'>} channels
 */
export function subscriptionsOfNew(channels) {
  return channels
    .filter(({ autoSubscribe }) => autoSubscribe)
    .map(({ id }) => ({ alertChannelId: id, activated: true }));
}

/**
 * Where a new check runs: in the only location, or in one that has an agent.
 * @param {DataAt<'v1/private-locations'>} places
 */
export function placesOfNew(places) {
  const [one] =
    places.length === 1 ? places : places.filter(({ agentCount }) => (agentCount ?? 0) > 0);
  return one === undefined ? [] : [one.slugName];
}

/**
 * What checks of lines begin with.
 * @param {DataAt<'v1/private-locations'>} places
 * @param {DataAt<'v1/alert-channels'>} channels
 * @returns {Record<string, unknown>}
 */
export function sharedByLines(places, channels) {
  const privateLocations = placesOfNew(places);
  const alertChannelSubscriptions = subscriptionsOfNew(channels);
  return { frequency: 1, privateLocations, tags: [], alertChannelSubscriptions };
}

/**
 * Creates it, and gives its id. Throws a `Problem`.
 * @param {Line} line
 * @param {Record<string, unknown>} shared
 * @returns {Promise<string>}
 */
export async function createLine({ type, name, request }, shared) {
  const form = forms[`check-${type}`];
  const fresh = form === undefined ? {} : newValues(form);
  const asked = isValues(fresh.request) ? fresh.request : {};
  const { data } = await send(form?.create ?? '', {
    method: 'POST',
    query: form?.createQuery ?? {},
    body: { ...form?.always, ...fresh, ...shared, name, request: { ...asked, ...request } },
  });
  return data.id;
}
