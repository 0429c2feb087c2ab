/** What open consoles are told, at `/console/events`. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { KeyStore } from '../../../control-plane/accounts/keys/store.ts';
import {
  passTime,
  startTestControlPlane,
  type TestControlPlane,
} from '../../support/control-plane.ts';
import { FakeAgent } from '../../support/fake-agent.ts';
import { Browser } from '../../support/people.ts';
import { createTestDatabase, runsOnPostgres } from '../../support/postgres.ts';
import { iso, minute, now, setUp } from '../../support/results.ts';
import { TestClock } from '../../support/test-clock.ts';

/** A console that has signed in with a key, and listens. */
class Listening implements AsyncDisposable {
  readonly #reader: ReadableStreamDefaultReader<string>;
  #rest = '';

  private constructor(body: ReadableStream<Uint8Array<ArrayBuffer>>) {
    this.#reader = body.pipeThrough(new TextDecoderStream()).getReader();
  }

  static async open(cp: TestControlPlane, cookie: string): Promise<Listening> {
    const answer = await fetch(`${cp.url}/console/events`, {
      headers: { cookie, 'x-console': '1' },
    });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'text/event-stream');
    assert.ok(answer.body);
    return new Listening(answer.body);
  }

  /** The next event, without heartbeats; null when the stream has ended. */
  async next(): Promise<string | null> {
    for (;;) {
      const [text, ...more] = this.#rest.split('\n\n');
      if (more.length > 0) {
        this.#rest = more.join('\n\n');
        if (text !== ':') return text?.replace('event: ', '').replace('\ndata:', '') ?? '';
      } else {
        const { done, value } = await this.#reader.read();
        if (done) return null;
        this.#rest += value;
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader.cancel();
  }
}

async function signIn(cp: TestControlPlane, key = cp.apiKey): Promise<Browser> {
  const browser = new Browser(cp);
  assert.equal((await browser.send('POST', '/console/session', { key })).status, 204);
  return browser;
}

test('HEAD has the headers of the stream and an end', async () => {
  await using cp = await startTestControlPlane();
  const { cookie } = await signIn(cp);
  const answer = await fetch(`${cp.url}/console/events`, {
    ...{ method: 'HEAD', signal: AbortSignal.timeout(20_000) },
    headers: { cookie, 'x-console': '1' },
  });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('content-type'), 'text/event-stream');
  const stranger = await fetch(`${cp.url}/console/events`, { method: 'HEAD' });
  assert.equal(stranger.status, 401);
});

test('however many sessions end at once, one look at the open consoles follows the one that goes on', async (t) => {
  await using cp = await startTestControlPlane();
  const { cookie } = await signIn(cp);
  await using stream = await Listening.open(cp, cookie);
  let looks = 0;
  const { findSession } = KeyStore.prototype;
  const first = Promise.withResolvers<undefined>();
  t.mock.method(KeyStore.prototype, 'findSession', async function (this: KeyStore, hash: string) {
    looks += 1;
    if (looks === 1) await first.promise;
    return findSession.call(this, hash);
  });
  const names = Array.from({ length: 20 }, (_, index) => `key ${index}`);
  const keys = await Promise.all(names.map((name) => cp.api('POST', '/v1/api-keys', { name })));
  await Promise.all(keys.map(({ body: { id } }) => cp.api('DELETE', `/v1/api-keys/${id}`)));
  first.resolve(undefined);
  await cp.api('POST', '/v1/snippets', { name: 'a', script: 'true' });
  while ((await stream.next()) !== 'change snippets');
  assert.ok(looks > 0 && looks <= 2, `${looks} looks`);
});

test('a change is announced at once to the consoles of its account, and no more than once a second', async () => {
  await using bench = await setUp();
  const { cp, clock } = bench;
  const { cookie } = await signIn(cp);
  await using one = await Listening.open(cp, cookie);
  const foreignKey = await cp.foreignKey();
  await using foreign = await Listening.open(cp, (await signIn(cp, foreignKey)).cookie);
  const id = await bench.check('url');
  assert.equal(await one.next(), 'change checks');
  const asked = [
    await cp.api('PUT', `/v1/checks/${id}`, { name: 'b' }),
    await cp.api('POST', '/v1/analytics/checks', { checkIds: [id] }),
    await cp.api('PUT', `/v1/checks/${id}`, { name: 'c' }),
    await cp.api('POST', '/v1/snippets', { name: 'a', script: 'true' }),
  ];
  assert.deepEqual(
    asked.map(({ status }) => status),
    [200, 200, 200, 201],
  );
  assert.equal(await one.next(), 'change snippets', 'nor what only reads');
  await passTime(clock, 1_000);
  assert.equal(await one.next(), 'change checks');
  await cp.api(
    'POST',
    '/v1/snippets',
    { name: 'own', script: '1' },
    {
      authorization: `Bearer ${foreignKey}`,
    },
  );
  assert.equal(await foreign.next(), 'change snippets', 'and nothing of the other account');
});

