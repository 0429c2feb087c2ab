/** C3: a domain of a status page is served to whoever proves that it is theirs, and to nobody else. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import test from 'node:test';
import type { DomainResolver } from '../../control-plane/status-pages/status-page-domains.ts';
import { verifyDomains } from '../../control-plane/status-pages/verify-domains.ts';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import { TestClock } from '../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00.000Z');
const domain = 'status.shop.example';

/** Records that a test puts there; a name with none of them has no record. */
class Zone implements DomainResolver {
  readonly texts = new Map<string, string[]>();
  readonly targets = new Map<string, string[]>();
  isDown = false;

  txt = (name: string) => this.#read(this.texts, name);
  cname = (name: string) => this.#read(this.targets, name);

  #read(records: ReadonlyMap<string, string[]>, name: string): Promise<string[]> {
    if (this.isDown) return Promise.reject(new Error('SERVFAIL'));
    return Promise.resolve(records.get(name) ?? []);
  }
}

class Bench implements AsyncDisposable {
  readonly cp: TestControlPlane;
  readonly clock: TestClock;
  readonly zone: Zone;
  /** Of an account that wants what belongs to another. */
  readonly squatter: Record<string, string>;

  private constructor(cp: TestControlPlane, clock: TestClock, zone: Zone, key: string) {
    this.cp = cp;
    this.clock = clock;
    this.zone = zone;
    this.squatter = { authorization: `Bearer ${key}` };
  }

  static async open(settings: Record<string, string> = {}): Promise<Bench> {
    const clock = new TestClock(start);
    const zone = new Zone();
    const cp = await startTestControlPlane({
      clock,
      resolver: zone,
      settings: { PUBLIC_URL: 'https://monitor.example', ...settings },
    });
    return new Bench(cp, clock, zone, await cp.foreignKey());
  }

  async claim(url: string, headers: Record<string, string> = {}, customDomain = domain) {
    const body = { name: url, url, cards: [], customDomain };
    const answer = await this.cp.api('POST', '/v1/status-pages', body, headers);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body;
  }

  prove({
    customDomainChallenge: { name, txt },
  }: {
    customDomainChallenge: Record<string, string>;
  }) {
    this.zone.texts.set(name ?? '', ['v=spf1 -all', txt ?? '']);
  }

  async verify({ id }: { id: string }, headers: Record<string, string> = {}): Promise<string> {
    const path = `/v1/status-pages/${id}/custom-domain/verify`;
    const answer = await this.cp.api('POST', path, undefined, headers);
    assert.equal(answer.status, 200);
    return answer.body.customDomainStatus;
  }

  /** What a host shows at a path. */
  ask(path: string, host = domain, method = 'GET'): Promise<{ status: number; body: string }> {
    return new Promise((resolve, reject) => {
      request(this.cp.url, { path, method, headers: { host, accept: 'text/html' } }, (response) => {
        text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
      })
        .once('error', reject)
        .end();
    });
  }

  /** The name of the page that the domain shows; null for none. */
  async shown(): Promise<string | null> {
    this.clock.advance(1_001);
    const { status, body } = await this.ask('/');
    return status === 200 ? (/(\w+)<\/title>/.exec(body)?.[1] ?? null) : null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cp[Symbol.asyncDispose]();
  }
}

test('a domain without a proof is not served, and takes nothing from anybody', async () => {
  await using bench = await Bench.open();
  const page = await bench.claim('stolen', bench.squatter);
  assert.equal(page.customDomainStatus, 'PENDING');
  assert.equal(await bench.verify(page, bench.squatter), 'PENDING');
  assert.equal(await bench.shown(), null);
  const { body: heartbeat } = await bench.cp.api('POST', '/v1/checks/heartbeat', {
    name: 'backup',
    heartbeat: { period: 1, periodUnit: 'hours', grace: 1, graceUnit: 'hours' },
  });
  const ping = new URL(heartbeat.heartbeat.pingUrl).pathname;
  assert.equal((await bench.ask(ping)).status, 200);
  assert.equal((await bench.ask('/console/')).status, 200);
  assert.equal((await bench.ask('/health')).status, 200);
});

