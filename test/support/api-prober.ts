/** Tries bodies and queries on a control plane, one field changed at a time. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Route } from '@monitor/shared/contract/route.ts';
import type { KeyAndCertificate } from './certificates.ts';
import { startTestControlPlane, type Answer, type TestControlPlane } from './control-plane.ts';
import { routeOf, segmentsOf } from './published-schema.ts';
import { buildWorld, certificatePair, kindsOfParams, pathOf, type World } from './world.ts';

type Json = Record<string, unknown>;

/** The least that each operation accepts. `$name` stands for one of the tokens. */
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

export interface Attempt {
  accepted: boolean;
  /** Fields a refusal names. */
  keys: string[];
  body: unknown;
  shown: string;
}

export class ApiProber implements AsyncDisposable {
  readonly cp: TestControlPlane;
  /** What rows refer to. */
  readonly tokens: Readonly<Record<string, unknown>>;
  readonly #ids: World['ids'];
  #unique = 0;

  constructor(cp: TestControlPlane, { ids }: World, { cert, key }: KeyAndCertificate) {
    this.cp = cp;
    this.#ids = ids;
    this.tokens = {
      ...{ accountId: cp.accountId, apiKey: cp.apiKey, cert, key, cardId: randomUUID() },
      ...{ groupId: ids.group[0], snippetId: ids.snippet[0], channelId: ids.alertChannel[0] },
      ...{ slug: ids.slug[0], urlId: ids.groupedCheck[0], browserId: ids['check:BROWSER'][0] },
      ...{ tcpId: ids['check:TCP'][0], errorGroupId: ids.errorGroup[0] },
      ...{ serviceId: ids.service[0], pageId: ids.statusPage[0], incidentId: ids.incident[0] },
    };
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
    assert.ok(name in this.tokens, `there is no token $${name}`);
    return this.tokens[name];
  }

  leastBody(operationId: string): Json {
    const least = leastBodies[operationId];
    assert.ok(least !== undefined, `no least body is known of ${operationId}`);
    return this.fill(least) as Json;
  }

  #pathOf(route: Route): string {
    const params = [...kindsOfParams(route)].map(([name, kind]) => [name, this.#ids[kind][0]]);
    return pathOf(route, Object.fromEntries(params) as Record<string, unknown>);
  }

  async send(operationId: string, body: unknown): Promise<Attempt> {
    const route = routeOf(operationId);
    const shown = `${operationId} ${JSON.stringify(body)?.slice(0, 300)}`;
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cp[Symbol.asyncDispose]();
  }
}

export async function startProber(): Promise<ApiProber> {
  const cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const target = { url: cp.url, key: cp.apiKey };
  const world = await buildWorld(cp.controlPlane.services, target, cp.accountId, 'probed');
  return new ApiProber(cp, world, await certificatePair());
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
