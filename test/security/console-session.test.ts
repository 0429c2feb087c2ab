// Own process: it starts browsers.
/** C1: who can use a session of the console, for how long, and what a browser keeps of it. */
import assert from 'node:assert/strict';
import test from 'node:test';
import {
  previousTokenMs,
  rotateAfterMs,
  sessionMs,
} from '../../control-plane/accounts/keys/console-sessions.ts';
import { createApiKey, rememberKeysMs } from '../../control-plane/accounts/keys/store.ts';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import { launchBrowser } from '../support/found-browser.ts';
import { fillKey } from '../support/people.ts';
import { httpServer } from '../support/servers.ts';
import { TestClock } from '../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00.000Z');
const own = { 'x-console': '1' };

interface SignedIn {
  status: number;
  setCookie: string;
  cookie: string;
}

async function signIn(
  cp: TestControlPlane,
  body: object = { key: cp.apiKey },
  headers: Record<string, string> = own,
): Promise<SignedIn> {
  const answer = await fetch(`${cp.url}/console/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const setCookie = answer.headers.get('set-cookie') ?? '';
  return { status: answer.status, setCookie, cookie: setCookie.split(';')[0] ?? '' };
}

/** The status that the API answers to a session. */
async function use(
  cp: TestControlPlane,
  cookie: string,
  headers: Record<string, string> = own,
  method = 'GET',
  path = '/v1/users/me',
): Promise<number> {
  const { status } = await fetch(cp.url + path, { method, headers: { ...headers, cookie } });
  return status;
}

test('a key is exchanged for a cookie that no script reads, and whose token is stored as a hash', async () => {
  await using cp = await startTestControlPlane({ clock: new TestClock(start) });
  const { status, setCookie, cookie } = await signIn(cp);
  assert.equal(status, 204);
  assert.match(setCookie, /; Path=\/; HttpOnly; SameSite=Strict$/);
  assert.equal(await use(cp, cookie), 200);
  const token = cookie.split('=')[1] ?? '';
  assert.equal(token.length, 43);
  const rows = await cp.controlPlane.services.db
    .selectFrom('console_sessions')
    .selectAll()
    .execute();
  assert.equal(rows.length, 1);
  assert.ok(!JSON.stringify(rows).includes(token));
  assert.equal((await signIn(cp, { key: 'cu_wrong-key' })).status, 401);
  assert.equal((await signIn(cp, { key: cp.apiKey, account: 'other' })).status, 403);
});

test('with HTTPS the cookie belongs to this host alone and is never sent in the open', async () => {
  await using cp = await startTestControlPlane({
    settings: { PUBLIC_URL: 'https://monitor.example' },
  });
  assert.match((await signIn(cp)).setCookie, /^__Host-console=.*; Path=\/; .*; Secure$/);
});

test('a request that the console did not make is not signed in', async () => {
  await using cp = await startTestControlPlane({ clock: new TestClock(start) });
  const { cookie } = await signIn(cp);
  assert.equal(await use(cp, cookie, {}), 401);
  for (const foreign of [
    { ...own, origin: 'https://attacker.example' },
    { ...own, origin: 'null' },
    { ...own, 'sec-fetch-site': 'cross-site' },
    { ...own, 'sec-fetch-site': 'same-site' },
    { ...own, 'sec-fetch-site': 'none' },
    { ...own, origin: cp.url.replace('127.0.0.1', 'traces.localhost') },
  ]) {
    assert.equal(await use(cp, cookie, foreign), 401, JSON.stringify(foreign));
    assert.equal(await use(cp, cookie, foreign, 'DELETE', '/v1/checks/x'), 401);
    assert.equal((await signIn(cp, { key: cp.apiKey }, foreign)).status, 403);
  }
  assert.equal(await use(cp, cookie, { ...own, origin: cp.url }), 200);
  // Agents have no sessions.
  assert.equal(await use(cp, cookie, own, 'POST', '/v1/agent/check-in'), 401);
});

test('a session may do what its key may do, and ends with it', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { services } = cp.controlPlane;
  const reader = await createApiKey(services, cp.accountId, { name: 'r', role: 'READ_ONLY' });
  const session = await signIn(cp, { key: reader.rawKey });
  assert.equal(await use(cp, session.cookie), 200);
  assert.equal(await use(cp, session.cookie, own, 'DELETE', '/v1/checks/x'), 403);
  await cp.api('DELETE', `/v1/api-keys/${reader.id}`);
  assert.equal(await use(cp, session.cookie), 401);

  const expiring = await createApiKey(services, cp.accountId, {
    name: 'e',
    expiresAt: start + 60_000,
  });
  const short = await signIn(cp, { key: expiring.rawKey });
  assert.equal(await use(cp, short.cookie), 200);
  clock.advance(60_000);
  assert.equal(await use(cp, short.cookie), 401);
});

test('signing out ends the session on the server', async () => {
  await using cp = await startTestControlPlane({ clock: new TestClock(start) });
  const { cookie } = await signIn(cp);
  assert.equal(await use(cp, cookie), 200);
  assert.equal(await use(cp, cookie, own, 'DELETE', '/console/session'), 204);
  assert.equal(await use(cp, cookie), 401);
});

test('a session ends after its time, and a stolen token soon after it was replaced', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const kept = await signIn(cp, { key: cp.apiKey, isKept: true });
  assert.match(kept.setCookie, /; Expires=Mon, 21 Dec 2026/);
  const short = await signIn(cp);
  assert.doesNotMatch(short.setCookie, /Expires|Max-Age/);

  clock.advance(rotateAfterMs);
  const renewed = await fetch(`${cp.url}/console/session`, {
    headers: { ...own, cookie: kept.cookie },
  });
  assert.partialDeepStrictEqual(await renewed.json(), { isSignedIn: true });
  const next = (renewed.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  assert.notEqual(next, kept.cookie);
  assert.equal(await use(cp, kept.cookie), 200, 'requests on their way are answered');
  clock.advance(previousTokenMs + rememberKeysMs);
  assert.equal(await use(cp, kept.cookie), 401);
  assert.equal(await use(cp, next), 200);

  clock.advance(sessionMs.short);
  assert.equal(await use(cp, short.cookie), 401);
  assert.equal(await use(cp, next), 200);
  clock.advance(sessionMs.kept);
  assert.equal(await use(cp, next), 401);
});

test('in a browser, another site can neither use the session nor read anything', async () => {
  await using cp = await startTestControlPlane();
  await using attacker = await httpServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<title>attacker</title>');
  });
  await using browser = await launchBrowser();
  const page = await browser.newPage();
  await page.goto(`${cp.url}/console/`);
  await fillKey(page, cp.apiKey);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Monitors', level: 1 }).waitFor();
  const kept = await page.evaluate(`JSON.stringify([
    { ...localStorage }, { ...sessionStorage }, document.cookie,
  ])`);
  assert.equal(kept, '[{},{},""]');

  // The same host on another port is the same site for cookies: only the origin tells them apart.
  await page.goto(attacker.url);
  const asked = await page.evaluate(`Promise.all([
    fetch('${cp.url}/v1/checks', { credentials: 'include' }).then((a) => a.text(), () => 'refused'),
    fetch('${cp.url}/v1/checks', { credentials: 'include', headers: { 'x-console': '1' } })
      .then((a) => a.text(), () => 'refused'),
    fetch('${cp.url}/console/session', { method: 'DELETE', credentials: 'include',
      headers: { 'x-console': '1' } }).then((a) => a.text(), () => 'refused'),
  ])`);
  assert.deepEqual(asked, ['refused', 'refused', 'refused']);
  await page.goto(`${cp.url}/console/`);
  await page.getByRole('heading', { name: 'Monitors', level: 1 }).waitFor();
});
