/**
 * Queries of views: cached data is shown at once and read again when the server says that it changed,
 * and from time to time while the page is visible.
 */
import type { Answer, CallOptions, DataAt, PathOf, Read } from './contract.ts';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { send } from './api.ts';
import { toProblem, type Problem } from './problem.ts';
import { isLive, onLiveEvent } from './live.ts';
import { onReachabilityChange } from './reachable.ts';
import { onSessionChange } from './session.ts';

type Values = Record<string, unknown>;

/** An entry of a list whose changes are named. */
interface Named {
  id: string;
}

const maxKept = 200;
const known = new Map<string, Answer<unknown> & { at: number }>();

onSessionChange(() => known.clear());

function keep(key: string, entry: Answer<unknown> & { at: number }) {
  known.delete(key);
  known.set(key, entry);
  const [oldest] = known.keys();
  if (known.size > maxKept && oldest !== undefined) known.delete(oldest);
}

/** Keeps the objects of unchanged list entries, so that their rows are not rendered again. */
function settled(before: unknown, next: unknown) {
  if (!Array.isArray(before) || !Array.isArray(next)) return next;
  const texts = new Map(before.map((entry) => [entry?.id, entry]));
  return next.map((entry) => {
    const old = entry?.id === undefined ? undefined : texts.get(entry.id);
    return old !== undefined && JSON.stringify(old) === JSON.stringify(entry) ? old : entry;
  });
}

/** What else shows a change, by the first word of the path that is read. */
const sources: Record<string, string[]> = {
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
  'check-events': ['checks', 'check-groups', 'status-pages', 'maintenance-windows'],
  'alert-overview': ['check-alerts', 'alert-groups', 'alert-notifications', 'checks'],
  'escalation-policies': ['accounts', 'checks', 'check-groups'],
  'location-states': ['agents', 'private-locations'],
};
const ofResults = [
  ...['check-overview', 'check-results', 'check-runs', 'check-alerts', 'alert-notifications'],
  ...['alert-overview', 'analytics', 'error-groups', 'test-sessions'],
];
/** Names of checks fit into an address that every proxy takes. */
const maxNamed = 100;
/** Results come all the time: they are read together. */
const resultsEveryMs = 15_000;

function placeOf(path: string) {
  return path.split('/')[1] ?? '';
}

/**
 * Reads `path`; null reads nothing. With `everyMs` it reads again while the page is visible, and for
 * new results no more often than that. `liveMs` is the same while the server says what changes.
 * With `namesChecks`, only the checks are read again whose state changed.
 */
export function useQuery<Path extends PathOf<'GET'>>(
  path: Path | null,
  options: {
    query?: CallOptions<'GET', Path>['query'];
    everyMs?: number | null;
    liveMs?: number | null;
    namesChecks?: boolean;
  } = {},
): Read<DataAt<Path>> {
  return useRead<DataAt<Path>>(path, options);
}

/** The entries of a list whose path the code does not know. */
export function useList(path: string | null, query: object): Read<Values[]> {
  const read = useRead<Values[] | { entries: Values[] }>(path, { query });
  return { ...read, data: Array.isArray(read.data) ? read.data : read.data?.entries };
}

/** The caller knows what the path answers. */
function useRead<Data>(
  path: string | null,
  {
    query,
    everyMs = null,
    liveMs = everyMs,
    namesChecks = false,
  }: {
    query?: object | undefined;
    everyMs?: number | null;
    liveMs?: number | null;
    namesChecks?: boolean;
  } = {},
): Read<Data> {
  const key = path === null ? null : `${path}?${JSON.stringify(query)}`;
  const keptAt = () => known.get(key ?? '');
  const [, redraw] = useState(0);
  const state = useRef({
    key,
    problem: null as Problem | null,
    isLoading: path !== null,
  });
  const again = useRef(async () => {});
  if (state.current.key !== key) {
    state.current = { key, problem: null, isLoading: path !== null };
  }

  useEffect(() => {
    if (path === null || key === null) return undefined;
    const stop = new AbortController();
    let timer: number | undefined;
    let isStale = false;
    let loading: Promise<void> | null = null;
    let resultsAt = performance.now();
    /** What changes during a read is read after it. */
    const load = () => {
      isStale = loading !== null;
      loading ??= read().finally(() => {
        loading = null;
      });
      return loading;
    };
    const read = async (): Promise<void> => {
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
    const loadNamed = async (ids: string[]) => {
      try {
        for (let from = 0; from < ids.length; from += maxNamed) {
          const named = { ...query, checkId: ids.slice(from, from + maxNamed) };
          const { data } = await send<Named[]>(path, { query: named, signal: stop.signal });
          const before = keptAt();
          if (before === undefined || loading !== null) return await load();
          const next = new Map(data.map((entry) => [entry.id, entry]));
          const merged = (before.data as Named[]).map((entry) => next.get(entry.id) ?? entry);
          keep(key, { ...before, data: merged, etag: null, at: Date.now() });
        }
        redraw((count) => count + 1);
      } catch {
        if (!stop.signal.aborted) await load();
      }
    };
    let resultsTimer: number | undefined;
    const onResults = (ids: string[]) => {
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
    data: entry?.data as Data | undefined,
    total: entry?.total ?? null,
    at: entry?.at ?? null,
    problem,
    isLoading: isLoading && entry === undefined,
    reload: useCallback(() => again.current(), []),
  };
}
