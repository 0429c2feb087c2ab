import assert from 'node:assert/strict';
import test from 'node:test';
import { themeColorNames } from '@monitor/shared/contract/status-page.ts';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import { TestClock } from '../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00.000Z');
const unknown = '11111111-1111-4111-8111-111111111111';

async function createService(cp: TestControlPlane, name: string): Promise<{ id: string }> {
  const { status, body } = await cp.api('POST', '/v1/status-pages/services', { name });
  assert.equal(status, 201);
  // Cards name their services without what they follow.
  const { follows, stateOverride, ...service } = body;
  assert.deepEqual([follows, stateOverride], [null, null]);
  return service;
}

async function createPage(cp: TestControlPlane, url: string, more: object = {}) {
  const page = { name: 'Shop', url, cards: [], ...more };
  return cp.api('POST', '/v1/status-pages', page);
}

const names = (entries: { name: string }[]) => entries.map(({ name }) => name);

test('services come as one page when they are asked for so', async () => {
  await using cp = await startTestControlPlane({ clock: new TestClock(start) });
  for (const name of [' Checkout ', 'Search', 'Login']) await createService(cp, name);
  const whole = await cp.api('GET', '/v1/status-pages/services?limit=2&paginated=false');
  assert.deepEqual(names(whole.body.entries), ['Checkout', 'Search', 'Login']);
  assert.deepEqual([whole.body.length, whole.body.nextId], [3, null]);
  assert.equal((await cp.api('GET', '/v1/status-pages/services?paginated=no')).status, 400);
});

test('a status page keeps what a change leaves out and the cards it repeats', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const search = await createService(cp, 'Search');
  const login = await createService(cp, 'Login');
  const theme = Object.fromEntries(themeColorNames.map((name) => [name, '#0a66c2']));
  const made = await createPage(cp, 'My-Shop', {
    cards: [
      { name: 'Web', id: 'ignored', services: [{ id: login.id }, search, { id: login.id }] },
      { name: 'Nothing yet' },
    ],
    description: 'All of it',
    customDomain: 'Status.Example.COM',
    themeColors: { light: theme, dark: theme },
    logo: 'https://example.com/logo.png',
    logoDark: 'https://example.com/dark.png',
    defaultTheme: 'DARK',
    language: 'de',
    languages: ['ar'],
    timezone: 'Asia/Tokyo',
  });
  assert.equal(made.status, 201);
  const { cards, customDomainChallenge, ...page } = made.body;
  assert.deepEqual(Object.keys(customDomainChallenge), ['name', 'txt', 'cname']);
  const upper = Object.fromEntries(themeColorNames.map((name) => [name, '#0A66C2']));
  assert.deepEqual(page, {
    id: page.id,
    name: 'Shop',
    // As they were sent, or a client would want to change them again and again.
    url: 'My-Shop',
    description: 'All of it',
    customDomain: 'Status.Example.COM',
    customDomainStatus: 'PENDING',
    themeColors: { light: upper, dark: upper },
    logo: 'https://example.com/logo.png',
    logoDark: 'https://example.com/dark.png',
    redirectTo: null,
    favicon: null,
    defaultTheme: 'DARK',
    language: 'de',
    languages: ['ar'],
    timezone: 'Asia/Tokyo',
    whiteLabel: true,
    isPrivate: false,
    version: 2,
    projectBindings: { owner: null, references: [] },
    accountId: cp.accountId,
    created_at: '2026-11-21T08:00:00.000Z',
    updated_at: null,
  });
  const [web, empty] = cards;
  assert.notEqual(web.id, 'ignored');
  assert.deepEqual(web.services, [login, search]);
  assert.deepEqual([empty.name, empty.services, empty.updated_at], ['Nothing yet', [], null]);
  const path = `/v1/status-pages/${page.id}`;
  assert.deepEqual((await cp.api('GET', path)).body, made.body);

  clock.advance(1_000);
  const changed = await cp.api('PUT', path, {
    name: 'Shop & more',
    url: 'my-shop',
    cards: [{ name: 'New' }, { name: 'Web site', id: web.id, services: [{ id: search.id }] }],
    logo: null,
  });
  assert.equal(changed.status, 200);
  const later = '2026-11-21T08:00:01.000Z';
  const [fresh, kept] = changed.body.cards;
  assert.deepEqual(changed.body, {
    ...page,
    customDomainChallenge,
    name: 'Shop & more',
    url: 'my-shop',
    logo: null,
    updated_at: later,
    cards: [
      { id: fresh.id, name: 'New', created_at: later, services: [], updated_at: null },
      { ...web, name: 'Web site', services: [search], updated_at: later },
    ],
  });
  assert.equal([web.id, empty.id].includes(fresh.id), false);
  assert.deepEqual((await cp.api('GET', path)).body, changed.body);

  assert.equal((await cp.api('DELETE', `/v1/status-pages/services/${search.id}`)).status, 204);
  assert.deepEqual((await cp.api('GET', path)).body.cards[1].services, []);
  const bare = { name: 'Shop', url: 'shop', cards: [], customDomain: null, defaultTheme: 'AUTO' };
  const last = await cp.api('PUT', path, bare);
  assert.deepEqual([last.body.customDomain, last.body.cards], [null, []]);
  assert.equal(kept.id, web.id);
});

