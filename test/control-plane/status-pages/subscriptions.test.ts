/** Subscribing, confirming and unsubscribing with forms alone. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import test from 'node:test';
import { SubscriberKeys } from '../../../control-plane/status-pages/subscribers/subscriber-keys.ts';
import { PageVisitor } from '../../support/page-visitor.ts';

async function openWithSubscribers() {
  const visitor = await PageVisitor.open();
  const { db } = visitor.cp.controlPlane.services;
  await visitor.page([]);
  const mails = async () => {
    const rows = await db.selectFrom('outbox').selectAll().orderBy('created_at').execute();
    return rows.map((row) => JSON.stringify(row).replace(/\\+n/g, '\n'));
  };
  const links = async (what: string) =>
    (await mails()).flatMap(
      (mail) => new RegExp(`/subscriptions/${what}\\?token=[\\w.-]+`).exec(mail)?.[0] ?? [],
    );
  const statuses = async () =>
    (await db.selectFrom('status_page_subscriptions').select('status').execute()).map(
      ({ status }) => status,
    );
  const subscribe = (email: string) =>
    visitor.see('/subscriptions', { method: 'POST', form: { email } });
  return { visitor, mails, links, statuses, subscribe };
}

test('a subscription is created, confirmed by the owner of the address, and ended', async () => {
  const { visitor, links, statuses, subscribe } = await openWithSubscribers();
  await using _ = visitor;
  const page = await visitor.see('/');
  assert.match(
    page.text,
    /<form class="fields" method="post" action="\/status\/shop\/subscriptions"/,
  );
  const sent = await subscribe('Ann@example.com');
  assert.equal(sent.status, 200);
  assert.match(sent.text, /Check your mail/);
  assert.deepEqual(await statuses(), ['PENDING']);
  assert.equal((await subscribe('ann@example.com')).text, sent.text);

  const [link = ''] = await links('verify');
  const asked = await visitor.see(link);
  assert.equal(asked.status, 200);
  // A page about no state has the sign of none in its tab; that of the status page has one.
  const signs = [page, sent, asked].map(({ text }) => {
    const icon = /<link rel="icon" href="data:image\/svg\+xml,([^"]+)"/.exec(text)?.[1] ?? '';
    return decodeURIComponent(icon).includes('<path');
  });
  assert.deepEqual(signs, [true, false, false]);
  const action = /action="([^"]+)"/.exec(asked.text)?.[1] ?? '';
  assert.equal(action, `/status/shop${link}`);
  assert.deepEqual(await statuses(), ['PENDING'], 'looking at a link confirms nothing');
  const confirmed = await visitor.see(link, { method: 'POST' });
  assert.match(confirmed.text, /You are subscribed/);
  assert.deepEqual(await statuses(), ['VERIFIED']);
  assert.equal((await subscribe('ann@example.com')).text, sent.text);

  const unknown = await visitor.see('/subscriptions/verify?token=unknown', { method: 'POST' });
  assert.deepEqual([unknown.status, /no longer works/.test(unknown.text)], [404, true]);
});

test('mail programs unsubscribe with one click, people with two', async () => {
  const { visitor, statuses, links } = await openWithSubscribers();
  await using _ = visitor;
  const [search] = await visitor.services('Search');
  assert.ok(search);
  const { id } = (await visitor.done('GET', '/v1/status-pages')).entries[0];
  await visitor.done('PUT', `/v1/status-pages/${id}`, {
    name: 'Shop',
    url: 'shop',
    cards: [{ name: 'Web', services: [{ id: search.id }] }],
  });
  await visitor.done('POST', `/v1/status-pages/${id}/subscriptions/bulk`, {
    subscriptions: [{ type: 'EMAIL', config: 'ann@example.com' }],
    autoVerify: true,
  });
  await visitor.done('POST', '/v1/status-pages/incidents', {
    name: 'Trouble',
    severity: 'MAJOR',
    services: [search],
    incidentUpdates: [{ description: 'x', notifySubscribers: true }],
  });
  const { announceDueUpdates } =
    await import('../../../control-plane/status-pages/subscribers/announce-due-updates.ts');
  await announceDueUpdates(visitor.cp.controlPlane.services);
  const [link = ''] = await links('unsubscribe');
  assert.notEqual(link, '');
  assert.match((await visitor.see(link)).text, /<button class="button">Unsubscribe<\/button>/);
  assert.deepEqual(await statuses(), ['VERIFIED']);
  const oneClick = { method: 'POST', form: { 'List-Unsubscribe': 'One-Click' } };
  const ended = await visitor.see(link, oneClick);
  assert.deepEqual([ended.status, /You are unsubscribed/.test(ended.text)], [200, true]);
  assert.deepEqual(await statuses(), []);
  assert.equal((await visitor.see(link, oneClick)).status, 200);
});

test('links of mails work for as long as their page is there, whatever its address is by then', async () => {
  const { visitor, statuses, links, subscribe } = await openWithSubscribers();
  await using _ = visitor;
  const { id } = (await visitor.done('GET', '/v1/status-pages')).entries[0];
  const path = `/v1/status-pages/${id}`;
  const rename = (url: string) => visitor.done('PUT', path, { name: 'Shop', url, cards: [] });
  const title = async (at: string, method = 'POST') => {
    const answer = await fetch(`${visitor.cp.url}/status/${at}`, { method });
    return [answer.status, /<h1[^>]*>([^<]+)/.exec(await answer.text())?.[1]];
  };
  await subscribe('ann@example.com');
  const [verify = ''] = await links('verify');
  const keys = new SubscriberKeys(visitor.cp.controlPlane.services.secrets);
  const token = keys.unsubscribeToken(id, keys.subscriptionId(id, 'ann@example.com'));
  const leave = `/subscriptions/unsubscribe?token=${token}`;
  const nothing = [404, 'There is nothing here'];

  await rename('store');
  assert.deepEqual(await title(`shop${verify}`, 'GET'), [200, 'Confirm your subscription']);
  assert.deepEqual(await statuses(), ['PENDING']);
  assert.deepEqual(await title(`shop${verify}`), [200, 'You are subscribed']);
  assert.deepEqual(await statuses(), ['VERIFIED']);
  for (const other of [`shop${leave}x`, `shop${verify}x`, `shop/history?token=${token}`]) {
    assert.deepEqual(await title(other, 'GET'), nothing);
  }
  // Another page has the address by now.
  const { id: other } = await visitor.page([]);
  assert.deepEqual(await title(`shop${leave}`, 'GET'), [200, 'Unsubscribe']);
  assert.deepEqual(await statuses(), ['VERIFIED']);
  await visitor.done('DELETE', `/v1/status-pages/${other}`);
  for (let times = 0; times < 2; times += 1) {
    assert.deepEqual(await title(`shop${leave}`), [200, 'You are unsubscribed']);
    assert.deepEqual(await statuses(), []);
  }
  await visitor.done('DELETE', path);
  assert.deepEqual(await title(`shop${leave}`), nothing);
});

test('what is no address is said to be none, and kept where it can be corrected', async () => {
  const { visitor, mails, subscribe } = await openWithSubscribers();
  await using _ = visitor;
  for (const email of [
    '',
    'ann',
    'ann@example.com\r\nBcc: bob@example.com',
    `${'a'.repeat(400)}@b.de`,
  ]) {
    const { status, text } = await subscribe(email);
    assert.equal(status, 400, email);
    assert.match(text, /role="alert">This is not an e-mail address/);
  }
  const large = await visitor.see('/subscriptions', {
    method: 'POST',
    form: { email: 'x'.repeat(5_000) },
  });
  assert.equal(large.status, 400);
  assert.equal((await visitor.see('/subscriptions')).status, 405);
  assert.deepEqual(await mails(), []);
});

test('some services can be chosen, and stay chosen where the address has to be corrected', async () => {
  await using visitor = await PageVisitor.open();
  const [search, checkout, login] = await visitor.services('Search', 'Checkout', 'Login');
  assert.ok(search && checkout && login);
  await visitor.page([search]);
  const { id } = (await visitor.done('GET', '/v1/status-pages')).entries[0];
  assert.equal((await visitor.see('/')).text.includes('Only some services'), false, 'of one');
  const show = (...cards: { id: string }[][]) =>
    visitor.done('PUT', `/v1/status-pages/${id}`, {
      ...{ name: 'Shop', url: 'shop' },
      cards: cards.map((services, index) => ({ name: `Card ${index}`, services })),
    });
  // A service may stand on several cards.
  await show([search, checkout], [checkout, login], []);
  const { text } = await visitor.see('/');
  const boxes = [...text.matchAll(/name="service"\s+value="([^"]+)"/g)].map(([, value]) => value);
  assert.deepEqual(boxes, [search.id, checkout.id, checkout.id, login.id]);
  assert.equal(/checked|<details class="choice" open/.test(text), false);
  const post = (email: string, ...services: string[]) =>
    visitor.see('/subscriptions', {
      method: 'POST',
      form: [['email', email], ...services.map((each): [string, string] => ['service', each])],
    });
  const again = await post('ann', checkout.id, checkout.id);
  assert.equal(again.status, 400);
  const checked = [...again.text.matchAll(/value="([^"]+)"\s+checked/g)].map(([, value]) => value);
  assert.deepEqual(checked, [checkout.id, checkout.id]);
  assert.match(again.text, /<details class="choice" open/);

  const gone = await post('ann@example.com', 'x"><script>', crypto.randomUUID());
  assert.deepEqual(
    [gone.status, /role="alert">The services that you chose are no longer/.test(gone.text)],
    [400, true],
  );
  assert.equal(gone.text.includes('<script>'), false);
  assert.equal((await post('ann@example.com', login.id, search.id, 'x')).status, 200);
  const { db } = visitor.cp.controlPlane.services;
  const [mail] = await db.selectFrom('outbox').selectAll().execute();
  const link = /\/subscriptions\/verify\?token=[\w.-]+/.exec(mail?.content_json ?? '')?.[0] ?? '';
  const confirmed = await visitor.see(link, { method: 'POST' });
  assert.match(confirmed.text, /You are subscribed[^]+Only about: Search and Login/);
  const [subscription] = await visitor.done('GET', `/v1/status-pages/${id}/subscriptions`);
  assert.deepEqual(
    subscription.services.map(({ name }: { name: string }) => name),
    ['Login', 'Search'],
  );
});

test('a page with hundreds of services lets visitors choose nearly all of them', async () => {
  await using visitor = await PageVisitor.open();
  const names = Array.from({ length: 300 }, (_, index) => `Service ${index}`);
  const services = await visitor.services(...names);
  const cards = [0, 150].map((from) => ({
    name: `From ${from}`,
    services: services.slice(from, from + 150).map(({ id }) => ({ id })),
  }));
  const { id } = await visitor.page([], { cards });
  const chosen = services.slice(1).map(({ id: each }): [string, string] => ['service', each]);
  const form: [string, string][] = [['email', 'ann@example.com'], ...chosen];
  assert.equal((await visitor.see('/subscriptions', { method: 'POST', form })).status, 200);
  const [subscription] = await visitor.done('GET', `/v1/status-pages/${id}/subscriptions`);
  assert.equal(subscription.services.length, 299);
});

test('without a way to send mails none are offered', async () => {
  await using visitor = await PageVisitor.open({ SMTP_URL: '' });
  await visitor.page([]);
  assert.equal((await visitor.see('/')).text.includes('Subscribe'), false);
  const sent = await visitor.see('/subscriptions', {
    method: 'POST',
    form: { email: 'a@b.example' },
  });
  assert.equal(sent.status, 404);
});

test('a form that does not arrive is not waited for', async () => {
  const { visitor } = await openWithSubscribers();
  await using _ = visitor;
  const { port } = new URL(visitor.cp.url);
  const socket = connect(Number(port), '127.0.0.1');
  const answer = new Promise<string>((resolve) => {
    socket.once('data', (data) => {
      resolve(data.toString());
    });
  });
  socket.write(
    'POST /status/shop/subscriptions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n' +
      'Content-Type: application/x-www-form-urlencoded\r\n\r\nemail=',
  );
  // Until its headers have been read, there is nothing to run out.
  const tick = setInterval(() => {
    visitor.clock.advance(10_000);
  }, 20);
  assert.match(await answer, /^HTTP\/1\.1 400/);
  clearInterval(tick);
  socket.destroy();
});
