// Few share a process: it opens a browser.
/** Signing in with a real OpenID provider, in a real browser. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { openBrowser } from '../../support/shared-browser.ts';
import {
  clientId,
  clientSecret,
  openIdProvider,
  signInAtProvider,
  type OpenIdProvider,
} from '../../support/openid-provider.ts';
import { insertMember, refusalAfter, startPersonSession } from '../../support/people.ts';

const browser = await openBrowser();

async function start(provider: OpenIdProvider, settings: Record<string, string> = {}) {
  const cp = await startTestControlPlane({
    settings: {
      ...{ OIDC_ISSUER: provider.issuer, OIDC_CLIENT_ID: clientId, OIDC_NAME: 'Shop login' },
      ...{ OIDC_CLIENT_SECRET: clientSecret, OIDC_ROLES: 'ops=ADMIN,staff=READ_RUN' },
      ...settings,
    },
  });
  provider.register(`${cp.url}/console/session/oidc/callback`);
  return cp;
}

async function begin(cp: TestControlPlane): Promise<{ page: Page; context: BrowserContext }> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${cp.url}/console/`);
  await page.getByRole('link', { name: 'Sign in with Shop login' }).click();
  return { page, context };
}

async function signIn(cp: TestControlPlane, user: string) {
  const begun = await begin(cp);
  let pages = 0;
  begun.page.on('request', (request) => {
    if (request.isNavigationRequest() && request.url() === `${cp.url}/console/`) pages += 1;
  });
  await signInAtProvider(begun.page, user);
  return { ...begun, pages: () => pages };
}

const checks = (page: Page) => page.getByRole('heading', { name: 'Monitors', level: 1 });

async function roleOf(page: Page): Promise<string> {
  const answer = await page.context().request.get(new URL('/v1/users/me', page.url()).href, {
    headers: { 'x-console': '1' },
  });
  return ((await answer.json()) as { role: string }).role;
}

test('groups decide about roles at every sign-in, and who is in none has no account', async () => {
  await using provider = await openIdProvider();
  await using cp = await start(provider);
  const anna = { name: 'Anna', email: 'Anna@shop.example', email_verified: true };
  provider.users.set('anna', { ...anna, groups: ['staff', 'ops', 'others'] });
  provider.users.set('eve', { name: 'Eve', email: 'eve@x.example', email_verified: true });
  const first = await signIn(cp, 'anna');
  await checks(first.page).waitFor();
  assert.equal(await roleOf(first.page), 'ADMIN');
  assert.equal(await first.page.evaluate('document.cookie'), '');
  assert.equal(first.pages(), 1, 'the console is loaded once');
  // It is a known device from now on.
  const cookies = (await first.context.cookies()).map(({ name }) => name);
  assert.ok(cookies.some((name) => name.startsWith('console_device')));

  const { services } = cp.controlPlane;
  await insertMember(services, { accountId: cp.accountId, name: 'Owner', role: 'OWNER' });
  provider.users.set('anna', { ...anna, groups: ['staff'] });
  const second = await signIn(cp, 'anna');
  await checks(second.page).waitFor();
  assert.equal(await roleOf(second.page), 'READ_RUN');
  assert.equal((await services.db.selectFrom('people').selectAll().execute()).length, 2);

  const eve = await signIn(cp, 'eve');
  await eve.page.getByText('you have no account here').waitFor();
  provider.users.set('anna', { ...anna, groups: [] });
  const third = await signIn(cp, 'anna');
  await third.page.getByText('you have no account here').waitFor();
  // What she had left open is over, too.
  await second.page.reload();
  await second.page.getByRole('heading', { name: 'Sign in to the console' }).waitFor();
  const log = await cp.api('GET', '/v1/audit-log?operation=signInWithOpenId');
  assert.deepEqual(
    log.body.entries.map(({ outcome }: { outcome: string }) => outcome),
    ['REFUSED', 'REFUSED', 'DONE', 'DONE'],
  );
  for (const { context } of [first, second, third, eve]) await context.close();
});

test('a token that another key has signed signs nobody in, whatever it says', async () => {
  await using provider = await openIdProvider();
  await using cp = await start(provider);
  provider.forge();
  provider.users.set('anna', {
    ...{ name: 'Anna', email: 'anna@shop.example', email_verified: true, groups: ['ops'] },
  });
  const { page, context } = await signIn(cp, 'anna');
  await page.getByText('the provider could not be asked, or refused').waitFor();
  const { services } = cp.controlPlane;
  assert.equal((await services.db.selectFrom('people').selectAll().execute()).length, 0);
  await context.close();
});

test('an address makes somebody the person who has it only when the provider has verified it', async () => {
  await using provider = await openIdProvider();
  await using cp = await start(provider, { OIDC_ROLES: '' });
  const { services } = cp.controlPlane;
  await insertMember(services, {
    ...{ accountId: cp.accountId, name: 'Anna', role: 'OWNER' as const },
    email: 'anna@shop.example',
  });
  provider.users.set('mallory', { name: 'Anna', email: 'anna@shop.example' });
  const mallory = await signIn(cp, 'mallory');
  await mallory.page.getByText('has not verified your e-mail address').waitFor();
  provider.users.set('anna', { name: 'A', email: 'ANNA@shop.example', email_verified: true });
  const anna = await signIn(cp, 'anna');
  await checks(anna.page).waitFor();
  assert.equal(await roleOf(anna.page), 'OWNER');
  for (const { context } of [mallory, anna]) await context.close();
});

test('fixation: a sign-in with the provider ends the session that the browser came with', async () => {
  await using provider = await openIdProvider();
  await using cp = await start(provider);
  const { services } = cp.controlPlane;
  provider.users.set('anna', {
    ...{ name: 'Anna', email: 'anna@shop.example', email_verified: true, groups: ['ops'] },
  });
  const eve = await insertMember(services, {
    ...{ accountId: cp.accountId, name: 'Eve', role: 'READ_ONLY' as const },
  });
  const { cookie } = await startPersonSession(services, cp.accountId, eve.id);
  const [name = '', value = ''] = cookie.split('=');
  const { page, context } = await begin(cp);
  await context.addCookies([{ name, value, url: cp.url, httpOnly: true, sameSite: 'Strict' }]);
  await page.goto(`${cp.url}/console/session/oidc`);
  await signInAtProvider(page, 'anna');
  await checks(page).waitFor();
  assert.equal(await roleOf(page), 'ADMIN');
  const left = await services.db.selectFrom('console_sessions').select('person_id').execute();
  assert.equal(left.length, 1);
  assert.notEqual(left[0]?.person_id, eve.id);
  const planted = await fetch(`${cp.url}/v1/users/me`, { headers: { cookie, 'x-console': '1' } });
  assert.equal(planted.status, 401);
  await context.close();
});

test('an address is verified only by the answer that it came in', async () => {
  await using provider = await openIdProvider();
  // The ID token has another address, which is verified.
  provider.inIdToken.set('mallory', { email: 'mallory@x.example', email_verified: true });
  await using cp = await start(provider);
  provider.users.set('mallory', { name: 'M', email: 'anna@shop.example', groups: ['ops'] });
  const { page, context } = await signIn(cp, 'mallory');
  await page.getByText('has not verified your e-mail address').waitFor();
  await context.close();
});

test('the answer of the provider counts once, and in the browser that asked for it', async () => {
  await using provider = await openIdProvider();
  await using cp = await start(provider);
  provider.users.set('anna', {
    ...{ name: 'Anna', email: 'anna@shop.example', email_verified: true, groups: ['ops'] },
  });
  const { page, context } = await begin(cp);
  const answered = page.waitForRequest(/oidc\/callback\?/);
  await signInAtProvider(page, 'anna');
  const callback = (await answered).url();
  await checks(page).waitFor();
  const replay = await (await browser.newContext()).newPage();
  await replay.goto(callback);
  await replay.getByText('was begun in another browser').waitFor();
  // With a flow of its own, the state of another one is refused.
  const victim = await begin(cp);
  await victim.page.goto(callback);
  await victim.page.getByText('the provider could not be asked, or refused').waitFor();
  const status = await victim.page.evaluate(
    `fetch('/v1/users/me', { headers: { 'x-console': '1' } }).then((a) => a.status)`,
  );
  assert.equal(status, 401);
  for (const each of [context, replay.context(), victim.context]) await each.close();
});

test('strangers behind the same address use up no answer of the provider, and one flow has few', async () => {
  await using provider = await openIdProvider();
  await using cp = await start(provider);
  const begin = await fetch(`${cp.url}/console/session/oidc`, { redirect: 'manual' });
  const cookie = (begin.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const state = new URL(begin.headers.get('location') ?? '').searchParams.get('state') ?? '';
  const answer = async (headers: Record<string, string>) => {
    const path = `/console/session/oidc/callback?code=x&state=${state}`;
    return refusalAfter(cp.url, await fetch(cp.url + path, { redirect: 'manual', headers }));
  };
  for (let number = 0; number < 35; number += 1) {
    assert.match(await answer({}), /begun in another browser/);
  }
  for (let number = 0; number < 3; number += 1) {
    assert.match(await answer({ cookie }), /could not be asked, or refused/);
  }
  assert.match(await answer({ cookie }), /too many attempts/);
});

test('without a provider there is no button, and a provider that is away is a sentence', async () => {
  await using plain = await startTestControlPlane();
  assert.equal((await fetch(`${plain.url}/console/session/oidc`)).status, 404);
  await using cp = await startTestControlPlane({
    settings: { OIDC_ISSUER: 'http://127.0.0.1:1', OIDC_CLIENT_ID: clientId },
  });
  const page = await browser.newPage();
  await page.goto(`${cp.url}/console/session/oidc`);
  await page.getByText('the provider could not be asked, or refused').waitFor();
  await page.close();
});