test('results name the checks whose state changed, and come together', async () => {
  await using bench = await setUp();
  const { cp, clock } = bench;
  const [one, other] = [await bench.check('url'), await bench.check('url')];
  await using console = await Listening.open(cp, (await signIn(cp)).cookie);
  await bench.submit(one, 'URL', now - 9 * minute);
  await bench.submit(other, 'URL', now - 9 * minute, { hasFailures: true });
  await passTime(clock, 1_000);
  const first = await console.next();
  assert.deepEqual(first?.split(' ').slice(1).sort(), [one, other].sort());
  await bench.submit(one, 'URL', now - 8 * minute);
  await passTime(clock, 1_000);
  await bench.submit(other, 'URL', now - 8 * minute);
  await passTime(clock, 1_000);
  assert.equal(await console.next(), `results ${other}`);
});

test('maintenance that begins, and a location that is served again, are announced', async () => {
  await using bench = await setUp();
  const { cp, clock } = bench;
  const planned = await cp.api('POST', '/v1/maintenance-windows', {
    ...{ name: 'soon', tags: ['a'], repeatUnit: null },
    startsAt: iso(now + 40_000),
    endsAt: iso(now + 10 * minute),
  });
  assert.equal(planned.status, 201, JSON.stringify(planned.body));
  await using console = await Listening.open(cp, (await signIn(cp)).cookie);
  for (let second = 0; second < 61; second += 1) {
    await passTime(clock, 1_000);
    await cp.api('GET', '/v1/users/me');
  }
  const until = async (wanted: string) => {
    for (let event = await console.next(); event !== wanted; event = await console.next()) {
      assert.match(event ?? 'the end', /^results/);
    }
  };
  await until('change maintenance-windows');
  const key = await cp.locationKey('eu-west-1');
  await new FakeAgent(cp, key).checkIn();
  await passTime(clock, 1_000);
  await until('change agents');
});

test('a stream needs a session and the header, ends with the session, and there are not too many', async () => {
  await using cp = await startTestControlPlane({ clock: new TestClock(now) });
  const browser = await signIn(cp);
  const { cookie } = browser;
  const ask = (headers: Record<string, string>) => fetch(`${cp.url}/console/events`, { headers });
  assert.equal((await ask({ cookie })).status, 401);
  assert.equal((await ask({ 'x-console': '1' })).status, 401);
  assert.equal(
    (await ask({ 'x-console': '1', cookie, 'sec-fetch-site': 'cross-site' })).status,
    401,
  );
  await using streams = new AsyncDisposableStack();
  const opened: Listening[] = [];
  for (let count = 0; count < 20; count += 1) {
    opened.push(streams.use(await Listening.open(cp, cookie)));
  }
  const refused = await ask({ 'x-console': '1', cookie });
  assert.equal(refused.status, 429);
  assert.equal(refused.headers.get('retry-after'), '60');
  await using other = await Listening.open(cp, (await signIn(cp)).cookie);
  assert.equal((await browser.send('DELETE', '/console/session')).status, 204);
  for (const stream of opened) assert.equal(await stream.next(), null);
  await cp.api('POST', '/v1/snippets', { name: 'a', script: 'true' });
  assert.equal(await other.next(), 'change snippets');
});

test(
  'a console hears what another replica did',
  { skip: !runsOnPostgres && 'SQLite has no replicas' },
  async () => {
    await using database = await createTestDatabase();
    const settings = { ENCRYPTION_KEY: 'a key that all replicas have, as they must' };
    await using one = await startTestControlPlane({ databaseUrl: database.url, settings });
    await using other = await startTestControlPlane({ databaseUrl: database.url, settings });
    await using console = await Listening.open(one, (await signIn(one)).cookie);
    await other.api('POST', '/v1/snippets', { name: 'a', script: 'true' });
    assert.equal(await console.next(), 'change snippets');
  },
);
