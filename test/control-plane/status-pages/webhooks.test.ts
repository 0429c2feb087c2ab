// Own process: it trusts a certificate of its own.
/** Programs subscribe to a status page by webhook: asked first, signed, and dropped when they are gone. */
import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Webhook } from 'standardwebhooks';
import { announceDueUpdates } from '../../../control-plane/status-pages/subscribers/announce-due-updates.ts';
import { forgetUnconfirmed } from '../../../control-plane/status-pages/subscribers/forget-unconfirmed.ts';
import { noteWebhook } from '../../../control-plane/status-pages/subscribers/note-webhook.ts';
import { selfSigned } from '../../support/certificates.ts';
import { day, hour, PageVisitor, type Service } from '../../support/page-visitor.ts';
import { reachesTestServers } from '../../support/http-receiver.ts';
import { eventually } from '../../support/system.ts';

interface Got {
  path: string;
  headers: Record<string, string>;
  body: string;
}

interface Payload {
  type: string;
  data: {
    page: { name: string };
    services: Service[] | null;
    confirmUrl: string;
    unsubscribeUrl: string;
    incident: { name: string; severity: string };
    update: { status: string; description: string };
  };
}

interface Endpoint extends AsyncDisposable {
  url: string;
  got: Got[];
  status: number;
  /** Waits for as many requests; gives the body of the last. */
  until(count: number): Promise<Payload>;
}

const certificate = await selfSigned({ host: '127.0.0.1', validForDays: 30 });
setDefaultCACertificates([...getCACertificates('default'), certificate.cert]);

