/** What `/health` says of the link: to anyone on the network, so no address and no message with one. */
import type { LinkHistory } from '../worker/check-in-loop.ts';

/** The state of the link, and why it is not up where that is known. */
export function linkRemarks({ state, lastFailure }: LinkHistory): Record<string, string> {
  if (lastFailure === null || state === 'up' || state === 'unknown') return { controlPlane: state };
  const { code, message } = lastFailure;
  // Versions are all that is in this one.
  const reason = code === 'PROTOCOL_REFUSED' ? { reason: message } : {};
  return { controlPlane: state, code, ...reason };
}
