// PostgreSQL in the long tier: announce-due-updates.test.ts runs its statements on both.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Kysely } from 'kysely';
import { CommitQueue } from '../../../../control-plane/db/commit-queue.ts';
import type { Database } from '../../../../control-plane/db/tables.ts';
import type { ChosenService } from '../../../../control-plane/status-pages/subscribers/ask-to-confirm.ts';
import { forgetUnconfirmed } from '../../../../control-plane/status-pages/subscribers/forget-unconfirmed.ts';
import { subscribe } from '../../../../control-plane/status-pages/subscribers/subscribe.ts';
import { unsubscribe } from '../../../../control-plane/status-pages/subscribers/unsubscribe.ts';
import { verify } from '../../../../control-plane/status-pages/subscribers/verify.ts';
import { everyInterleaving } from '../../../support/interleaving.ts';
import { hour, minute, StatusPageBench, tokenIn } from '../../../support/status-page-bench.ts';

const ann = 'ann@example.com';
const visitor = '192.0.2.1';
const day = 24 * hour;
const type = 'EMAIL';

const ask = (bench: StatusPageBench, address = ann, from = visitor, pageId = bench.page.id) =>
  subscribe(bench.services, { pageId, type, address, services: [], visitor: from });

const askFor = (bench: StatusPageBench, services: readonly ChosenService[]) =>
  subscribe(bench.services, { pageId: bench.page.id, type, address: ann, services, visitor });

/** Follows the link of the only mail that waits. */
async function follow(bench: StatusPageBench) {
  const [mail, ...more] = await bench.takeMails();
  assert.ok(mail !== undefined);
  assert.deepEqual(more, []);
  return { mail, verified: await verify(bench.services, tokenIn(mail, 'verify')) };
}

/** The names of the services of each subscription; null for all. */
async function servicesOf(bench: StatusPageBench): Promise<(string[] | null)[]> {
  const { body } = await bench.cp.api('GET', `/v1/status-pages/${bench.page.id}/subscriptions`);
  return body.map(
    ({ services }: { services: ChosenService[] | null }) =>
      services?.map(({ name }) => name) ?? null,
  );
}

async function list(bench: StatusPageBench): Promise<[string, string][]> {
  const { body } = await bench.cp.api('GET', `/v1/status-pages/${bench.page.id}/subscriptions`);
  return body.map(({ address, status }: Record<string, string>) => [address, status]);
}

test('the life of a subscriber: asked, confirmed, notified, gone, and back again', async () => {
  await using bench = await StatusPageBench.start();
  assert.equal(await ask(bench, ' Ann@Example.COM '), 'SENT');
  assert.deepEqual(await list(bench), [[ann, 'PENDING']]);
  const [question, ...none] = await bench.takeMails();
  assert.ok(question !== undefined);
  assert.deepEqual(none, []);
  assert.deepEqual([question.to, question.subject], [ann, '[Shop] Confirm your subscription']);
  await bench.openIncident();
  assert.deepEqual(await bench.told(), [], 'not without confirmation');

  const token = tokenIn(question, 'verify');
  for (let twice = 0; twice < 2; twice += 1) {
    const verified = await verify(bench.services, token);
    assert.deepEqual([verified?.page.id, verified?.address], [bench.page.id, ann]);
  }
  assert.deepEqual(await list(bench), [[ann, 'VERIFIED']]);
  await bench.openIncident();
  await bench.announce();
  const [news] = await bench.takeMails();
  assert.equal(news?.to, ann);

  const leave = tokenIn(news, 'unsubscribe');
  assert.equal((await unsubscribe(bench.services, leave))?.page.id, bench.page.id);
  assert.equal((await unsubscribe(bench.services, leave))?.page.id, bench.page.id);
  assert.deepEqual(await list(bench), []);
  await bench.openIncident();
  assert.deepEqual(await bench.told(), []);
  await bench.subscribe([ann, 'bob@example.com']);
  assert.deepEqual(await list(bench), [['bob@example.com', 'VERIFIED']], 'not against her will');

  bench.at(400 * day);
  await ask(bench);
  const [again] = await bench.takeMails();
  assert.ok(again !== undefined);
  assert.ok(await verify(bench.services, tokenIn(again, 'verify')));
  const { body } = await bench.cp.api('GET', `/v1/status-pages/${bench.page.id}/subscriptions`);
  const own = (body as { id: string; address: string }[]).find(({ address }) => address === ann);
  const path = `/v1/status-pages/${bench.page.id}/subscriptions/${own?.id}`;
  assert.equal((await bench.cp.api('DELETE', path)).status, 204);
  await bench.subscribe([ann]);
  assert.equal((await list(bench)).length, 2, 'what the owner ended, the owner may begin again');
  await unsubscribe(bench.services, leave);
  assert.deepEqual(await list(bench), [['bob@example.com', 'VERIFIED']], 'an old link still works');
  await unsubscribe(bench.services, leave);
  await bench.subscribe([ann]);
  assert.equal((await list(bench)).length, 1, 'also when she was no subscriber any more');
});