test('a card id of another page is not taken over', async () => {
  await using cp = await startTestControlPlane({ clock: new TestClock(start) });
  const first = (await createPage(cp, 'one', { cards: [{ name: 'A' }] })).body;
  const body = { name: 'Two', url: 'two', cards: [{ name: 'A', id: first.cards[0].id }] };
  const second = (await cp.api('POST', '/v1/status-pages', body)).body;
  assert.notEqual(second.cards[0].id, first.cards[0].id);
  const changed = await cp.api('PUT', `/v1/status-pages/${second.id}`, body);
  assert.equal(changed.status, 200);
  assert.notEqual(changed.body.cards[0].id, first.cards[0].id);
  assert.deepEqual((await cp.api('GET', `/v1/status-pages/${first.id}`)).body, first);
  const card = { name: 'A', id: first.cards[0].id };
  const twice = { name: 'One', url: 'one', cards: [card, card] };
  const refused = await cp.api('PUT', `/v1/status-pages/${first.id}`, twice);
  assert.equal(refused.status, 400);
  assert.deepEqual(refused.body.attributes.keys, ['cards']);
  assert.deepEqual((await cp.api('GET', `/v1/status-pages/${first.id}`)).body, first);
});

test('an address belongs to one page of the installation, whatever its case', async () => {
  await using cp = await startTestControlPlane({ clock: new TestClock(start) });
  const foreign = { authorization: `Bearer ${await cp.foreignKey()}` };
  const one = (await createPage(cp, 'One', { customDomain: 'one.example.com' })).body;
  const two = (await createPage(cp, 'two')).body;
  const taken: [object, string][] = [
    [{ url: 'ONE' }, 'url'],
    [{ url: 'three', customDomain: 'One.Example.com' }, 'customDomain'],
  ];
  for (const [address, field] of taken) {
    const body = { name: 'x', cards: [{ name: 'A' }], ...address };
    for (const answer of [
      await cp.api('POST', '/v1/status-pages', body),
      // What another account asks for keeps nobody from a domain.
      ...(field === 'url' ? [await cp.api('POST', '/v1/status-pages', body, foreign)] : []),
      await cp.api('PUT', `/v1/status-pages/${two.id}`, body),
    ]) {
      assert.equal(answer.status, 409);
      assert.equal(answer.body.attributes.code, 'CONFLICT');
      assert.deepEqual(answer.body.attributes.keys, [field]);
    }
  }
  assert.deepEqual((await cp.api('GET', `/v1/status-pages/${two.id}`)).body, two);
  const same = { name: 'x', url: 'one', cards: [], customDomain: 'one.example.com' };
  assert.equal((await cp.api('PUT', `/v1/status-pages/${one.id}`, same)).status, 200);
  assert.equal((await cp.api('DELETE', `/v1/status-pages/${one.id}`)).status, 204);
  assert.equal((await cp.api('POST', '/v1/status-pages', same, foreign)).status, 201);
});

test('bodies that make no sense are refused and leave nothing behind', async () => {
  await using cp = await startTestControlPlane({ clock: new TestClock(start) });
  const cards = [{ name: 'A', services: [{ id: unknown }] }];
  const answer = await createPage(cp, 'shop', { cards });
  assert.equal(answer.status, 400);
  assert.deepEqual(answer.body.attributes.issues, [
    { path: 'cards', message: `has no service ${unknown}` },
  ]);
  assert.equal((await cp.api('GET', '/v1/status-pages')).body.length, 0);
  const { body: page } = await createPage(cp, 'shop', { cards: [{ name: 'A' }] });
  const path = `/v1/status-pages/${page.id}`;
  const wrong = { name: 'B', url: 'b', cards: [{ name: 'B', services: [{ id: unknown }] }] };
  assert.equal((await cp.api('PUT', path, wrong)).status, 400);
  assert.deepEqual((await cp.api('GET', path)).body, page);
  for (const body of [
    { url: 'x', cards: [] },
    { name: 'x', cards: [] },
    { name: 'x', url: 'x' },
    { name: 'x', url: 'not a slug', cards: [] },
    { name: 'x', url: 'x', cards: [], description: 'x'.repeat(501) },
    ...[
      'https://example.com',
      '<b>.example',
      'you@evil.example',
      'a.example?b',
      'a%.example',
      '127.0.0.1',
      '10.0x7f',
      '169.254.169.254',
    ].map((customDomain) => ({ name: 'x', url: 'x', cards: [], customDomain })),
    { name: 'x', url: 'x', cards: [], themeColors: { light: {}, dark: {} } },
  ]) {
    assert.equal((await cp.api('POST', '/v1/status-pages', body)).status, 400);
    assert.equal((await cp.api('PUT', path, body)).status, 400);
  }
});

