/** Queries of views: cached data is shown at once and refreshed while the page is visible. */
import { useCallback, useEffect, useRef, useState } from './dom.js';
import { call } from './api.js';
import { onReachabilityChange } from './reachable.js';
import { onSessionChange } from './session.js';

const maxKept = 200;
const known = new Map();

onSessionChange(() => known.clear());

function keep(key, entry) {
  known.delete(key);
  known.set(key, entry);
  if (known.size > maxKept) known.delete(known.keys().next().value);
}

/** Keeps the objects of unchanged list entries, so that their rows are not rendered again. */
function settled(before, next) {
  if (!Array.isArray(before) || !Array.isArray(next)) return next;
  const texts = new Map(before.map((entry) => [entry?.id, entry]));
  return next.map((entry) => {
    const old = entry?.id === undefined ? undefined : texts.get(entry.id);
    return old !== undefined && JSON.stringify(old) === JSON.stringify(entry) ? old : entry;
  });
}

function keyOf(path, query) {
  return path === null ? null : `${path}?${new URLSearchParams(query ?? {})}`;
}

/**
 * Reads `path`; null reads nothing. With `everyMs` it reads again while the page is visible. Gives
 * the newest data, the problem of the last attempt, and `reload`.
 */
export function useQuery(path, { query, everyMs = null, method, body } = {}) {
  const key = keyOf(path, {
    ...query,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const [, redraw] = useState(0);
  const state = useRef({ key: undefined, problem: null, isLoading: false });
  const again = useRef(() => {});
  if (state.current.key !== key) {
    state.current = { key, problem: null, isLoading: path !== null };
  }

  useEffect(() => {
    if (path === null) return undefined;
    const stop = new AbortController();
    let timer;
    const load = async () => {
      clearTimeout(timer);
      const mine = state.current;
      mine.isLoading = true;
      let waitMs = everyMs;
      try {
        const before = known.get(key);
        const etag = before?.etag;
        const answer = await call(path, { query, method, body, signal: stop.signal, etag });
        const next = answer ?? before;
        keep(key, { ...next, data: settled(before?.data, next.data), at: Date.now() });
        mine.problem = null;
      } catch (error) {
        if (stop.signal.aborted) return;
        mine.problem = error;
        waitMs = everyMs === null ? null : Math.max(everyMs, error.retryAfterMs ?? 0);
      }
      mine.isLoading = false;
      redraw((count) => count + 1);
      if (waitMs !== null) timer = setTimeout(look, waitMs);
    };
    const look = () => {
      if (!document.hidden) void load();
    };
    const onVisible = () => {
      const age = Date.now() - (known.get(key)?.at ?? 0);
      if (!document.hidden && everyMs !== null && age >= everyMs) void load();
    };
    again.current = load;
    document.addEventListener('visibilitychange', onVisible);
    const unwatch = onReachabilityChange((change) => change === 'back' && load());
    void load();
    return () => {
      unwatch();
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
    };
  }, [key, everyMs]);

  const entry = key === null ? undefined : known.get(key);
  const { problem, isLoading } = state.current;
  return {
    data: entry?.data,
    total: entry?.total ?? null,
    at: entry?.at ?? null,
    problem,
    isLoading: isLoading && entry === undefined,
    reload: useCallback(() => again.current(), []),
  };
}
