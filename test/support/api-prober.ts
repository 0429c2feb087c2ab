/** Tries bodies and queries on a control plane, one field changed at a time. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Route } from '@monitor/shared/contract/route.ts';
import { selfSigned } from './certificates.ts';
import { startTestControlPlane, type Answer, type TestControlPlane } from './control-plane.ts';
import { routeOf, segmentsOf } from './published-schema.ts';

type Json = Record<string, unknown>;

/** The least that each operation accepts. `$name` stands for what `prepare` has made. */
const leastBodies: Readonly<Record<string, Json>> = {
  createURLMonitor: { name: 'a', request: { url: 'https://a.example' } },
  // A request is replaced as a whole, so that its fields can only be tried beside its address.
  updateURLMonitor: { request: { url: 'https://a.example' } },
  createDNSMonitor: {
    name: 'a',
    heartbeat: {},
    script: '',
    request: { query: 'a.example', recordType: 'A' },
  },
  createBrowserCheck: { name: 'a', script: null },
  createCheckGroup: { name: 'a' },
  updateCheckGroup: { name: 'a' },
  createStatusPage: { name: 'a', url: 'page-$unique', cards: [] },
  updateStatusPage: { name: 'a', url: 'page-$unique', cards: [] },
  updateIncident: { name: 'a', severity: 'MAJOR', services: [{ id: '$serviceId' }] },
  createMaintenanceWindow: {
    name: 'a',
    startsAt: '2026-12-01T00:00:00.000Z',
    endsAt: '2026-12-01T02:00:00.000Z',
    repeatUnit: 'DAY',
  },
  createClientCertificate: { host: 'a.example', cert: '$cert', key: '$key' },
  updateErrorGroup: {},
};

/** Which resource a parameter of a path names. */
const pathTokens: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  updateURLMonitor: { id: '$urlId' },
  updateCheckGroup: { id: '$groupId' },
  updateStatusPage: { statusPageId: '$pageId' },
  updateIncident: { incidentId: '$incidentId' },
  updateErrorGroup: { id: '$errorGroupId' },
  listCheckResults: { checkId: '$urlId' },
  getUrlMonitorAnalytics: { id: '$urlId' },
  getTcpCheckAnalytics: { id: '$tcpId' },
  getBrowserCheckAnalytics: { id: '$browserId' },
};

export interface Attempt {
  accepted: boolean;
  /** Fields a refusal names. */
  keys: string[];
  /** Undefined when the operation is not served and only its schema was asked. */
  body: unknown;
  shown: string;
}

export class ApiProber implements AsyncDisposable {
  readonly cp: TestControlPlane;
  readonly tokens: Record<string, unknown> = {};
  readonly #served = new Map<string, boolean>();
  #unique = 0;

  constructor(cp: TestControlPlane) {
    this.cp = cp;
  }

