/**
 * Whether the control plane answers. While the page is visible and no event or heartbeat comes, it is
 * probed, so that an outage is noticed within five seconds, even when connections are still accepted.
 */
import { useEffect, useState } from 'preact/hooks';

const askEveryMs = 1_500;
const timeoutMs = 2_500;
/** Heartbeats come every second. */
const silentMs = 2_300;
const address = new URL('../-/liveness', location.href);
const listeners = new Set<(change: 'back' | 'unreachable') => void>();

/** Time of the last answer while there are none; null while it answers. */
let unreachableSince: number | null = null;
let heardAt = Date.now();
let timer: number | undefined;

function announce(change: 'back' | 'unreachable') {
  for (const listener of listeners) listener(change);
}

function hear() {
  heardAt = Date.now();
  if (unreachableSince === null) return;
  unreachableSince = null;
  announce('back');
}

/** Call it when a heartbeat came: nobody needs to ask then. */
export function heartbeatCame() {
  clearTimeout(timer);
  timer = setTimeout(() => void ask(), silentMs);
  hear();
}

async function ask() {
  clearTimeout(timer);
  if (document.hidden) return;
  try {
    await fetch(address, { cache: 'no-store', signal: AbortSignal.timeout(timeoutMs) });
    hear();
  } catch {
    if (unreachableSince === null && !document.hidden) {
      unreachableSince = heardAt;
      announce('unreachable');
    }
  }
  clearTimeout(timer);
  timer = setTimeout(() => void ask(), askEveryMs);
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) clearTimeout(timer);
  else void ask();
});
void ask();

/** Calls `listener` with `unreachable` or `back`; gives a function that unsubscribes. */
export function onReachabilityChange(listener: (change: 'back' | 'unreachable') => void) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Time of the last answer (ms since the epoch) while there are none; otherwise null. */
export function useUnreachableSince() {
  const [since, setSince] = useState(unreachableSince);
  useEffect(() => onReachabilityChange(() => setSince(unreachableSince)), []);
  return since;
}
