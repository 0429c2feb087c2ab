/** The preview of a page is what visitors would see, of the account alone, and stores nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApiKey } from '../../../control-plane/accounts/keys/store.ts';
import { hour, PageVisitor } from '../../support/page-visitor.ts';
import { createAccount } from '../../support/world.ts';

interface Preview {
  html: string;
  css: string;
  hasSamples: boolean;
}

test('a preview is the page itself, with the incidents of the saved one and what the form changes', async () => {
  await using visitor = await PageVisitor.open();
  const [search, checkout] = await visitor.services('Search', 'Checkout');
  assert.ok(search && checkout);
  const { id } = await visitor.page([search]);
  await visitor.incident([search], 'MAJOR', [{ at: -hour }], 'Slow');
  const preview = async (body: object): Promise<Preview> => {
    const answer = await visitor.cp.api('POST', '/v1/status-pages/preview', body);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body as Preview;
  };
  const cards = [{ name: 'Web', services: [{ id: search.id }, { id: checkout.id }] }];
  const saved = await preview({ name: 'Changed', cards, statusPageId: id, language: 'fr' });
  assert.match(saved.html, /Slow/);
  assert.match(saved.html, /Changed/);
  assert.match(saved.html, /<html lang="fr"/);
  assert.match(saved.html, /Checkout/);
  assert.equal(saved.hasSamples, false);
  assert.match(saved.html, /\/feed subscribe http[^<]+\/status\/preview\/slack\.rss</);
  assert.doesNotMatch(saved.html, /<style>|<script/);
  assert.doesNotMatch((await visitor.see('/')).text, /Changed|Checkout/);

  const fresh = await preview({ name: '' });
  assert.equal(fresh.hasSamples, true);
  assert.match(fresh.html, /Sample incident/);
  const dark = await preview({ name: '', scheme: 'DARK' });
  assert.notEqual(dark.css, fresh.css);
  assert.equal((await preview({ name: '', scheme: 'DARK', defaultTheme: 'LIGHT' })).css, fresh.css);
});

test('a body that names a service thousands of times is not rendered thousands of times', async () => {
  await using visitor = await PageVisitor.open();
  const [search] = await visitor.services('Search');
  assert.ok(search);
  const services = Array.from({ length: 150 }, () => ({ id: search.id }));
  const cards = Array.from({ length: 50 }, () => ({ name: 'Web', services }));
  const { body } = await visitor.cp.api('POST', '/v1/status-pages/preview', { name: 'P', cards });
  const few = [{ name: 'Web', services: services.slice(0, 100) }];
  const { body: short } = await visitor.cp.api('POST', '/v1/status-pages/preview', {
    ...{ name: 'P', cards: few },
  });
  assert.ok(body.html.length < 3 * short.html.length);
});

test('services and incidents of another account are not found', async () => {
  await using visitor = await PageVisitor.open();
  const [search] = await visitor.services('Search');
  assert.ok(search);
  const { id } = await visitor.page([search]);
  await visitor.incident([search], 'MAJOR', [{ at: -hour }], 'Slow');
  const { services } = visitor.cp.controlPlane;
  const accountId = await createAccount(services, 'Other');
  const { rawKey } = await createApiKey(services, accountId, { name: 'other' });
  const answer = await visitor.cp.api(
    'POST',
    '/v1/status-pages/preview',
    { name: 'Mine', cards: [{ name: 'Web', services: [{ id: search.id }] }], statusPageId: id },
    { authorization: `Bearer ${rawKey}` },
  );
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const { html } = answer.body as Preview;
  assert.doesNotMatch(html, /Slow|>Search</);
});
