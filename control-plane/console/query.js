/** Queries of views: cached data is shown at once and refreshed while the page is visible. */
/** @import { Answer, CallOptions, DataAt, PathOf, Read } from './contract.ts' */
/** @import { Problem } from './api.js' */
import { useCallback, useEffect, useRef, useState } from './dom.js';
import { call, toProblem } from './api.js';
import { onReachabilityChange } from './reachable.js';
import { onSessionChange } from './session.js';

const maxKept = 200;
/** @type {Map<string, Answer<unknown> & { at: number }>} */
const known = new Map();

onSessionChange(() => known.clear());

/**
 * @param {string} key
 * @param {Answer<unknown> & { at: number }} entry
 */
function keep(key, entry) {
  known.delete(key);
  known.set(key, entry);
  const [oldest] = known.keys();
  if (known.size > maxKept && oldest !== undefined) known.delete(oldest);
}

/**
 * Keeps the objects of unchanged list entries, so that their rows are not rendered again.
 * @param {unknown} before
 * @param {unknown} next
 */
function settled(before, next) {
  if (!Array.isArray(before) || !Array.isArray(next)) return next;
  const texts = new Map(before.map((entry) => [entry?.id, entry]));
  return next.map((entry) => {
    const old = entry?.id === undefined ? undefined : texts.get(entry.id);
    return old !== undefined && JSON.stringify(old) === JSON.stringify(entry) ? old : entry;
  });
}

/**
 * Reads `path`; null reads nothing. With `everyMs` it reads again while the page is visible.
 * @template {PathOf<'GET'>} Path
 * @param {Path | null} path
 * @param {{ query?: CallOptions<'GET', Path>['query'], everyMs?: number | null }} options
 * @returns {Read<DataAt<Path>>}
 */
export function useQuery(path, { query, everyMs = null } = {}) {
  const key = path === null ? null : `${path}?${JSON.stringify(query)}`;
  /** The key contains the path, and the path decides about the type. */
  const keptAt = () =>
    /** @type {Answer<DataAt<Path>> & { at: number } | undefined} */ (known.get(key ?? ''));
  const [, redraw] = useState(0);
  const state = useRef({
    key,
    problem: /** @type {Problem | null} */ (null),
    isLoading: path !== null,
  });
  const again = useRef(async () => {});
  if (state.current.key !== key) {
    state.current = { key, problem: null, isLoading: path !== null };
  }

  useEffect(() => {
    if (path === null || key === null) return undefined;
    const stop = new AbortController();
    /** @type {number | undefined} */
    let timer;
    const load = async () => {
      clearTimeout(timer);
      const mine = state.current;
      mine.isLoading = true;
      let waitMs = everyMs;
      try {
        const before = keptAt();
        const options = { ...(query && { query }), signal: stop.signal, known: before };
        const next = await call(path, options);
        keep(key, { ...next, data: settled(before?.data, next.data), at: Date.now() });
        mine.problem = null;
      } catch (error) {
        if (stop.signal.aborted) return;
        const problem = toProblem(error);
        mine.problem = problem;
        waitMs = everyMs === null ? null : Math.max(everyMs, problem.retryAfterMs ?? 0);
      }
      mine.isLoading = false;
      redraw((count) => count + 1);
      if (waitMs !== null) timer = setTimeout(look, waitMs);
    };
    const look = () => {
      if (!document.hidden) void load();
    };
    const onVisible = () => {
      const age = Date.now() - (keptAt()?.at ?? 0);
      if (!document.hidden && everyMs !== null && age >= everyMs) void load();
    };
    again.current = load;
    document.addEventListener('visibilitychange', onVisible);
    const unwatch = onReachabilityChange((change) => {
      if (change === 'back') void load();
    });
    void load();
    return () => {
      unwatch();
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
    };
  }, [key, everyMs]);

  const entry = keptAt();
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
