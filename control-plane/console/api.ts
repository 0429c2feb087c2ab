/** API calls in the session of the signed-in user. Answers have the types of the contract. */
import type { Answer, CallOptions, DataAt, PathOf } from './contract.ts';
import type { HttpMethod } from '@monitor/shared/contract/route.ts';
import { Problem, toProblem } from './problem.ts';
import { sessionEnded } from './session.ts';

/** The API is a sibling of the console, at any path. */
const base = new URL('..', location.href);

function headersOf({ body, known, ifMatch, isHeld = false }: Request): Record<string, string> {
  return {
    // The server accepts the session cookie only with this header.
    'x-console': '1',
    ...(known?.etag == null ? {} : { 'if-none-match': known.etag }),
    ...(ifMatch == null ? {} : { 'if-match': ifMatch }),
    ...(isHeld ? { prefer: 'respond-async' } : {}),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
}

function urlOf(path: string, query: object) {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each != null && each !== '') url.searchParams.append(name, String(each));
    }
  }
  return url;
}

async function problemOf(response: Response) {
  const body = await response.json().catch(() => null);
  const seconds = Number(response.headers.get('retry-after'));
  const message = body?.message ?? `the server answered with status ${response.status}`;
  return new Problem(response.status, message, {
    retryAfterMs: seconds > 0 ? seconds * 1000 : null,
    issues: body?.attributes?.issues ?? [],
  });
}

/** Total of a paged list: 120 in `items 0-9/120`. */
function totalOf(response: Response) {
  const total = /\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1];
  return total === undefined ? null : Number(total);
}

const changed = new Set<string>();

/** The first word of a path, which names what is read or changed. */
export function placeOf(path: string) {
  return path.split('/')[1] ?? '';
}

/** Once, where calls may have changed something, also when they were refused. */
export function takeChanges() {
  const places = [...changed];
  changed.clear();
  return places;
}

/** Timeout of a call; calls that wait for runs take up to half a minute. */
const timeoutMs = 60_000;

/**
 * With `ifMatch`, an entry that was changed since then is refused with status 412. A deletion that is held
 * can be undone.
 */
interface Request {
  method?: string;
  query?: object;
  body?: unknown;
  signal?: AbortSignal;
  known?: Answer<unknown> | undefined;
  ifMatch?: string | null;
  isHeld?: boolean;
}

/**
 * Gives the answer, or throws a `Problem`. A 401 ends the session. For paths that the code does not
 * know; others are called by `call`.
 */
export async function send<Data = unknown>(
  path: string,
  request: Request = {},
): Promise<Answer<Data>> {
  const { method, query, body, signal, known } = request;
  let response;
  try {
    const limits = [AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])];
    response = await fetch(urlOf(path, query ?? {}), {
      method: method ?? 'GET',
      headers: headersOf(request),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      cache: 'no-store',
      credentials: 'same-origin',
      signal: AbortSignal.any(limits),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(0, 'the control plane cannot be reached');
  }
  if (method !== undefined && method !== 'GET') changed.add(placeOf(path));
  if (response.status === 304 && known !== undefined) return known as Answer<Data>;
  if (!response.ok) {
    const problem = await problemOf(response);
    if (problem.status === 401) {
      sessionEnded('You were signed out: the session or its key has expired or was revoked.');
    }
    throw problem;
  }
  const data = ([202, 204].includes(response.status) ? undefined : await response.json()) as Data;
  return { data, total: totalOf(response), etag: response.headers.get('etag') };
}

/** Like `send`, with the types of the contract. */
export function call<Path extends PathOf<Method>, Method extends HttpMethod = 'GET'>(
  path: Path,
  options: CallOptions<Method, Path> = {},
): Promise<Answer<DataAt<Path, Method>>> {
  return send(path, options);
}

/** Waits where the server asks for it, as often as it does. */
export async function patiently<T>(act: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      const { status, retryAfterMs } = toProblem(error);
      if (status !== 429 || signal?.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, retryAfterMs ?? 1_000));
    }
  }
}

/** Puts what follows from an entry as it is now, again when it was changed meanwhile. */
export async function changeNow<Path extends PathOf<'GET'>>(
  path: Path,
  changeOf: (now: DataAt<Path>) => object,
) {
  for (let triesLeft = 4; ; triesLeft -= 1) {
    const { data, etag } = await send<DataAt<Path>>(path);
    try {
      await send(path, { method: 'PUT', body: changeOf(data), ifMatch: etag });
      return;
    } catch (error) {
      if (toProblem(error).status !== 412 || triesLeft === 0) throw error;
    }
  }
}

/** Public address of a sibling of the console, such as a status page. */
export function besideConsole(path: string) {
  return new URL(path, base).href;
}