test('tokens that are wrong, old or replaced confirm nothing', async () => {
  await using bench = await StatusPageBench.start();
  await ask(bench);
  const [first] = await bench.takeMails();
  assert.ok(first !== undefined);
  const firstToken = tokenIn(first, 'verify');
  assert.equal(await verify(bench.services, ''), null);
  assert.equal(await verify(bench.services, `${firstToken}x`), null);
  bench.at(5 * minute);
  await ask(bench);
  const [second] = await bench.takeMails();
  assert.ok(second !== undefined);
  assert.equal(await verify(bench.services, firstToken), null);
  bench.at(5 * minute + day);
  assert.equal(await verify(bench.services, tokenIn(second, 'verify')), null);
  bench.at(5 * minute + day - 1);
  assert.ok(await verify(bench.services, tokenIn(second, 'verify')));
  const { db } = bench.services;
  const { token_hash } = await db
    .selectFrom('status_page_subscriptions')
    .select('token_hash')
    .executeTakeFirstOrThrow();
  assert.match(token_hash ?? '', /^[0-9a-f]{64}$/);
});

test('only the tokens that were sent end a subscription', async () => {
  await using bench = await StatusPageBench.start();
  await bench.subscribe([ann]);
  await bench.openIncident();
  await bench.announce();
  const [mail] = await bench.takeMails();
  assert.ok(mail !== undefined);
  const token = tokenIn(mail, 'unsubscribe');
  const bytes = Buffer.from(token, 'base64url');
  for (let at = 0; at < bytes.length; at += 7) {
    const forged = Buffer.from(bytes);
    forged[at] = (forged[at] ?? 0) ^ 1;
    assert.equal(await unsubscribe(bench.services, forged.toString('base64url')), null);
  }
  for (const wrong of ['', 'x', token.slice(0, -4), `${token}AAAA`]) {
    assert.equal(await unsubscribe(bench.services, wrong), null);
  }
  assert.deepEqual(await list(bench), [[ann, 'VERIFIED']]);
  await bench.cp.api('DELETE', `/v1/status-pages/${bench.page.id}`);
  assert.equal(await unsubscribe(bench.services, token), null);
});

test('the answer does not tell who is subscribed, and what is written is the same', async () => {
  await using bench = await StatusPageBench.start();
  await bench.subscribe(['verified@example.com']);
  await ask(bench, 'pending@example.com');
  await bench.takeMails();
  const requests = async () =>
    (await bench.services.db.selectFrom('subscription_requests').selectAll().execute()).length;
  for (const address of ['verified@example.com', 'pending@example.com', 'new@example.com']) {
    const before = await requests();
    assert.equal(await ask(bench, address), 'SENT', address);
    assert.equal(await requests(), before + 1, address);
  }
  assert.equal(await ask(bench, ann, visitor, crypto.randomUUID()), 'SENT', 'a page that is gone');
  assert.deepEqual(
    (await bench.takeMails()).map(({ to }) => to),
    ['new@example.com'],
  );
  assert.deepEqual(
    (await list(bench)).find(([address]) => address === 'verified@example.com'),
    ['verified@example.com', 'VERIFIED'],
  );
  const kept = JSON.stringify(
    await bench.services.db.selectFrom('subscription_requests').selectAll().execute(),
  );
  assert.equal(/example\.com|192\.0/.test(kept), false, 'requests keep nobody’s address');
});

test('what is no address is said to be none', async () => {
  await using bench = await StatusPageBench.start();
  for (const address of [
    '',
    'ann',
    'ann@example.com, bob@example.com',
    'ann@example.com\r\nBcc: bob@example.com',
    '"<script>"@example.com',
    `${'a'.repeat(320)}@example.com`,
  ]) {
    assert.equal(await ask(bench, address), 'INVALID_ADDRESS', address);
  }
  assert.deepEqual([await list(bench), await bench.mails()], [[], []]);
});

