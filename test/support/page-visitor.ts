/** A control plane with a status page, and somebody who looks at it. Moves only when it is told to. */
import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { startTestControlPlane, type TestControlPlane } from './control-plane.ts';
import { TestClock } from './test-clock.ts';

export const start = Date.parse('2026-11-21T08:00:00.000Z');
export const minute = 60_000;
export const hour = 60 * minute;
export const day = 24 * hour;
export const iso = (sinceStart: number): string => new Date(start + sinceStart).toISOString();

export interface Service {
  id: string;
  name: string;
}

interface Update {
  at: number;
  status?: string;
  description?: string;
}

export interface Seen {
  status: number;
  headers: Headers;
  text: string;
}

interface Asked {
  method?: string;
  headers?: Record<string, string>;
  form?: Record<string, string> | [string, string][];
}

export class PageVisitor implements AsyncDisposable {
  readonly cp: TestControlPlane;
  readonly clock: TestClock;
  /** Where the page is. */
  base: string;

  private constructor(cp: TestControlPlane, clock: TestClock) {
    this.cp = cp;
    this.clock = clock;
    this.base = `${cp.url}/status/shop`;
  }

  static async open(
    settings: Record<string, string> = {},
    isSending = false,
  ): Promise<PageVisitor> {
    const clock = new TestClock(start);
    const cp = await startTestControlPlane({
      clock,
      requestsPerMinute: 0,
      settings: { SMTP_URL: 'smtp://127.0.0.1:1', ...settings },
    });
    // Mails stay in the outbox.
    if (!isSending) cp.controlPlane.services.outbox.onWake(() => {});
    return new PageVisitor(cp, clock);
  }

  /** Lets so much time go by, without what timers would have done in it. */
  pass(ms: number): void {
    this.clock.advance(1_000);
    this.clock.setWall(this.clock.now() - 1_000 + ms);
  }

  /** What the API answers to a change that works. */
  async done(method: string, path: string, body?: unknown) {
    const answer = await this.cp.api(method, path, body);
    assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** Writes what earlier versions took into the row of a page. */
  async keep(pageId: string, look: Record<string, unknown>): Promise<void> {
    const { db } = this.cp.controlPlane.services;
    const row = await db
      .selectFrom('status_pages')
      .select('body_json')
      .where('id', '=', pageId)
      .executeTakeFirstOrThrow();
    const body = { ...(JSON.parse(row.body_json) as object), ...look };
    await db
      .updateTable('status_pages')
      .set({ body_json: JSON.stringify(body) })
      .where('id', '=', pageId)
      .execute();
  }

  /** Services that have been there for a year. */
  async services(...names: string[]): Promise<Service[]> {
    const made: Service[] = [];
    for (const name of names) {
      made.push(await this.done('POST', '/v1/status-pages/services', { name }));
    }
    const { db } = this.cp.controlPlane.services;
    await db
      .updateTable('services')
      .set({ created_at: start - 365 * day })
      .execute();
    return made;
  }

  async page(services: readonly Service[], more: object = {}): Promise<{ id: string }> {
    return this.done('POST', '/v1/status-pages', {
      name: 'Shop',
      url: 'shop',
      cards: [{ name: 'Web', services: services.map(({ id }) => ({ id })) }],
      ...more,
    });
  }

  incident(
    services: readonly Service[],
    severity: string,
    updates: readonly Update[],
    name = 'Trouble',
  ): Promise<{ id: string }> {
    return this.done('POST', '/v1/status-pages/incidents', {
      name,
      severity,
      services,
      incidentUpdates: updates.map(({ at, status = 'INVESTIGATING', description = 'said' }) => ({
        status,
        description,
        publicIncidentUpdateDate: iso(at),
      })),
    });
  }

  /** A window for a check that reports to a service. */
  async maintenance(service: Service, window: object): Promise<{ id: number }> {
    await this.done('POST', '/v1/checks/url', {
      name: `reports to ${service.name}`,
      activated: true,
      locations: ['eu-central-1'],
      tags: [`for-${service.id}`],
      request: { url: 'https://shop.example' },
      triggerIncident: {
        serviceId: service.id,
        severity: 'MAJOR',
        name: 'x',
        description: 'x',
        notifySubscribers: false,
      },
    });
    return this.done('POST', '/v1/maintenance-windows', {
      name: 'Upgrade',
      repeatUnit: null,
      tags: [`for-${service.id}`],
      ...window,
    });
  }

  /** Asks below the page; redirects are not followed. */
  async see(path: string, { method = 'GET', headers = {}, form }: Asked = {}): Promise<Seen> {
    const response = await fetch(this.base + path, {
      method,
      headers: { 'accept-encoding': 'identity', ...headers },
      redirect: 'manual',
      ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  async json(path: string) {
    const { status, text } = await this.see(path);
    assert.equal(status, 200, path);
    return JSON.parse(text);
  }

  /** Asks as if for another host. */
  asHost(host: string, path: string, headers: Record<string, string> = {}): Promise<Seen> {
    return new Promise((resolve, reject) => {
      const asked = httpRequest(this.cp.url, { path, headers: { ...headers, host } });
      asked.once('error', reject);
      asked.once('response', (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.once('end', () => {
          resolve({
            status: response.statusCode ?? 0,
            headers: new Headers(response.headers as Record<string, string>),
            text: Buffer.concat(parts).toString(),
          });
        });
      });
      asked.end();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cp[Symbol.asyncDispose]();
  }
}

/** The headline and the state of each service, as the page tells them in words. */
export function toldBy(html: string): { headline: string; services: Map<string, string> } {
  const headline = /<h1>([^<]*)<\/h1>/.exec(html)?.[1] ?? '';
  const rows = html.matchAll(/<b>([^<]*)<\/b>.*?<\/svg>([^<]*)<\/span>/gs);
  return {
    headline,
    services: new Map([...rows].map(([, name = '', words = '']) => [name, words])),
  };
}
