/**
 * Whether the control plane answers. It is asked for a word every moment while somebody looks, so that
 * one that has stopped is noticed within five seconds, also when it still accepts connections.
 */
import { useEffect, useState } from './dom.js';

const askEveryMs = 1_500;
const patienceMs = 2_500;
const address = new URL('../-/liveness', location.href);
const listeners = new Set();

/** When the last answer came before there was none; null while it answers. */
let silentSince = null;
let heardAt = Date.now();
let timer;

function announce(change) {
  for (const listener of listeners) listener(change);
}

async function ask() {
  clearTimeout(timer);
  if (document.hidden) return;
  try {
    await fetch(address, { cache: 'no-store', signal: AbortSignal.timeout(patienceMs) });
    heardAt = Date.now();
    if (silentSince !== null) {
      silentSince = null;
      announce('back');
    }
  } catch {
    if (silentSince === null && !document.hidden) {
      silentSince = heardAt;
      announce('silent');
    }
  }
  timer = setTimeout(ask, askEveryMs);
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) clearTimeout(timer);
  else void ask();
});
void ask();

/** Calls `listener` with `silent` or `back`; gives a function that ends it. */
export function onReachabilityChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** When the last answer came, in ms since the epoch, while there is none; otherwise null. */
export function useSilence() {
  const [since, setSince] = useState(silentSince);
  useEffect(() => onReachabilityChange(() => setSince(silentSince)), []);
  return since;
}