test('no mailbox is flooded: five minutes apart, five a day, over all pages', async () => {
  await using bench = await StatusPageBench.start();
  const other = await bench.post('/v1/status-pages', { name: 'Two', url: 'two', cards: [] });
  const sent: number[] = [];
  for (let at = 0; at < 2 * hour; at += minute) {
    bench.at(at);
    await ask(bench, ann, `192.0.2.${at / minute}`);
    if ((await bench.takeMails()).length > 0) sent.push(at / minute);
  }
  assert.deepEqual(sent, [0, 5, 10, 15, 20]);
  await ask(bench, ann, '198.51.100.1', other.id);
  await bench.subscribe([ann], false, other.id);
  assert.deepEqual(await bench.takeMails(), [], 'nor from another page, nor by the API');
  bench.at(day);
  assert.equal(await ask(bench, ann, '198.51.100.2'), 'SENT');
  assert.equal((await bench.takeMails()).length, 1, 'a day later');
});

test('a visitor, and all visitors of a page, may ask so often an hour', async () => {
  await using bench = await StatusPageBench.start();
  const outcomes = async (count: number, from: (index: number) => string, at: string) => {
    const seen: string[] = [];
    for (let index = 0; index < count; index += 1) {
      seen.push(await ask(bench, `${at}${index}@example.com`, from(index)));
    }
    return { sent: seen.filter((each) => each === 'SENT').length, last: seen.at(-1) };
  };
  assert.deepEqual(await outcomes(35, () => visitor, 'a'), { sent: 30, last: 'TOO_MANY' });
  assert.equal(await ask(bench, ann, `::ffff:${visitor}`), 'TOO_MANY', 'the same, written as IPv6');
  const ofOneNetwork = (index: number) => `2001:db8:1:2::${index.toString(16)}`;
  assert.deepEqual(await outcomes(35, ofOneNetwork, 'b'), { sent: 30, last: 'TOO_MANY' });
  const strangers = (index: number) => `2001:db8:0:${index.toString(16)}::1`;
  assert.deepEqual(await outcomes(450, strangers, 'c'), { sent: 440, last: 'TOO_MANY' });
  // The owner of the page is no visitor.
  await bench.subscribe(['owner@example.com'], false);
  assert.equal((await bench.mails()).at(-1)?.to, 'owner@example.com');
  bench.at(hour);
  assert.equal(await ask(bench, ann), 'SENT');
});

test('a question that still waits is replaced, for its link no longer works', async () => {
  await using bench = await StatusPageBench.start();
  await ask(bench);
  bench.at(10 * minute);
  await ask(bench);
  const mails = await bench.mails();
  assert.equal(mails.length, 1);
  assert.ok(mails[0] !== undefined);
  assert.ok(await verify(bench.services, tokenIn(mails[0], 'verify')));
});

test('addresses that the owner adds are asked, unless the owner vouches for them', async () => {
  await using bench = await StatusPageBench.start();
  await bench.subscribe([ann, 'bob@example.com', 'ANN@example.com'], false);
  const asked = await bench.takeMails();
  assert.deepEqual(asked.map(({ to }) => to).sort(), [ann, 'bob@example.com']);
  await bench.subscribe([ann], false);
  await bench.subscribe(['cy@example.com']);
  assert.deepEqual(await bench.takeMails(), []);
  const toAnn = asked.find(({ to }) => to === ann);
  assert.ok(toAnn !== undefined);
  assert.ok(await verify(bench.services, tokenIn(toAnn, 'verify')));
  assert.deepEqual(await list(bench), [
    [ann, 'VERIFIED'],
    ['bob@example.com', 'PENDING'],
    ['cy@example.com', 'VERIFIED'],
  ]);
});

test('who never confirms is forgotten after a month, and requests after a day', async () => {
  await using bench = await StatusPageBench.start();
  await ask(bench);
  await bench.subscribe(['verified@example.com']);
  bench.at(30 * day);
  await forgetUnconfirmed(bench.services);
  assert.equal((await list(bench)).length, 2);
  bench.at(30 * day + 1);
  await forgetUnconfirmed(bench.services);
  assert.deepEqual(await list(bench), [['verified@example.com', 'VERIFIED']]);
  await ask(bench, 'new@example.com');
  const requests = await bench.services.db
    .selectFrom('subscription_requests')
    .selectAll()
    .execute();
  assert.equal(requests.length, 1);
});

