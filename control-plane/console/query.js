/**
 * Queries of views: cached data is shown at once and read again when the server says that it changed,
 * and from time to time while the page is visible.
 */
/** @import { Answer, CallOptions, DataAt, PathOf, Read } from './contract.ts' */
/** @import { Problem } from './api.js' */
import { useCallback, useEffect, useRef, useState } from './dom.js';
import { send, toProblem } from './api.js';
import { isLive, onLiveEvent } from './live.js';
import { onReachabilityChange } from './reachable.js';
import { onSessionChange } from './session.js';

const maxKept = 200;
/** @type {Map<string, Answer<any> & { at: number }>} */
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

/** What else shows a change, by the first word of the path that is read. */
/** @type {Record<string, string[]>} */
const sources = {
  checks: ['deletions'],
  'check-overview': [
    ...[
      'checks',
      'deletions',
      'check-groups',
      'maintenance-windows',
      'private-locations',
      'agents',
    ],
  ],
  'location-states': ['agents', 'private-locations'],
};
const ofResults = [
  ...['check-overview', 'check-results', 'check-runs', 'check-alerts', 'alert-notifications'],
  ...['analytics', 'error-groups', 'test-sessions'],
];
/** Names of checks fit into an address that every proxy takes. */
const maxNamed = 100;
/** Results come all the time: they are read together. */
const resultsEveryMs = 15_000;

/** @param {string} path */
function placeOf(path) {
  return path.split('/')[1] ?? '';
}

/**
 * Reads `path`; null reads nothing. With `everyMs` it reads again while the page is visible, and for
 * new results no more often than that. `liveMs` is the same while the server says what changes.
 * With `namesChecks`, only the checks are read again whose state changed.
 * @template {PathOf<'GET'>} Path
 * @param {Path | null} path
 * @param {{
 *   query?: CallOptions<'GET', Path>['query'],
 *   everyMs?: number | null,
 *   liveMs?: number | null,
 *   namesChecks?: boolean,
 * }} options
 * @returns {Read<DataAt<Path>>}
 */
export function useQuery(path, options = {}) {
  return useRead(path, options);
}

/**
 * The entries of a list whose path the code does not know.
 * @param {string | null} path
 * @param {object} query
 * @returns {Read<any[]>}
 */
export function useList(path, query) {
  const read = useRead(path, { query });
  return { ...read, data: Array.isArray(read.data) ? read.data : read.data?.entries };
}

/**
 * @param {string | null} path
 * @param {{
 *   query?: object | undefined,
 *   everyMs?: number | null,
 *   liveMs?: number | null,
 *   namesChecks?: boolean,
 * }} options
 * @returns {Read<any>}
 */
function useRead(path, { query, everyMs = null, liveMs = everyMs, namesChecks = false } = {}) {
  const key = path === null ? null : `${path}?${JSON.stringify(query)}`;
  const keptAt = () => known.get(key ?? '');
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
    let isStale = false;
    /** @type {Promise<void> | null} */
    let loading = null;
    let resultsAt = performance.now();
    /** What changes during a read is read after it. */
    const load = () => {
      isStale = loading !== null;
      loading ??= read().finally(() => {
        loading = null;
      });
      return loading;
    };
    /** @returns {Promise<void>} */
    const read = async () => {
      clearTimeout(timer);
      isStale = false;
      resultsAt = performance.now();
      const mine = state.current;
      mine.isLoading = true;
      let waitMs = isLive() ? liveMs : everyMs;
      try {
        const before = keptAt();
        const options = { ...(query && { query }), signal: stop.signal, known: before };
        const next = await send(path, options);
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
      return isStale ? read() : undefined;
    };
    /** @param {string[]} ids */
    const loadNamed = async (ids) => {
      try {
        for (let from = 0; from < ids.length; from += maxNamed) {
          const named = { ...query, checkId: ids.slice(from, from + maxNamed) };
          const { data } = await send(path, { query: named, signal: stop.signal });
          const before = keptAt();
          if (before === undefined || loading !== null) return await load();
          const next = new Map(
            data.map((/** @type {{ id: string }} */ entry) => [entry.id, entry]),
          );
          const merged = before.data.map(
            (/** @type {{ id: string }} */ entry) => next.get(entry.id) ?? entry,
          );
          keep(key, { ...before, data: merged, etag: null, at: Date.now() });
        }
        redraw((count) => count + 1);
      } catch {
        if (!stop.signal.aborted) await load();
      }
    };
    /** @type {number | undefined} */
    let resultsTimer;
    const onResults = (/** @type {string[]} */ ids) => {
      if (!ofResults.includes(placeOf(path))) return;
      if (namesChecks) {
        if (ids.length > 0) void loadNamed(ids);
        return;
      }
      if (everyMs === null) return;
      const isNamed = ids.some((id) => key.includes(id));
      const waitMs = resultsAt + Math.max(everyMs, resultsEveryMs) - performance.now();
      clearTimeout(resultsTimer);
      resultsTimer = setTimeout(look, isNamed ? 0 : waitMs);
    };
    const unfollow = onLiveEvent((event) => {
      if (event.kind === 'results') onResults(event.words);
      else if (event.kind === 'again') void load();
      else {
        const places = [placeOf(path), '*', ...(sources[placeOf(path)] ?? [])];
        if (event.words.some((word) => places.includes(word))) void load();
      }
    });
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
      unfollow();
      stop.abort();
      clearTimeout(timer);
      clearTimeout(resultsTimer);
      document.removeEventListener('visibilitychange', onVisible);
    };
  }, [key, everyMs, liveMs, namesChecks]);

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