  /** `$name` within a value, at any depth. */
  fill(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((one) => this.fill(one));
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, this.fill(one)]));
    }
    if (typeof value !== 'string') return value;
    const whole = /^\$(\w+)$/.exec(value)?.[1];
    if (whole !== undefined) return this.#token(whole);
    return value.replace(/\$(\w+)/g, (_all, name: string) => String(this.#token(name)));
  }

  #token(name: string): unknown {
    if (name === 'unique') {
      this.#unique += 1;
      return this.#unique;
    }
    assert.ok(name in this.tokens, `nothing was prepared as $${name}`);
    return this.tokens[name];
  }

  leastBody(operationId: string): Json {
    const least = leastBodies[operationId];
    assert.ok(least !== undefined, `no least body is known of ${operationId}`);
    return this.fill(least) as Json;
  }

  /** True when a handler is bound to the operation. */
  async isServed(route: Route): Promise<boolean> {
    const known = this.#served.get(route.operationId);
    if (known !== undefined) return known;
    const path = route.path.replace(/\{\w+\}/g, '0');
    const { status, body } = await this.cp.api(route.method, path, undefined, {
      authorization: '',
    });
    const isServed = status !== 405 && !/^there is nothing at/.test(String(body?.message));
    this.#served.set(route.operationId, isServed);
    return isServed;
  }

  #pathOf(route: Route): string {
    return route.path.replace(/\{(\w+)\}/g, (_all, name: string) =>
      encodeURIComponent(String(this.fill(pathTokens[route.operationId]?.[name] ?? '0'))),
    );
  }

  /** Sends a body; where nothing is served yet, its schema alone decides. */
  async send(operationId: string, body: unknown): Promise<Attempt> {
    const route = routeOf(operationId);
    const shown = `${operationId} ${JSON.stringify(body)?.slice(0, 300)}`;
    if (!(await this.isServed(route))) {
      const parsed = route.body?.safeParse(body);
      assert.ok(parsed !== undefined, `${operationId} takes no body`);
      const keys = parsed.error?.issues.map((issue) => issue.path.join('.')) ?? [];
      return { accepted: parsed.success, keys, body: undefined, shown };
    }
    return this.#attempt(await this.cp.api(route.method, this.#pathOf(route), body), shown);
  }

  async query(operationId: string, parameters: Record<string, string>): Promise<Attempt> {
    const route = routeOf(operationId);
    const text = new URLSearchParams(parameters).toString();
    const path = `${this.#pathOf(route)}?${text}`;
    return this.#attempt(await this.cp.api(route.method, path), `${operationId}?${text}`);
  }

  #attempt({ status, body }: Answer, shown: string): Attempt {
    if (status < 300) return { accepted: true, keys: [], body, shown };
    assert.equal(status, 400, `${shown}: ${JSON.stringify(body)}`);
    return { accepted: false, keys: (body.attributes.keys ?? []) as string[], body, shown };
  }

  async #make(token: string, path: string, body: unknown, field = 'id'): Promise<void> {
    const answer = await this.cp.api('POST', path, this.fill(body));
    assert.equal(answer.status, 201, `${path}: ${JSON.stringify(answer.body)}`);
    this.tokens[token] = answer.body[field];
  }

  /** One of everything that rows refer to. */
  async prepare(): Promise<void> {
    const { cp, tokens } = this;
    const certificate = await selfSigned({ host: 'a.example', validForDays: 1 });
    Object.assign(tokens, {
      accountId: cp.accountId,
      apiKey: cp.apiKey,
      cert: certificate.cert,
      key: certificate.key,
      cardId: randomUUID(),
    });
    await this.#make('groupId', '/v2/check-groups', { name: 'group' });
    await this.#make('snippetId', '/v1/snippets', { name: 'snippet', script: 'let a' });
    await this.#make('channelId', '/v1/alert-channels', {
      type: 'EMAIL',
      config: { address: 'a@a.example' },
    });
    const location = { name: 'a', slugName: 'cellar' };
    await this.#make('slug', '/v1/private-locations', location, 'slugName');
    await this.#make('urlId', '/v1/checks/url', leastBodies['createURLMonitor']);
    await this.#make('browserId', '/v1/checks/browser', leastBodies['createBrowserCheck']);
    await this.#make('tcpId', '/v1/checks/tcp', {
      name: 'a',
      request: { hostname: 'a.example', port: 1 },
    });
    await this.#prepareErrorGroup();
    if (await this.isServed(routeOf('createService'))) {
      await this.#make('serviceId', '/v1/status-pages/services', { name: 'shop' });
      await this.#make('pageId', '/v1/status-pages', leastBodies['createStatusPage']);
      await this.#make('incidentId', '/v1/status-pages/incidents', {
        ...leastBodies['updateIncident'],
        incidentUpdates: [{ description: 'we look into it' }],
      });
    } else {
      for (const name of ['serviceId', 'pageId', 'incidentId']) tokens[name] = randomUUID();
      await cp.controlPlane.services.db
        .insertInto('services')
        .values({
          id: String(tokens['serviceId']),
          account_id: cp.accountId,
          name: 'shop',
          created_at: 1,
          updated_at: null,
        })
        .execute();
    }
  }

  /** Groups are filled by scripted checks only, so this one is put into the database. */
  async #prepareErrorGroup(): Promise<void> {
    const id = randomUUID();
    await this.cp.controlPlane.services.db
      .insertInto('error_groups')
      .values({
        id,
        account_id: this.cp.accountId,
        check_id: String(this.tokens['urlId']),
        error_hash: 'h',
        raw_message: 'raw',
        cleaned_message: 'cleaned',
        first_seen_at: 1,
        last_seen_at: 2,
        archived_until_next_event: 0,
        archived_for_ever: 0,
      })
      .execute();
    this.tokens['errorGroupId'] = id;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cp[Symbol.asyncDispose]();
  }
}

export async function startProber(): Promise<ApiProber> {
  const prober = new ApiProber(await startTestControlPlane({ requestsPerMinute: 0 }));
  try {
    await prober.prepare();
    return prober;
  } catch (error) {
    await prober[Symbol.asyncDispose]();
    throw error;
  }
}

const isEmptyArray = (value: unknown) => Array.isArray(value) && value.length === 0;

/** A value at a place of a body; what is missing on the way comes from `containers`. */
export function placed(
  body: Json,
  at: string,
  value: unknown,
  containers: (at: string) => unknown,
): Json {
  const segments = segmentsOf(at);
  const last = segments.pop() ?? '';
  let holder = body as Record<string | number, unknown>;
  let place = '';
  for (const segment of segments) {
    const key = segment === '[]' ? 0 : segment;
    place = segment === '[]' ? `${place}[]` : place === '' ? segment : `${place}.${segment}`;
    // An empty array is filled as one that is absent.
    if (segment !== '[]' && (holder[key] == null || isEmptyArray(holder[key]))) {
      holder[key] = structuredClone(containers(place));
    }
    assert.ok(typeof holder[key] === 'object' && holder[key] !== null, `no sample of ${place}`);
    holder = holder[key] as Record<string | number, unknown>;
  }
  if (value === undefined) Reflect.deleteProperty(holder, last);
  else holder[last] = value;
  return body;
}

export function valueAt(body: unknown, at: string): unknown {
  let found = body;
  for (const segment of segmentsOf(at)) {
    found = (found as Record<string | number, unknown> | null | undefined)?.[
      segment === '[]' ? 0 : segment
    ];
  }
  return found;
}