test('addresses subscribe once; those that are subscribed are skipped', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { body: page } = await createPage(cp, 'shop');
  const path = `/v1/status-pages/${page.id}/subscriptions`;
  const subscribe = (addresses: string[], more: object = {}) =>
    cp.api('POST', `${path}/bulk`, {
      subscriptions: addresses.map((config) => ({ type: 'EMAIL', config })),
      ...more,
    });
  const first = await subscribe(['Ann@example.com', 'bob@example.com', 'ann@EXAMPLE.com']);
  assert.equal(first.status, 201);
  assert.deepEqual(first.body, { created: 2, skipped: 1, status: 'PENDING' });
  clock.advance(1_000);
  const second = await subscribe(['BOB@example.com', 'cy@example.com'], { autoVerify: true });
  assert.deepEqual(second.body, { created: 1, skipped: 1, status: 'VERIFIED' });
  assert.deepEqual((await subscribe(['cy@example.com'])).body.created, 0);

  const { body: all } = await cp.api('GET', path);
  assert.deepEqual(
    all.map((each: { address: string; status: string }) => [each.address, each.status]),
    [
      ['ann@example.com', 'PENDING'],
      ['bob@example.com', 'PENDING'],
      ['cy@example.com', 'VERIFIED'],
    ],
  );
  assert.deepEqual(all[2], {
    id: all[2].id,
    type: 'EMAIL',
    address: 'cy@example.com',
    status: 'VERIFIED',
    services: null,
    created_at: '2026-11-21T08:00:01.000Z',
    updated_at: '2026-11-21T08:00:01.000Z',
  });

  assert.equal((await subscribe([])).status, 400);
  assert.equal((await subscribe(['no address'])).status, 400);
  const one = { subscriptions: [{ config: 'dan@example.com' }] };
  const missing = `/v1/status-pages/${unknown}/subscriptions`;
  assert.equal((await cp.api('GET', missing)).status, 404);
  assert.equal((await cp.api('POST', `${missing}/bulk`, one)).status, 404);
  assert.equal((await cp.api('DELETE', `${missing}/${all[0].id}`)).status, 404);
  assert.equal((await cp.api('DELETE', `${path}/${unknown}`)).status, 404);

  assert.equal((await cp.api('DELETE', `${path}/${all[0].id}`)).status, 204);
  assert.equal((await cp.api('DELETE', `${path}/${all[0].id}`)).status, 404);
  assert.equal((await cp.api('GET', path)).body.length, 2);
  assert.equal((await cp.api('DELETE', `/v1/status-pages/${page.id}`)).status, 204);
  const { db } = cp.controlPlane.services;
  assert.deepEqual(await db.selectFrom('status_page_subscriptions').selectAll().execute(), []);
});

test('a domain of another script is a domain', async () => {
  await using cp = await startTestControlPlane({ clock: new TestClock(start) });
  for (const [index, customDomain] of [
    'status.müller.example',
    'xn--mller-kva.example',
  ].entries()) {
    assert.equal((await createPage(cp, `page-${index}`, { customDomain })).status, 201);
  }
});

test('nothing in the name of a page adds a line to its calendar', async () => {
  await using cp = await startTestControlPlane({ clock: new TestClock(start) });
  const name = 'Shop\r\nBEGIN:VEVENT\nSUMMARY:Not ours';
  assert.equal((await createPage(cp, 'shop', { name })).status, 201);
  const text = await (await fetch(`${cp.url}/status/shop/maintenance.ics`)).text();
  assert.match(text, /^NAME:Maintenance of Shop BEGIN:VEVENT SUMMARY:Not ours\r$/m);
  assert.doesNotMatch(text, /^(BEGIN:VEVENT|SUMMARY)/m);
});

test('however long what people wrote is, a page and its feeds stay small; an incident has all of it', async () => {
  await using cp = await startTestControlPlane({ clock: new TestClock(start) });
  const service = await createService(cp, 'Search');
  const cards = [{ name: 'Web', services: [{ id: service.id }] }];
  assert.equal((await createPage(cp, 'shop', { cards })).status, 201);
  const description = 'a https://shop.example/. '.repeat(2_600);
  const incidentUpdates = Array.from({ length: 5 }, () => ({ description }));
  const incident = { name: 'Long', severity: 'MAJOR', services: [service], incidentUpdates };
  const { status, body } = await cp.api('POST', '/v1/status-pages/incidents', incident);
  assert.equal(status, 201, JSON.stringify(body));
  const sizeOf = async (path: string) =>
    (await (await fetch(`${cp.url}/status/shop${path}`)).text()).length;
  for (const path of ['/', '/feed.rss', '/feed.json']) assert.ok((await sizeOf(path)) < 150_000);
  assert.ok((await sizeOf(`/incidents/${body.id}`)) > 5 * description.length);
});