test('a choice of services is what the mail says, and holds once its link was followed', async () => {
  await using bench = await StatusPageBench.start();
  const checkout = await bench.addService('Checkout');
  await askFor(bench, [bench.service]);
  const first = await follow(bench);
  assert.match(first.mail.text, /\n\nOnly about: Search\n\n/);
  assert.match(first.mail.html, /Only about: Search/);
  assert.deepEqual(first.verified?.serviceIds, [bench.service.id]);
  assert.deepEqual(await servicesOf(bench), [['Search']]);

  bench.at(5 * minute);
  assert.equal(await askFor(bench, [bench.service]), 'SENT');
  assert.deepEqual(await bench.mails(), [], 'nothing to confirm');
  await askFor(bench, [checkout, bench.service]);
  assert.deepEqual(await servicesOf(bench), [['Search']], 'until its owner has confirmed it');
  const second = await follow(bench);
  assert.match(
    second.mail.text,
    /Only about: Checkout and Search\n[^]+subscription stays as it is/,
  );
  assert.deepEqual(await servicesOf(bench), [['Checkout', 'Search']]);
  assert.ok(await verify(bench.services, tokenIn(second.mail, 'verify')), 'once more');
  assert.equal(await verify(bench.services, tokenIn(first.mail, 'verify')), null, 'the older one');

  bench.at(10 * minute);
  await askFor(bench, []);
  const third = await follow(bench);
  assert.equal(/Only about/.test(third.mail.text + third.mail.html), false);
  assert.deepEqual(await servicesOf(bench), [null]);
});

test('others who ask for an address change neither its services nor what waits for it', async () => {
  await using bench = await StatusPageBench.start();
  await bench.subscribe([ann]);
  await bench.openIncident();
  await bench.announce();
  await askFor(bench, [bench.service]);
  const subjects = (await bench.takeMails()).map(({ subject }) => subject);
  assert.deepEqual(subjects, [
    '[Shop] Slow search – Investigating',
    '[Shop] Confirm your subscription',
  ]);
  assert.deepEqual(await servicesOf(bench), [null]);
  bench.at(minute);
  await askFor(bench, []);
  assert.deepEqual(await bench.mails(), []);
  bench.at(day);
  await bench.openIncident();
  assert.equal((await bench.told()).length, 1);
});

test('the link of a changed choice works for a day, and the subscription stays as it is', async () => {
  await using bench = await StatusPageBench.start();
  await bench.subscribe([ann]);
  await askFor(bench, [bench.service]);
  const [mail] = await bench.takeMails();
  assert.ok(mail !== undefined);
  bench.at(day);
  assert.equal(await verify(bench.services, tokenIn(mail, 'verify')), null);
  assert.deepEqual(await servicesOf(bench), [null]);
  assert.deepEqual(await list(bench), [[ann, 'VERIFIED']]);
});

test('two requests at once do not pass a limit together', async () => {
  await using bench = await StatusPageBench.start();
  const { db } = bench.services;
  const askFrom = (from: Kysely<Database>, address: string) =>
    subscribe(
      { ...bench.services, commits: new CommitQueue(from) },
      { pageId: bench.page.id, type, address, services: [], visitor },
    );
  const rounds = await everyInterleaving(
    db,
    async () => {
      await db.deleteFrom('subscription_requests').execute();
      // One less than a visitor may make.
      for (let index = 0; index < 29; index += 1) await ask(bench, `before-${index}@example.com`);
    },
    {
      first: (stopped) => askFrom(stopped, 'ann@example.com'),
      second: () => askFrom(db, 'bob@example.com'),
      check: async (_round, { first, second }, at) => {
        assert.deepEqual([first, second].toSorted(), ['SENT', 'TOO_MANY'], at);
      },
    },
  );
  assert.ok(rounds >= 5, `${rounds} rounds`);
});

test('whoever asks for other services while a link is followed changes nothing without a link', async () => {
  await using bench = await StatusPageBench.start();
  const checkout = await bench.addService('Checkout');
  const { db } = bench.services;
  const askOn = (from: Kysely<Database>, chosen: ChosenService) =>
    subscribe(
      { ...bench.services, commits: new CommitQueue(from) },
      { pageId: bench.page.id, type, address: ann, services: [chosen], visitor },
    );
  const rounds = await everyInterleaving(
    db,
    async () => {
      await db.deleteFrom('subscription_requests').execute();
      await db.deleteFrom('status_page_subscriptions').execute();
      bench.at(0);
      await askOn(db, bench.service);
      const [mail] = await bench.takeMails();
      assert.ok(mail !== undefined);
      bench.at(5 * minute);
      return tokenIn(mail, 'verify');
    },
    {
      first: (stopped) => askOn(stopped, checkout),
      second: (token) => verify(bench.services, token),
      check: async (_token, { second: verified }, at) => {
        const state = [await list(bench), await servicesOf(bench)];
        const expected = verified === null ? ['PENDING', 'Checkout'] : ['VERIFIED', 'Search'];
        assert.deepEqual(state, [[[ann, expected[0]]], [[expected[1]]]], at);
        await follow(bench);
        assert.deepEqual(await servicesOf(bench), [['Checkout']], at);
      },
    },
  );
  assert.ok(rounds >= 5, `${rounds} rounds`);
});
