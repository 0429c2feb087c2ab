/** API calls in the session of the signed-in user. */
import { sessionEnded } from './session.js';

/** The API is a sibling of the console, at any path. */
const base = new URL('..', location.href);

/** An error answer, or no answer (`status` 0). */
export class Problem extends Error {
  constructor(status, message, retryAfterMs = null) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

function headersOf(body, etag) {
  return {
    // The server accepts the session cookie only with this header.
    'x-console': '1',
    ...(etag ? { 'if-none-match': etag } : {}),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
}

function urlOf(path, query) {
  const url = new URL(path.replace(/^\//, ''), base);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== '') url.searchParams.set(name, value);
  }
  return url;
}

async function problemOf(response) {
  const body = await response.json().catch(() => null);
  const seconds = Number(response.headers.get('retry-after'));
  const message = body?.message ?? `the server answered with status ${response.status}`;
  return new Problem(response.status, message, seconds > 0 ? seconds * 1000 : null);
}

/** Total of a paged list: 120 in `items 0-9/120`. */
function totalOf(response) {
  const total = /\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1];
  return total === undefined ? null : Number(total);
}

/** Timeout of a call; calls that wait for runs take up to half a minute. */
const timeoutMs = 60_000;

/**
 * Gives `{ data, total, etag }`, or throws a `Problem`. With the `etag` of an earlier answer it
 * gives null when nothing has changed. A 401 ends the session.
 */
export async function call(path, { method = 'GET', query, body, signal, etag } = {}) {
  let response;
  try {
    const limits = [AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])];
    response = await fetch(urlOf(path, query), {
      method,
      headers: headersOf(body, etag),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      cache: 'no-store',
      credentials: 'same-origin',
      signal: AbortSignal.any(limits),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(0, 'the control plane cannot be reached');
  }
  if (response.status === 304) return null;
  if (!response.ok) {
    const problem = await problemOf(response);
    if (problem.status === 401) {
      sessionEnded('You were signed out: the session or its key has expired or was revoked.');
    }
    throw problem;
  }
  if (response.status === 204) return { data: null, total: null, etag: null };
  const data = await response.json();
  return { data, total: totalOf(response), etag: response.headers.get('etag') };
}

/** Public address of a sibling of the console, such as a status page. */
export function besideConsole(path) {
  return new URL(path, base).href;
}
