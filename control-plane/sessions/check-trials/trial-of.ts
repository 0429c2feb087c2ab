import { dataCenterLocations } from '@monitor/shared/contract/primitives.ts';

/** Nobody is notified of a trial, and it runs where it was asked for, not on schedule. */
export function trialOf(
  fields: Record<string, unknown>,
  location: string,
): Record<string, unknown> {
  const isOpen = Object.hasOwn(dataCenterLocations, location);
  return {
    ...fields,
    activated: false,
    muted: true,
    alertChannelSubscriptions: [],
    triggerIncident: null,
    locations: isOpen ? [location] : [],
    privateLocations: isOpen ? [] : [location],
  };
}