test('the true owner proves the domain by TXT, even if another account asked first', async () => {
  await using bench = await Bench.open();
  await bench.claim('stolen', bench.squatter);
  const page = await bench.claim('Shop');
  assert.deepEqual(page.customDomainChallenge.name, `_monitor-challenge.${domain}`);
  bench.prove(page);
  assert.equal(await bench.verify(page), 'VERIFIED');
  assert.equal(await bench.shown(), 'Shop');
  for (const path of [
    '/console/',
    '/docs',
    '/guide/',
    '/openapi.json',
    '/v1/checks',
    '/trace-viewer/',
  ]) {
    assert.equal((await bench.ask(path)).status, 404, path);
  }
  assert.equal((await bench.ask('/v1/checks', 'monitor.example')).status, 401);
  const { body: heartbeat } = await bench.cp.api('POST', '/v1/checks/heartbeat', {
    name: 'backup',
    heartbeat: { period: 1, periodUnit: 'hours', grace: 1, graceUnit: 'hours' },
  });
  const ping = new URL(heartbeat.heartbeat.pingUrl).pathname;
  assert.equal((await bench.ask(ping)).status, 200, 'machines come before pages on every host');
});

test('a CNAME record to the name of the challenge is a proof too', async () => {
  await using bench = await Bench.open();
  const page = await bench.claim('Shop');
  const { name, cname } = page.customDomainChallenge;
  bench.zone.targets.set(name, ['monitor.example']);
  assert.equal(await bench.verify(page), 'PENDING');
  bench.zone.targets.set(name, [`${cname.toUpperCase()}.`]);
  assert.equal(await bench.verify(page), 'VERIFIED');
});

test('the proof of one account is none for another', async () => {
  await using bench = await Bench.open();
  const page = await bench.claim('Shop');
  bench.prove(page);
  const stolen = await bench.claim('stolen', bench.squatter);
  assert.notEqual(stolen.customDomainChallenge.txt, page.customDomainChallenge.txt);
  assert.equal(await bench.verify(stolen, bench.squatter), 'PENDING');
});

test('a domain moves to a new owner once the proof of the old one is gone, not before', async () => {
  await using bench = await Bench.open();
  const old = await bench.claim('Old');
  bench.prove(old);
  await bench.verify(old);
  const next = await bench.claim('Next', bench.squatter);
  const { name, txt } = next.customDomainChallenge;
  bench.zone.texts.set(name, [old.customDomainChallenge.txt, txt]);
  assert.equal(await bench.verify(next, bench.squatter), 'PENDING');
  assert.equal(await bench.shown(), 'Old');
  bench.zone.texts.set(name, [txt]);
  assert.equal(await bench.verify(next, bench.squatter), 'VERIFIED');
  assert.equal(await bench.shown(), 'Next');
  const { body } = await bench.cp.api('GET', `/v1/status-pages/${old.id}`);
  assert.equal(body.customDomainStatus, 'PENDING');
});

test('a proof is found by itself, and a DNS that does not answer takes no domain away', async () => {
  await using bench = await Bench.open();
  const { services } = bench.cp.controlPlane;
  const page = await bench.claim('Shop');
  await verifyDomains(services);
  bench.prove(page);
  bench.clock.advance(30_000);
  await verifyDomains(services);
  assert.equal(await bench.shown(), null);
  bench.clock.advance(60_000);
  await verifyDomains(services);
  assert.equal(await bench.shown(), 'Shop');
  bench.zone.isDown = true;
  const other = await bench.claim('stolen', bench.squatter);
  assert.equal(await bench.verify(other, bench.squatter), 'PENDING');
  assert.equal(await bench.shown(), 'Shop');
});

test('a domain that the operator lists needs no proof', async () => {
  await using bench = await Bench.open({ STATUS_PAGE_DOMAINS: '*.shop.example' });
  assert.equal((await bench.claim('Shop')).customDomainStatus, 'VERIFIED');
  assert.equal(await bench.shown(), 'Shop');
  assert.equal((await bench.claim('stolen', bench.squatter)).customDomainStatus, 'PENDING');
});

test('addresses, names of one machine and hosts of the installation are no domains of pages', async () => {
  await using bench = await Bench.open();
  for (const customDomain of [
    '127.0.0.1',
    '169.254.169.254',
    '10.0.0.0x1',
    'intranet',
    'monitor.example',
    'monitor.localhost',
  ]) {
    const body = { name: 'x', url: 'x', cards: [], customDomain };
    const answer = await bench.cp.api('POST', '/v1/status-pages', body);
    assert.equal(answer.status, 400, customDomain);
    assert.deepEqual(answer.body.attributes.keys, ['customDomain']);
  }
});
