/** What `/health` says of the link: to anyone on the network, so no address and no message with one. */
import { printable } from '../printable.ts';
import type { LinkHistory } from '../worker/check-in-loop.ts';

/** The words are not ours: no more of them than a sentence takes. */
const longestReason = 300;

/**
 * The state of the link, and why it is not up where that is known. `scrub` removes the secrets of this
 * agent from what the other side said.
 */
export function linkRemarks(
  { state, lastFailure }: LinkHistory,
  scrub: (text: string) => string,
): Record<string, string> {
  if (lastFailure === null || state === 'up' || state === 'unknown') return { controlPlane: state };
  const { code, message } = lastFailure;
  if (code !== 'PROTOCOL_REFUSED') return { controlPlane: state, code };
  // Versions are all that should be in this one. Cut last: half a secret would not be found.
  const said = printable(scrub(message));
  const reason = said.length > longestReason ? `${said.slice(0, longestReason - 1)}…` : said;
  return { controlPlane: state, code, reason };
}
