/** Calls of the API in the session of who is signed in. */
import { sessionEnded } from './session.js';

/** The API stands beside the console, whatever path both are under. */
const base = new URL('..', location.href);

/** A refusal, or no answer at all (`status` 0). */
export class Problem extends Error {
  constructor(status, message, retryAfterMs = null) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

function headersOf(body, etag) {
  return {
    // The cookie of the session counts only in requests that carry this.
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

/** Total of a paged list: `items 0-9/120`. */
function totalOf(response) {
  const total = /\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1];
  return total === undefined ? null : Number(total);
}

/** How long an answer may take; runs that are waited for take up to half a minute. */
const patienceMs = 60_000;

/**
 * Gives `{ data, total, etag }`, or throws a `Problem`. With the `etag` of an earlier answer it gives
 * null where nothing has changed since. A session that is refused is over.
 */
export async function call(path, { method = 'GET', query, body, signal, etag } = {}) {
  let response;
  try {
    const limits = [AbortSignal.timeout(patienceMs), ...(signal ? [signal] : [])];
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

/** The public address of something beside the console, such as a status page. */
export function besideConsole(path) {
  return new URL(path, base).href;
}
