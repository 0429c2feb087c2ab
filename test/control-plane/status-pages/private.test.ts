// PostgreSQL in the long tier: limits.test.ts and pages.test.ts beside it run its statements on both.
/** Pages that ask for a password. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { day, hour, PageVisitor } from '../../support/page-visitor.ts';

const paths = [
  '/',
  '/history',
  '/feed.rss',
  '/feed.atom',
  '/feed.json',
  '/slack.rss',
  '/maintenance.ics',
  '/badge.svg',
  '/badge.json',
  '/api/v2/summary.json',
  '/api/v2/status.json',
  '/incidents/00000000-0000-4000-8000-000000000000',
  '/nothing',
];

async function openPrivate(settings: Record<string, string> = {}) {
  const visitor = await PageVisitor.open({
    STATUS_PAGE_DOMAINS: 'secret.shop.example',
    ...settings,
  });
  const [search] = await visitor.services('Secret search');
  assert.ok(search);
  const { id } = await visitor.page([search], {
    name: 'Secret shop',
    description: 'Secret words',
    logo: 'https://secret.example/logo.png',
    favicon: 'https://secret.example/icon.png',
    customDomain: 'secret.shop.example',
  });
  await visitor.incident([search], 'MAJOR', [{ at: -hour, description: 'Secret trouble' }]);
  const path = `/v1/status-pages/${id}/password`;
  const { password } = await visitor.done('POST', path);
  const signIn = (given: string) =>
    visitor.see('/session', { method: 'POST', form: { password: given } });
  return { visitor, id, path, password: password as string, signIn };
}

const cookieOf = (headers: Headers): string => headers.get('set-cookie')?.split(';')[0] ?? '';

test('nothing of a private page is shown before its password is given', async () => {
  const { visitor, password, signIn } = await openPrivate();
  await using _ = visitor;
  assert.match(password, /^([a-zA-Z2-9]{5}-){4}[a-zA-Z2-9]{5}$/);
  for (const path of paths) {
    const { status, text, headers } = await visitor.see(path);
    assert.equal(status, 401, path);
    assert.equal(/secret/i.test(text + JSON.stringify([...headers])), false, path);
    assert.equal(headers.get('cache-control'), 'no-store', path);
    assert.equal(headers.get('etag'), null, path);
  }
  const refused = await visitor.see('/subscriptions', {
    method: 'POST',
    form: { email: 'ann@example.com' },
  });
  assert.equal(refused.status, 401);
  const wrong = await signIn(`${password}x`);
  assert.deepEqual([wrong.status, wrong.headers.get('set-cookie')], [401, null]);
  assert.match(wrong.text, /This is not the password/);

  const right = await signIn(` ${password} `);
  assert.deepEqual([right.status, right.headers.get('location')], [303, '/status/shop/']);
  assert.match(
    right.headers.get('set-cookie') ?? '',
    /; Path=\/status\/shop; Max-Age=2592000; HttpOnly; SameSite=Lax$/,
  );
  const headers = { cookie: `other=1; ${cookieOf(right.headers)}` };
  const page = await visitor.see('/', { headers });
  assert.equal(page.status, 200);
  assert.match(page.text, /Secret trouble/);
  assert.equal(/feed\.|badge\.|slack|og:/.test(page.text), false);
  assert.equal(page.headers.get('cache-control'), 'private, no-cache');
  assert.equal(page.headers.get('vary'), 'Accept-Encoding, Cookie');
  const summary = await visitor.see('/api/v2/summary.json', { headers });
  assert.deepEqual(
    [summary.status, summary.headers.get('access-control-allow-origin')],
    [200, null],
  );

  const out = await visitor.see('/session/end', { method: 'POST', headers });
  assert.match(out.headers.get('set-cookie') ?? '', /^status_page_session=;.*Max-Age=0/);
});

test('a session is for one page and one password, and ends after thirty days', async () => {
  const { visitor, id, path, password, signIn } = await openPrivate();
  await using _ = visitor;
  const cookie = cookieOf((await signIn(password)).headers);
  const status = async (given: string, at = '/') =>
    (await visitor.see(at, { headers: { cookie: given } })).status;
  assert.equal(await status(cookie), 200);
  const [until = '', signature = ''] = cookie.replace('status_page_session=', '').split('.');
  for (const forged of [
    `${Number(until) + 1}.${signature}`,
    `${until}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
    `${until}.`,
    until,
    'x',
  ]) {
    assert.equal(await status(`status_page_session=${forged}`), 401, forged);
  }
  const { id: other } = await visitor.page([], { url: 'other' });
  await visitor.done('POST', `/v1/status-pages/${other}/password`);
  const elsewhere = await fetch(`${visitor.cp.url}/status/other`, { headers: { cookie } });
  assert.equal(elsewhere.status, 401);
  await elsewhere.text();

  visitor.clock.setWall(visitor.clock.now() + 30 * day - 1);
  assert.equal(await status(cookie), 200);
  visitor.clock.setWall(visitor.clock.now() + 1);
  assert.equal(await status(cookie), 401);

  const fresh = cookieOf((await signIn(password)).headers);
  assert.equal(await status(fresh), 200);
  const { password: newer } = await visitor.done('POST', path);
  assert.notEqual(newer, password);
  assert.equal(await status(fresh), 401);
  assert.equal((await signIn(password)).status, 401);
  assert.equal((await signIn(newer)).status, 303);

  await visitor.done('DELETE', path);
  assert.equal((await visitor.see('/')).status, 200);
  assert.equal((await visitor.done('GET', `/v1/status-pages/${id}`)).isPrivate, false);
  const { db } = visitor.cp.controlPlane.services;
  const row = await db
    .selectFrom('status_pages')
    .select('password_hash')
    .where('id', '=', id)
    .executeTakeFirst();
  assert.equal(row?.password_hash, null);
});

test('passwords cannot be tried out for long, and are not kept as they are', async () => {
  const { visitor, id, password, signIn } = await openPrivate();
  await using _ = visitor;
  const { db } = visitor.cp.controlPlane.services;
  const row = await db.selectFrom('status_pages').selectAll().where('id', '=', id).execute();
  assert.equal(JSON.stringify(row).includes(password), false);
  assert.match(row[0]?.password_hash ?? '', /^scrypt\./);
  for (let attempt = 0; attempt < 10; attempt += 1) assert.equal((await signIn('x')).status, 401);
  const limited = await signIn(password);
  assert.deepEqual([limited.status, limited.headers.get('retry-after')], [429, '900']);
  visitor.clock.advance(15 * 60_000);
  assert.equal((await signIn(password)).status, 303);
});

test('visitors behind a trusted proxy are counted separately, behind any other as one', async () => {
  for (const [trusted, expected] of [
    ['127.0.0.0/8', 401],
    ['192.0.2.1', 429],
  ] as const) {
    const { visitor } = await openPrivate({ TRUSTED_PROXIES: trusted });
    await using _ = visitor;
    const guess = async (from: string): Promise<number> =>
      (
        await visitor.see('/session', {
          method: 'POST',
          form: { password: 'x' },
          headers: { 'x-forwarded-for': from },
        })
      ).status;
    for (let attempt = 0; attempt < 10; attempt += 1) await guess('198.51.100.1');
    assert.equal(await guess('198.51.100.1'), 429);
    assert.equal(await guess('198.51.100.2'), expected, trusted);
  }
});

test('a session goes over encrypted connections only, where there are some', async () => {
  // What a proxy says counts only where the proxy is trusted.
  for (const [trusted, isOpen] of [
    ['', false],
    ['127.0.0.1', true],
  ] as const) {
    const { visitor, password } = await openPrivate({
      PUBLIC_URL: 'https://monitor.example',
      TRUSTED_PROXIES: trusted,
    });
    await using _ = visitor;
    const body = { method: 'POST', form: { password } };
    const cookie = async (headers: Record<string, string>) =>
      (await visitor.see('/session', { ...body, headers })).headers.get('set-cookie') ?? '';
    assert.match(await cookie({}), /; Secure$/);
    assert.match(await cookie({ 'x-forwarded-proto': 'https' }), /; Secure$/);
    assert.equal(/; Secure$/.test(await cookie({ 'x-forwarded-proto': 'http' })), !isOpen);
  }
  const { visitor } = await openPrivate();
  await using _ = visitor;
  const own = await visitor.asHost('secret.shop.example', '/');
  assert.equal(own.status, 401);
  assert.match(own.text, /action="\/session"/);
});

test('only the account of a page gives it a password', async () => {
  const { visitor, path } = await openPrivate();
  await using _ = visitor;
  const foreign = { authorization: `Bearer ${await visitor.cp.foreignKey()}` };
  for (const method of ['POST', 'DELETE']) {
    assert.equal((await visitor.cp.api(method, path, undefined, foreign)).status, 404);
    const unknown = path.replace(/[0-9a-f-]{36}/, '00000000-0000-4000-8000-000000000000');
    assert.equal((await visitor.cp.api(method, unknown)).status, 404);
  }
});
