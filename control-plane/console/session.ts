/**
 * The session of the user. A password, an API key or a one-time link is exchanged for a session with
 * an HttpOnly cookie; the page stores nothing in the browser.
 */
import type { CredentialJson } from './passkeys.ts';
import { dropDrafts, hasDrafts, ownDrafts } from './forms/drafts.ts';
import { unsubscribe } from './push.ts';

const address = new URL('session', location.href);
const headers = { 'x-console': '1' };
const listeners = new Set<() => void>();
let notice = '';
/** Undefined until the server has answered, then whether a user is signed in. */
let current: boolean | undefined;
/** What the sign-in page shows: nobody can sign in yet, and whether a password can be reset by mail. */
let installation = {
  hasPeople: true,
  canMail: false,
  openId: null as string | null,
  /** Why the provider has just signed in nobody; null otherwise. */
  refusal: null as string | null,
  /** Why there are no passkeys here; null where they work. */
  passkeyProblem: null as string | null,
  /** What agents are started from; null where it is not set. */
  agentImage: null as string | null,
  agentChart: null as string | null,
  version: '',
};

export interface Issue {
  path: string;
  message: string;
}
interface Refusal {
  status: number;
  code?: string;
  message: string;
  issues: Issue[];
}
/** What a one-time link is for. */
export interface LinkFacts {
  kind: 'SETUP' | 'INVITATION' | 'RESET';
  email: string;
  accountName: string | null;
  role: string | null;
  invitedBy: string | null;
  isKnown: boolean;
}

// Earlier versions stored the key here, and a worker of the trace viewer beside this page.
for (const storage of [sessionStorage, localStorage]) storage.removeItem('console.session');
void navigator.serviceWorker
  ?.getRegistrations()
  .then((workers) =>
    Promise.all(
      workers
        .filter(({ scope }) => scope !== new URL('.', location.href).href)
        .map((worker) => worker.unregister()),
    ),
  )
  .catch(() => {});

function change(isSignedIn: boolean) {
  if (current === isSignedIn) return;
  current = isSignedIn;
  for (const listener of listeners) listener();
}

export function isSignedIn() {
  return current;
}

export function installationFacts() {
  return installation;
}

/** Why the user was signed out, for the sign-in page. */
export function signOutNotice() {
  return notice;
}

/** Asks the server whether a session exists; rejects when it cannot be reached. */
export async function findSession() {
  const answer = await fetch(address, { headers, cache: 'no-store' });
  if (!answer.ok) throw new Error(`the server answered with status ${answer.status}`);
  const { isSignedIn, ...facts } = await answer.json();
  installation = facts;
  change(isSignedIn);
}

/**
 * Gives the answer, or the refusal: `status` (0 without an answer), `message`, and `issues` by field.
 */
async function post<Data>(
  path: string,
  body: object,
): Promise<{ data: Data } | { refusal: Refusal }> {
  let answer;
  try {
    answer = await fetch(`${address}${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  } catch {
    return { refusal: { status: 0, message: '', issues: [] } };
  }
  const data = answer.status === 204 ? null : await answer.json().catch(() => null);
  if (answer.ok) return { data };
  const message = data?.message ?? `the server answered with status ${answer.status}`;
  const issues = data?.attributes?.issues ?? [];
  const code = data?.attributes?.code ?? '';
  return { refusal: { status: answer.status, code, message, issues } };
}

/** Gives null, or the refusal. */
export async function signIn(
  credentials:
    | { email: string; password: string; code?: string; passkey?: object; isKept: boolean }
    | { passkey: object; isKept: boolean }
    | { key: string; account: string; isKept: boolean },
) {
  const isPasskey = 'passkey' in credentials && !('email' in credentials);
  const answer = await post(isPasskey ? '/passkey' : '', credentials);
  if ('refusal' in answer) return answer.refusal;
  notice = '';
  if (/^#\/(sign-in|forgotten)\b/.test(location.hash)) {
    history.replaceState(null, '', '#/checks');
    dispatchEvent(new HashChangeEvent('hashchange'));
  }
  // Before a form shows what somebody else has typed.
  if (hasDrafts()) {
    const me = await fetch(new URL('../v1/users/me', address), { headers }).catch(() => null);
    if (me?.ok) ownDrafts(await me.json());
  }
  change(true);
  return null;
}

/** Asks for a passkey of anybody. Gives what the device says, or the refusal. */
export async function askForPasskey(): Promise<{ passkey: CredentialJson } | { refusal: Refusal }> {
  const [{ usePasskey }, answer] = await Promise.all([
    import('./passkeys.ts'),
    post<{ options: object }>('/passkey/options', {}),
  ]);
  if ('refusal' in answer) return answer;
  const used = await usePasskey(answer.data.options);
  if ('problem' in used) return { refusal: { status: -1, message: used.problem, issues: [] } };
  return { passkey: used.credential };
}

export function describeLink(token: string): Promise<{ data: LinkFacts } | { refusal: Refusal }> {
  return post('/link', { token });
}

/**
 * Gives null, or the refusal. Who joined is signed in, unless a second factor is asked for; who has a
 * new password signs in with it.
 */
export async function acceptLink(
  answers: { token: string; password: string; name?: string; email?: string; isKept?: boolean },
  kind: LinkFacts['kind'],
) {
  const answer = await post<{ isSignedIn: boolean }>('/link/accept', answers);
  if ('refusal' in answer) return answer.refusal;
  installation = { ...installation, hasPeople: true };
  const done =
    kind === 'RESET' ? 'Your password was changed. Sign in with it.' : 'You have joined. Sign in.';
  notice = answer.data.isSignedIn ? '' : done;
  // The token is not kept in the history, although it works no longer.
  history.replaceState(null, '', '#/checks');
  dispatchEvent(new HashChangeEvent('hashchange'));
  current = undefined;
  change(answer.data.isSignedIn);
  return null;
}

/** Gives null, or the refusal. It succeeds for unknown addresses too. */
export async function askForReset(email: string) {
  const answer = await post('/reset', { email });
  return 'refusal' in answer ? answer.refusal : null;
}

/** Ends the session on the server; false when that failed. */
export async function signOut() {
  const answer = await fetch(address, { method: 'DELETE', headers }).catch(() => null);
  if (answer === null || !answer.ok) return false;
  notice = '';
  dropDrafts();
  // The push service may be away.
  void unsubscribe().catch(() => {});
  change(false);
  return true;
}

/** Call it when the server has ended the session. */
export function sessionEnded(reason: string) {
  if (current !== true) return;
  notice = reason;
  change(false);
}

export function onSessionChange(listener: () => void) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
