/** Who is signed in: a key of the API, kept in this tab or, if asked to, on this machine. */

const name = 'console.session';
const listeners = new Set();
let notice = '';

function read() {
  try {
    return JSON.parse(sessionStorage.getItem(name) ?? localStorage.getItem(name) ?? 'null');
  } catch {
    return null;
  }
}

let current = read();

function announce() {
  for (const listener of listeners) listener();
}

/** `{ key, account }`, or null. */
export function session() {
  return current;
}

/** Why somebody was signed out, for the sign-in page. */
export function signOutNotice() {
  return notice;
}

export function signIn({ key, account, isKept }) {
  current = { key, account };
  notice = '';
  (isKept ? localStorage : sessionStorage).setItem(name, JSON.stringify(current));
  announce();
}

export function signOut(reason = '') {
  if (current === null) return;
  current = null;
  notice = reason;
  sessionStorage.removeItem(name);
  localStorage.removeItem(name);
  announce();
}

export function onSessionChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