async function endpoint(): Promise<Endpoint> {
  const got: Got[] = [];
  const server = createServer(certificate, (request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const headers = request.headers as Record<string, string>;
      got.push({ path: request.url ?? '', headers, body });
      response.writeHead(it.status).end('said back');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const it: Endpoint = {
    got,
    status: 200,
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async until(count) {
      await eventually(
        () => got.length >= count,
        () => `${got.length} requests`,
      );
      return JSON.parse(got.at(-1)?.body ?? '') as Payload;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return it;
}

class Bench implements AsyncDisposable {
  readonly visitor: PageVisitor;
  readonly services: Service[];
  readonly pageId: string;

  constructor(visitor: PageVisitor, services: Service[], pageId: string) {
    this.visitor = visitor;
    this.services = services;
    this.pageId = pageId;
  }

  /** Requests are sent; with `isQuiet` they stay in the outbox. */
  static async open({ isQuiet = false, settings = {} } = {}): Promise<Bench> {
    const allowed = { ...reachesTestServers, ...settings, SMTP_URL: '' };
    const visitor = await PageVisitor.open(allowed, !isQuiet);
    const services = await visitor.services('Search', 'Login');
    const { id } = await visitor.page(services);
    return new Bench(visitor, services, id);
  }

  get db() {
    return this.visitor.cp.controlPlane.services.db;
  }

  subscribe(url: string, services: readonly string[] = []) {
    return this.visitor.see('/subscriptions', {
      method: 'POST',
      form: [['url', url], ...services.map((each): [string, string] => ['service', each])],
    });
  }

  /** Follows the link of the request; gives the secret that the page shows. */
  async confirm(link: string): Promise<string | undefined> {
    const { text } = await this.visitor.see(this.path(link), { method: 'POST' });
    return /whsec_[\w+/=]+/.exec(text)?.[0];
  }

  path(link: string): string {
    const { pathname, search } = new URL(link);
    return pathname.replace('/status/shop', '') + search;
  }

  async announce(service: Service | undefined, name = 'Slow'): Promise<void> {
    const { services } = this.visitor.cp.controlPlane;
    await this.visitor.done('POST', '/v1/status-pages/incidents', {
      ...{ name, severity: 'MAJOR', services: [service] },
      incidentUpdates: [{ description: 'We look', notifySubscribers: true }],
    });
    while (await announceDueUpdates(services));
    services.outbox.wake();
  }

  listed() {
    return this.visitor.done('GET', `/v1/status-pages/${this.pageId}/subscriptions`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.visitor[Symbol.asyncDispose]();
  }
}

test('a URL is asked first, gets signed updates of the chosen services, and leaves by a link of each', async () => {
  await using it = await Bench.open();
  await using at = await endpoint();
  const [search, login] = it.services;
  const page = await it.visitor.see('/');
  assert.match(page.text, /href="\/status\/shop\/subscriptions\/webhook">Get updates by webhook</);
  const form = await it.visitor.see('/subscriptions/webhook');
  assert.match(form.text, /type="url"\s+name="url"/);
  const sent = await it.subscribe(`${at.url}/Hook?key=1#part`, [search?.id ?? '']);
  assert.match(sent.text, /Look at what your URL has received/);

  const asked = await at.until(1);
  assert.deepEqual(
    [at.got[0]?.path, asked.type, asked.data.page.name, asked.data.services],
    ['/Hook?key=1', 'subscription.confirm', 'Shop', [{ id: search?.id, name: 'Search' }]],
  );
  assert.equal(at.got[0]?.headers['webhook-signature'], undefined);
  await it.announce(search, 'before');
  const { confirmUrl } = asked.data;
  assert.match((await it.visitor.see(it.path(confirmUrl))).text, /<button class="button">Confirm</);
  const [pending] = await it.listed();
  assert.deepEqual(
    [pending.type, pending.address, pending.status],
    ['WEBHOOK', `${at.url}/…`, 'PENDING'],
    'looking confirms nothing; the path may be a credential',
  );
  const secret = (await it.confirm(confirmUrl)) ?? '';
  assert.match(secret, /^whsec_/);
  assert.equal(await it.confirm(confirmUrl), undefined, 'shown once');
  const stored = await it.db.selectFrom('status_page_subscriptions').select('secret').execute();
  assert.ok(!JSON.stringify(stored).includes(secret.slice(6)));

  await it.announce(login, 'of another service');
  await it.db.updateTable('status_page_subscriptions').set({ failing_since: 1 }).execute();
  await it.announce(search, 'after');
  const update = await at.until(2);
  const { headers, body, path } = at.got[1] ?? { headers: {}, body: '', path: '' };
  assert.deepEqual(
    [path, update.type, update.data.incident.name, update.data.incident.severity],
    ['/Hook?key=1', 'incident.update', 'after', 'MAJOR'],
  );
  assert.deepEqual(
    [update.data.update.status, update.data.update.description, update.data.services],
    ['INVESTIGATING', 'We look', [{ id: search?.id, name: 'Search' }]],
  );
  // The clock of the test stands still, that of the library does not.
  const signer = new Webhook(secret);
  const signedAt = new Date(Number(headers['webhook-timestamp']) * 1000);
  const signature = signer.sign(headers['webhook-id'] ?? '', signedAt, body);
  assert.equal(headers['webhook-signature'], signature);

  const failing = () =>
    it.db.selectFrom('status_page_subscriptions').select('failing_since as since').execute();
  await eventually(
    async () => (await failing())[0]?.since === null,
    () => 'a delivery is not noted',
  );
  const { unsubscribeUrl } = update.data;
  assert.match((await it.visitor.see(it.path(unsubscribeUrl))).text, />Unsubscribe<\/button>/);
  assert.equal((await it.listed()).length, 1);
  await it.visitor.see(it.path(unsubscribeUrl), { method: 'POST' });
  assert.deepEqual(await it.listed(), []);
  await it.announce(search, 'nobody hears');
  const left = await it.db
    .selectFrom('outbox')
    .select('id')
    .where('kind', '=', 'WEBHOOK')
    .execute();
  assert.deepEqual([left, at.got.length], [[], 2]);
});

test('only https URLs without a password are taken, and nothing inside is reached', async () => {
  await using it = await Bench.open({ isQuiet: true });
  const refused = [
    ...['', 'shop', 'http://shop.example/', 'ftp://shop.example/', 'https://'],
    ...['https://user:secret@shop.example/', 'javascript:alert(1)', 'file:///etc/passwd'],
    `https://shop.example/${'x'.repeat(2_000)}`,
  ];
  for (const url of refused) {
    const { status, text } = await it.subscribe(url);
    assert.equal(status, 400, url);
    assert.match(text, /role="alert">No request can be sent to this URL/);
    assert.ok(!text.includes('secret'));
  }
  assert.deepEqual(await it.listed(), []);
  await it.subscribe('https://169.254.169.254/latest');
  await it.subscribe('https://[::1]/');
  const { services } = it.visitor.cp.controlPlane;
  const { startOutboxSender } =
    await import('../../../control-plane/notifications/outbox-sender.ts');
  const { readConfig } = await import('../../../control-plane/core/config.ts');
  await using _ = startOutboxSender({ services, config: readConfig({}) });
  await eventually(
    async () => (await it.db.selectFrom('outbox').select('id').execute()).length === 0,
    () => 'requests wait',
  );
  const failing = await it.db
    .selectFrom('status_page_subscriptions')
    .select(['status', 'failing_since'])
    .execute();
  assert.deepEqual(
    failing.map(({ status }) => status),
    ['PENDING', 'PENDING'],
  );
});

test('a private page offers no webhooks', async () => {
  await using it = await Bench.open({ isQuiet: true });
  await it.visitor.done('POST', `/v1/status-pages/${it.pageId}/password`);
  assert.equal((await it.subscribe('https://shop.example/')).status, 401);
  assert.equal((await it.visitor.see('/subscriptions/webhook')).status, 401);
});

test('requests to one host, of one visitor and to one page are limited', async () => {
  await using it = await Bench.open({ isQuiet: true });
  const statuses = [];
  for (let index = 0; index < 31; index += 1) {
    const host = ['shop.example', `shop.example:${8_000 + index}`, 'SHOP.example.'][index % 3];
    statuses.push((await it.subscribe(`https://${host}/${index}`)).status);
  }
  assert.deepEqual(statuses, [...Array<number>(30).fill(200), 429]);
  it.visitor.pass(2 * hour);
  assert.equal((await it.subscribe('https://shop.example/31')).status, 429, 'the host, for a day');
  assert.equal((await it.subscribe('https://other.example/')).status, 200);
  assert.equal((await it.subscribe('https://other.example/')).status, 200);
  const asked = await it.db
    .selectFrom('outbox')
    .select('content_json')
    .where('content_json', 'like', '%subscription.confirm%')
    .execute();
  assert.equal(asked.length, 31, 'the same URL is not asked again within minutes');
  it.visitor.pass(day + hour);
  await forgetUnconfirmed(it.visitor.cp.controlPlane.services);
  assert.deepEqual(await it.listed(), [], 'who did not confirm within a day');
});

test('a page takes five hundred webhooks, and a webhook that is asked again gets a new secret', async () => {
  await using it = await Bench.open();
  await using at = await endpoint();
  await it.subscribe(`${at.url}/first`);
  const first = await it.confirm((await at.until(1)).data.confirmUrl);
  it.visitor.pass(hour);
  await it.subscribe(`${at.url}/first`);
  const again = (await at.until(2)).data.confirmUrl;
  const second = await it.confirm(again);
  assert.ok(first !== undefined && second !== undefined && first !== second);

  await it.subscribe(`${at.url}/late`);
  const late = (await at.until(3)).data.confirmUrl;
  const [row] = await it.db.selectFrom('status_page_subscriptions').selectAll().execute();
  assert.ok(row);
  await it.db
    .insertInto('status_page_subscriptions')
    .values(
      Array.from({ length: 499 }, (_, index) => ({
        ...{ ...row, token_hash: null, status: 'VERIFIED' },
        id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
        address: `https://other.example/${index}`,
      })),
    )
    .execute();
  const full = await it.subscribe(`${at.url}/more`);
  assert.deepEqual([full.status, /takes no more webhooks/.test(full.text)], [409, true]);
  assert.equal(await it.confirm(late), undefined);
  const pending = await it.listed();
  assert.equal(pending.filter(({ status }: { status: string }) => status === 'PENDING').length, 1);
});

test('a webhook to which nothing arrives for three days ends, one that answers again stays', async () => {
  await using it = await Bench.open({ isQuiet: true });
  await it.subscribe('https://shop.example/');
  const [subscription] = await it.listed();
  const note = (isDelivered: boolean) =>
    noteWebhook(it.db, {
      ...{ accountId: it.visitor.cp.accountId, subscriptionId: subscription.id, isDelivered },
      now: it.visitor.clock.now(),
    });
  await note(false);
  it.visitor.pass(2 * day);
  await note(false);
  await note(true);
  await note(false);
  it.visitor.pass(2 * day);
  await note(false);
  assert.equal((await it.listed()).length, 1);
  it.visitor.pass(2 * day);
  await note(false);
  assert.deepEqual(await it.listed(), []);
  await note(false);
});

test('networks that are open for channels of customers stay closed for subscribers', async () => {
  await using it = await Bench.open({ settings: { SUBSCRIBER_ALLOWED_NETWORKS: '' } });
  await using at = await endpoint();
  await it.subscribe(`${at.url}/hook`);
  // A refusal is final: what could not be sent is not tried again.
  await eventually(
    async () => (await it.db.selectFrom('outbox').select('id').execute()).length === 0,
    () => 'the request waits',
  );
  assert.equal(at.got.length, 0);
});
