/**
 * Queries of views: cached data is shown at once and read again when the server says that it changed,
 * and from time to time while the page is visible.
 */
import {
  keepPreviousData,
  QueryClient,
  useQuery as useCached,
  type Query,
  type QueryState,
} from '@tanstack/preact-query';
import type { Answer, CallOptions, DataAt, PathOf, Read } from './contract.ts';
import { useCallback, useRef } from 'preact/hooks';
import { placeOf, send, takeChanges } from './api.ts';
import type { Problem } from './problem.ts';
import { isLive, onLiveEvent } from './live.ts';
import { onReachabilityChange } from './reachable.ts';
import { onSessionChange } from './session.ts';

type Values = Record<string, unknown>;
type Key = readonly [path: string | null, query: object];

/** Intervals in milliseconds; null reads only at changes. See `useQuery`. */
interface Refreshing {
  everyMs?: number | null;
  liveMs?: number | null;
  ofStates?: boolean;
}

/** `at` is when all of it was read, in ms since the epoch. */
type Entry = Answer<unknown> & { at: number };

declare module '@tanstack/preact-query' {
  interface Register {
    defaultError: Problem;
    queryKey: Key;
    queryMeta: Required<Refreshing>;
  }
}

const cache = new QueryClient({
  defaultOptions: {
    queries: { gcTime: 1_800_000, networkMode: 'always', retry: false, refetchOnReconnect: false },
  },
});

onSessionChange(() => cache.clear());
onReachabilityChange((change) => {
  if (change === 'back') void readPlaces(['*']);
});
// It notices when the page is shown again.
cache.mount();

