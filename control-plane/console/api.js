/** Calls of the API with the key of the session. */
import { session, signOut } from './session.js';

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

function headersOf({ key, account }, body) {
  return {
    authorization: `Bearer ${key}`,
    ...(account ? { 'x-service-account': account } : {}),
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

/** Gives `{ data, total }`, or throws a `Problem`. A key that is refused ends the session. */
export async function call(path, { method = 'GET', query, body, signal, as = session() } = {}) {
  let response;
  try {
    response = await fetch(urlOf(path, query), {
      method,
      headers: headersOf(as ?? { key: '' }, body),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      cache: 'no-store',
      credentials: 'omit',
      signal,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(0, 'the control plane cannot be reached');
  }
  if (!response.ok) {
    const problem = await problemOf(response);
    if (problem.status === 401 && as !== null && as === session()) {
      signOut('The key was not accepted any more: it has expired or was revoked.');
    }
    throw problem;
  }
  if (response.status === 204) return { data: null, total: null };
  return { data: await response.json(), total: totalOf(response) };
}

/** The public address of something beside the console, such as a status page. */
export function besideConsole(path) {
  return new URL(path, base).href;
}
