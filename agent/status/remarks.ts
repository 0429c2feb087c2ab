/** What `/health` says besides the status: to anyone on the network, so no address and no message with one. */
import { printable } from '../printable.ts';
import { describeDamage, type NotedDamage } from '../damage.ts';
import type { LinkHistory } from '../worker/check-in-loop.ts';
import type { Load } from '../worker/overload.ts';
import type { OutboxState } from '../worker/outbox.ts';

/** The reason is another program's text: no more of it than a sentence takes. */
const maxReason = 300;
const setAsideShownMs = 7 * 86_400_000;

/** The state of the link, and why it is not up where that is known. */
function linkRemarks(
  { state, lastFailure }: LinkHistory,
  scrub: (text: string) => string,
): Record<string, string> {
  if (lastFailure === null || state === 'up' || state === 'unknown') return { controlPlane: state };
  const { code, message } = lastFailure;
  if (code !== 'PROTOCOL_REFUSED') return { controlPlane: state, code };
  // Versions are all that should be in this one. Cut last: half a secret would not be found.
  const said = printable(scrub(message));
  const reason = said.length > maxReason ? `${said.slice(0, maxReason - 1)}…` : said;
  return { controlPlane: state, code, reason };
}

function loadRemarks({ overloadedSince, reason }: Load): Record<string, string> {
  if (overloadedSince === null) return {};
  return {
    overloadedSince: new Date(overloadedSince).toISOString(),
    overloaded: reason ?? 'too little CPU',
  };
}

/** `scrub` removes the secrets of this agent from what the control plane answered. */
export function healthRemarks(
  link: LinkHistory,
  load: Load,
  damages: readonly NotedDamage[],
  recipients: readonly string[],
  scrub: (text: string) => string,
): Record<string, string> {
  const damage = describeDamage(damages);
  return {
    ...linkRemarks(link, scrub),
    ...loadRemarks(load),
    ...(damage === null ? {} : { damage }),
    ...(recipients.length === 0 ? {} : { recipients: recipients.join('. ') }),
  };
}

/** Results that the control plane refused lately. */
export function describeSetAside(outbox: OutboxState, now: number): Record<string, string> {
  const { setAsideTotal, setAsideAt } = outbox;
  if (setAsideAt === null || now - setAsideAt > setAsideShownMs) return {};
  const at = new Date(setAsideAt).toISOString();
  return { setAside: `${setAsideTotal} results were refused, the last at ${at}` };
}
