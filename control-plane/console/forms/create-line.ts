/** A check of one line: its target, and what all such checks share. */
import type { DataAt } from '../contract.ts';
import type { Line } from './read-line.ts';
import { send } from '../api.ts';
import { forms } from '../form-facts.ts';
import { isValues, newValues } from './values.ts';

/** The subscriptions of a new check: to the channels that new checks use. */
export function subscriptionsOfNew(channels: DataAt<'v1/alert-channels'>) {
  return channels
    .filter(({ autoSubscribe }) => autoSubscribe)
    .map(({ id }) => ({ alertChannelId: id, activated: true }));
}

/** Where a new check runs: in the only location, or in one that has an agent. */
export function placesOfNew(places: DataAt<'v1/private-locations'>) {
  const [one] =
    places.length === 1 ? places : places.filter(({ agentCount }) => (agentCount ?? 0) > 0);
  return one === undefined ? [] : [one.slugName];
}

/** What checks of lines begin with. */
export function sharedByLines(
  places: DataAt<'v1/private-locations'>,
  channels: DataAt<'v1/alert-channels'>,
): Record<string, unknown> {
  const privateLocations = placesOfNew(places);
  const alertChannelSubscriptions = subscriptionsOfNew(channels);
  return { frequency: 10, privateLocations, tags: [], alertChannelSubscriptions };
}

/** Creates it, and gives its id. Throws a `Problem`. */
export async function createLine(
  { type, name, request }: Line,
  shared: Record<string, unknown>,
): Promise<string> {
  const form = forms[`check-${type}`];
  const fresh = form === undefined ? {} : newValues(form);
  const asked = isValues(fresh.request) ? fresh.request : {};
  const { data } = await send<{ id: string }>(form?.create ?? '', {
    method: 'POST',
    query: form?.createQuery ?? {},
    body: { ...form?.always, ...fresh, ...shared, name, request: { ...asked, ...request } },
  });
  return data.id;
}
