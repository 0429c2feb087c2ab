/**
 * The session of the user. An API key is exchanged for a session with an HttpOnly cookie; the page
 * stores nothing in the browser.
 */
const address = new URL('session', location.href);
const headers = { 'x-console': '1' };
/** @type {Set<() => void>} */
const listeners = new Set();
let notice = '';
/**
 * Undefined until the server has answered, then whether a user is signed in.
 * @type {boolean | undefined}
 */
let current;

// Earlier versions stored the key here, and a worker of the trace viewer beside this page.
for (const storage of [sessionStorage, localStorage]) storage.removeItem('console.session');
void navigator.serviceWorker
  ?.getRegistrations()
  .then((workers) => workers.forEach((worker) => worker.unregister()))
  .catch(() => {});

/** @param {boolean} isSignedIn */
function change(isSignedIn) {
  if (current === isSignedIn) return;
  current = isSignedIn;
  for (const listener of listeners) listener();
}

export function isSignedIn() {
  return current;
}

/** Why the user was signed out, for the sign-in page. */
export function signOutNotice() {
  return notice;
}

/** Asks the server whether a session exists; rejects when it cannot be reached. */
export async function findSession() {
  const answer = await fetch(address, { headers, cache: 'no-store' });
  if (!answer.ok) throw new Error(`the server answered with status ${answer.status}`);
  change((await answer.json()).isSignedIn);
}

/**
 * Gives null, or the error: `status` (0 without an answer) and `message`.
 * @param {{ key: string, account: string, isKept: boolean }} credentials
 */
export async function signIn({ key, account, isKept }) {
  let answer;
  try {
    answer = await fetch(address, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ key, account, isKept }),
    });
  } catch {
    return { status: 0, message: '' };
  }
  if (!answer.ok) {
    const body = await answer.json().catch(() => null);
    const message = body?.message ?? `the server answered with status ${answer.status}`;
    return { status: answer.status, message };
  }
  notice = '';
  change(true);
  return null;
}

/** Ends the session on the server; false when that failed. */
export async function signOut() {
  const answer = await fetch(address, { method: 'DELETE', headers }).catch(() => null);
  if (answer === null || !answer.ok) return false;
  notice = '';
  change(false);
  return true;
}

/**
 * Call it when the server has ended the session.
 * @param {string} reason
 */
export function sessionEnded(reason) {
  if (current !== true) return;
  notice = reason;
  change(false);
}

/** @param {() => void} listener */
export function onSessionChange(listener) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