/** What else shows a change, by the first word of the path that is read. */
const sources: Record<string, string[]> = {
  checks: ['deletions', 'check-results'],
  'check-runs': ['cancel'],
  'check-overview': [
    ...['checks', 'deletions', 'check-groups', 'maintenance-windows'],
    ...['private-locations', 'agents', 'check-sessions'],
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
/** Results come all the time: they are read together. */
const resultsEveryMs = 15_000;
/** Between two reads at intervals. */
const minRestMs = 1_000;

async function read({ queryKey, signal }: { queryKey: Key; signal: AbortSignal }): Promise<Entry> {
  const [path, query] = queryKey;
  const known = cache.getQueryData<Entry>(queryKey);
  return { ...(await send(path ?? '', { query, signal, known })), at: Date.now() };
}

/** What changes during a read is read after it, once: a cancelled read would never end where changes keep coming. */
async function readAgain(queryKey: Key) {
  const join = () =>
    cache.refetchQueries({ queryKey, exact: true, type: 'active' }, { cancelRefetch: false });
  if (cache.isFetching({ queryKey, exact: true }) > 0) await join();
  await join();
}

const timers = new WeakMap<Query, number>();

function onResults(query: Query, ids: string[]) {
  if (!ofResults.includes(placeOf(query.queryKey[0] ?? ''))) return;
  // Views that show the same may ask for it in different ways.
  const asked = query.observers.flatMap(({ options: { meta } }) => meta ?? []);
  if (asked.some(({ ofStates }) => ofStates)) {
    if (ids.length > 0) void readAgain(query.queryKey);
    return;
  }
  const everyMs = Math.min(...asked.map((each) => each.everyMs ?? Infinity));
  if (everyMs === Infinity) return;
  const isNamed = ids.some((id) => query.queryHash.includes(id));
  const { dataUpdatedAt, errorUpdatedAt } = query.state;
  const dueAt = Math.max(dataUpdatedAt, errorUpdatedAt) + Math.max(everyMs, resultsEveryMs);
  clearTimeout(timers.get(query));
  const look = () => {
    if (!document.hidden) void readAgain(query.queryKey);
  };
  timers.set(query, setTimeout(look, isNamed ? 0 : dueAt - Date.now()));
}

/** Reads again what shows something of these places; `*` is all. */
function readPlaces(changed: string[]) {
  const predicate = ({ queryKey: [path] }: Query) => {
    const place = placeOf(path ?? '');
    return [place, '*', ...(sources[place] ?? [])].some((each) => changed.includes(each));
  };
  const shown = cache.getQueryCache().findAll({ type: 'active', predicate });
  return Promise.all(shown.map(({ queryKey }) => readAgain(queryKey)));
}

/** Actions and forms end with it: what their calls may have changed is shown as it is then. */
export const refresh = () => readPlaces(takeChanges());

onLiveEvent((event) => {
  if (event.kind !== 'results') void readPlaces(event.kind === 'again' ? ['*'] : event.words);
  else {
    for (const query of cache.getQueryCache().findAll({ type: 'active' })) {
      onResults(query, event.words);
    }
  }
});

/**
 * Reads `path`; null reads nothing. With `everyMs` it reads again while the page is visible, and for
 * new results no more often than that. `liveMs` is the same while the server says what changes.
 * With `ofStates`, results are only read when a check changed its state. With `keepsOld`, what another query
 * of the same view answered is shown until this one does.
 */
export function useQuery<Path extends PathOf<'GET'>>(
  path: Path | null,
  options: Refreshing & { query?: CallOptions<'GET', Path>['query']; keepsOld?: boolean } = {},
): Read<DataAt<Path>> {
  return useRead<DataAt<Path>>(path, options);
}

/** The entries of a list whose path the code does not know. */
export function useList(path: string | null, query: object): Read<Values[]> {
  const read = useRead<Values[] | { entries: Values[] }>(path, { query });
  return { ...read, data: Array.isArray(read.data) ? read.data : read.data?.entries };
}

/** Rest of an interval that began when all was read, or when that failed. */
function restOf(waitMs: number | null, { data, error, errorUpdatedAt }: QueryState<Entry>) {
  if (waitMs === null) return false;
  const since = Math.max(data?.at ?? 0, errorUpdatedAt);
  return Math.max(error?.retryAfterMs ?? minRestMs, since + waitMs - Date.now());
}

/** The caller knows what the path answers. */
function useRead<Data>(
  path: string | null,
  {
    query = {},
    everyMs = null,
    liveMs = everyMs,
    ofStates = false,
    keepsOld = false,
  }: Refreshing & { query?: object | undefined; keepsOld?: boolean } = {},
): Read<Data> {
  const queryKey: Key = [path, query];
  const { data, error, isFetching, isLoading, isPlaceholderData } = useCached<
    Entry,
    Problem,
    Entry,
    Key
  >(
    {
      queryKey,
      queryFn: read,
      enabled: path !== null,
      meta: { everyMs, liveMs, ofStates },
      ...(keepsOld && { placeholderData: keepPreviousData }),
      notifyOnChangeProps: ['data', 'error', 'isLoading', 'isPlaceholderData'],
      refetchInterval: ({ state }) =>
        restOf(isLive() && state.error === null ? liveMs : everyMs, state),
      refetchOnWindowFocus: ({ state }) =>
        everyMs !== null && Date.now() - state.dataUpdatedAt >= everyMs && 'always',
    },
    cache,
  );
  /** Stays when another query of the view fails. */
  const old = useRef<Entry | undefined>(undefined);
  if (path === null || !keepsOld) old.current = undefined;
  else if (data !== undefined) old.current = data;
  const answer = path === null ? undefined : (data ?? old.current);
  const key = JSON.stringify(queryKey);
  /** A problem is shown until the next answer, also while it is tried again. */
  const shown = useRef({ key, problem: error });
  if (shown.current.key !== key || !isFetching) shown.current = { key, problem: error };
  return {
    data: answer?.data as Data | undefined,
    total: answer?.total ?? null,
    at: answer?.at ?? null,
    problem: shown.current.problem,
    isLoading,
    isOld: isPlaceholderData || (data === undefined && answer !== undefined),
    reload: useCallback(async () => {
      if (path !== null) await readAgain(queryKey);
    }, [key]),
  };
}
