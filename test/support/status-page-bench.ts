/** A status page with one service, and what its subscribers are sent. Timers of the control plane stand still. */
import assert from 'node:assert/strict';
import type { Mail } from '../../control-plane/notifications/facts.ts';
import { announceDueUpdates } from '../../control-plane/status-pages/subscribers/announce-due-updates.ts';
import { subscribe } from '../../control-plane/status-pages/subscribers/subscribe.ts';
import { verify } from '../../control-plane/status-pages/subscribers/verify.ts';
import { startTestControlPlane, type TestControlPlane } from './control-plane.ts';
import { TestClock } from './test-clock.ts';

export const start = Date.parse('2026-11-21T08:00:00.000Z');
export const minute = 60_000;
export const hour = 60 * minute;
export const iso = (sinceStart: number): string => new Date(start + sinceStart).toISOString();

interface Named {
  id: string;
  name: string;
}

export class StatusPageBench implements AsyncDisposable {
  readonly cp: TestControlPlane;
  readonly clock: TestClock;
  readonly service: Named;
  readonly page: Named;

  private constructor(cp: TestControlPlane, clock: TestClock, service: Named, page: Named) {
    this.cp = cp;
    this.clock = clock;
    this.service = service;
    this.page = page;
  }

  static async start(options: { file?: string } = {}): Promise<StatusPageBench> {
    const clock = new TestClock(start);
    const settings = {
      PUBLIC_URL: 'https://monitor.example',
      STATUS_PAGE_DOMAINS: 'status.example.com',
    };
    const cp = await startTestControlPlane({ clock, settings, requestsPerMinute: 0, ...options });
    // Mails stay in the outbox, where tests read them.
    cp.controlPlane.services.outbox.onWake(() => {});
    const made = await cp.api('POST', '/v1/status-pages/services', { name: 'Search' });
    // Incidents and cards name it without what it follows.
    const { follows: _follows, stateOverride: _override, ...service } = made.body;
    const { body: page } = await cp.api('POST', '/v1/status-pages', {
      name: 'Shop',
      url: 'shop',
      cards: [{ name: 'Web', services: [{ id: service.id }] }],
    });
    return new StatusPageBench(cp, clock, service, page);
  }

  get services() {
    return this.cp.controlPlane.services;
  }

  /** Moves the wall clock, and with it nothing else. */
  at(sinceStart: number): void {
    this.clock.setWall(start + sinceStart);
  }

  async post(path: string, body: unknown) {
    const answer = await this.cp.api('POST', path, body);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body;
  }

  /** Shows a further service on the page, beside those that are there. */
  async addService(name: string): Promise<Named> {
    const service = await this.post('/v1/status-pages/services', { name });
    const { body } = await this.cp.api('GET', `/v1/status-pages/${this.page.id}`);
    await this.showServices([...body.cards[0].services, service]);
    return service;
  }

  /** Shows these services on the page and no others. */
  async showServices(services: readonly Named[]): Promise<void> {
    const cards = [{ name: 'Web', services: services.map(({ id }) => ({ id })) }];
    const page = { name: 'Shop', url: 'shop', cards };
    assert.equal((await this.cp.api('PUT', `/v1/status-pages/${this.page.id}`, page)).status, 200);
  }

  /** Subscribes through the API, by default without asking. */
  async subscribe(addresses: readonly string[], autoVerify = true, pageId = this.page.id) {
    for (let from = 0; from < addresses.length; from += 100) {
      const subscriptions = addresses.slice(from, from + 100).map((config) => ({ config }));
      const path = `/v1/status-pages/${pageId}/subscriptions/bulk`;
      await this.post(path, { subscriptions, autoVerify });
    }
  }

  /** Subscribes to some services with the form, and follows the link. */
  async choose(address: string, services: readonly Named[]): Promise<void> {
    const asked = {
      ...{ pageId: this.page.id, type: 'EMAIL' as const, address },
      ...{ services, visitor: '192.0.2.200' },
    };
    assert.equal(await subscribe(this.services, asked), 'SENT');
    const mail = (await this.mails()).find(({ to }) => to === address);
    assert.ok(mail !== undefined);
    assert.ok(await verify(this.services, tokenIn(mail, 'verify')));
    await this.takeMails();
  }

  /** An incident of the service whose first update subscribers are told, unless it says otherwise. */
  async openIncident(
    update: object = {},
    more: object = {},
  ): Promise<{ id: string; path: string }> {
    const { id } = await this.post('/v1/status-pages/incidents', {
      name: 'Slow search',
      severity: 'MAJOR',
      services: [{ id: this.service.id }],
      incidentUpdates: [{ description: 'We look into it', notifySubscribers: true, ...update }],
      ...more,
    });
    return { id, path: `/v1/status-pages/incidents/${id}` };
  }

  /** Lets everything that is due be announced; gives in how many steps. */
  async announce(): Promise<number> {
    let steps = 0;
    while (await announceDueUpdates(this.services)) steps += 1;
    return steps;
  }

  /** Mails that wait for their way out, oldest first. */
  async mails(): Promise<(Mail & { id: string })[]> {
    const rows = await this.services.db
      .selectFrom('outbox')
      .select(['id', 'content_json'])
      .where('kind', '=', 'MAIL')
      .orderBy('seq')
      .execute();
    return rows.map(({ id, content_json }) => ({ id, ...(JSON.parse(content_json) as Mail) }));
  }

  /** The mails that wait, as if they had been sent. */
  async takeMails(): Promise<(Mail & { id: string })[]> {
    const mails = await this.mails();
    await this.services.db.deleteFrom('outbox').execute();
    return mails;
  }

  /** Announces what is due, and gives who is told what. */
  async told(): Promise<[string, string][]> {
    await this.announce();
    return (await this.takeMails()).map(({ to, subject }) => [to, subject]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.cp[Symbol.asyncDispose]());
  }
}

/** The token of the link in a mail. */
export function tokenIn({ text }: Mail, kind: 'verify' | 'unsubscribe'): string {
  const found = new RegExp(`/subscriptions/${kind}\\?token=([\\w-]+)`).exec(text);
  assert.ok(found?.[1] !== undefined, text);
  return found[1];
}
