// SQLite only: requests are counted in memory.
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { allRoutes } from '@monitor/shared/contract/index.ts';
import { generalRateLimit, type RateLimit } from '@monitor/shared/contract/route.ts';
import { RateLimiter } from '../../control-plane/http/rate-limit.ts';
import { createApiKey } from '../../control-plane/accounts/keys/store.ts';
import {
  startTestControlPlane,
  type Answer,
  type TestControlPlane,
} from '../support/control-plane.ts';
import { TestClock } from '../support/test-clock.ts';
import { exampleQuery, kindsOfParams, pathOf } from '../support/world.ts';

const now = Date.parse('2026-11-21T12:00:00Z');

async function setUp(requestsPerMinute?: number) {
  const clock = new TestClock(now);
  const limit = requestsPerMinute === undefined ? {} : { requestsPerMinute };
  const cp = await startTestControlPlane({ clock, ...limit });
  return { clock, cp, [Symbol.asyncDispose]: () => cp[Symbol.asyncDispose]() };
}

const limitHeaders = [
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'ratelimit-policy',
];

function limitsOf(answer: Answer): (string | null)[] {
  return limitHeaders.map((name) => answer.headers.get(name));
}

function assertLimited(answer: Answer, seconds: number): void {
  assert.equal(answer.status, 429);
  assert.equal(answer.headers.get('retry-after'), String(seconds));
  assert.equal(answer.headers.get('ratelimit-remaining'), '0');
  const { error, message, attributes } = answer.body as {
    error: string;
    message: string;
    attributes: Record<string, unknown>;
  };
  assert.equal(error, 'Too Many Requests');
  assert.equal(attributes['code'], 'TOO_MANY_REQUESTS');
  assert.equal(attributes['retryAfterSeconds'], seconds);
  assert.match(message, new RegExp(`try again in ${seconds} seconds$`));
}

async function otherKey({
  controlPlane,
  accountId,
}: TestControlPlane): Promise<Record<string, string>> {
  const { rawKey } = await createApiKey(controlPlane.services, accountId, { name: 'other' });
  return { authorization: `Bearer ${rawKey}` };
}

async function times(count: number, call: () => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let each = 0; each < count; each += 1) answers.push(await call());
  return answers;
}

test('a key makes so many requests a minute, whatever it asks for; another key is not held up', async () => {
  assert.deepEqual(generalRateLimit, { requests: 600, seconds: 60 });
  {
    await using usual = await setUp();
    const { headers } = await usual.cp.api('GET', '/v1/accounts/me');
    assert.equal(headers.get('ratelimit-policy'), '600;w=60');
  }
  const requests = 60;
  await using stage = await setUp(requests);
  const { clock, cp } = stage;
  const first = await cp.api('GET', '/v1/accounts/me');
  assert.deepEqual(limitsOf(first), ['60', '59', '60', '60;w=60']);
  clock.advance(10_000);
  // Refused requests count as much as others: it is they that a broken client repeats.
  assert.equal((await cp.api('GET', '/v1/snippets/1')).status, 404);
  assert.equal((await cp.api('POST', '/v1/snippets', {})).status, 400);
  await times(requests - 4, () => cp.api('GET', '/v1/users/me'));
  const last = await cp.api('GET', '/v1/users/me');
  assert.deepEqual([last.status, ...limitsOf(last)], [200, '60', '0', '50', '60;w=60']);
  assertLimited(await cp.api('GET', '/v1/users/me'), 50);
  assertLimited(await cp.api('POST', '/v1/snippets', { name: 'x', script: 'x' }), 50);

  const other = await otherKey(cp);
  const free = await cp.api('GET', '/v1/users/me', undefined, other);
  assert.deepEqual([free.status, free.headers.get('ratelimit-remaining')], [200, '59']);

  clock.advance(49_999);
  assertLimited(await cp.api('GET', '/v1/users/me'), 1);
  clock.advance(1);
  // The first of them has left the window, and only that one.
  assert.equal((await cp.api('GET', '/v1/users/me')).status, 200);
  assertLimited(await cp.api('GET', '/v1/users/me'), 10);
  const list = (await cp.api('GET', '/v1/snippets', undefined, other)).body as unknown[];
  assert.deepEqual(list, [], 'what was refused was not carried out');
});

test('every operation with a limit of its own keeps to it, apart from the general one', async (t) => {
  await using stage = await setUp();
  const { cp, clock } = stage;
  const limited = allRoutes.filter((route) => route.rateLimit !== undefined);
  assert.deepEqual(
    limited.find(({ operationId }) => operationId === 'listAlertNotifications')?.rateLimit,
    { requests: 5, seconds: 10 },
  );
  const other = await otherKey(cp);
  for (const route of limited) {
    const { requests, seconds } = route.rateLimit as RateLimit;
    const params = Object.fromEntries([...kindsOfParams(route).keys()].map((name) => [name, 'x']));
    const query = new URLSearchParams(exampleQuery(route, now)).toString();
    const ask = (headers: Record<string, string> = {}) =>
      cp.api(
        route.method,
        `${pathOf(route, params)}?${query}`,
        route.body === undefined ? undefined : {},
        headers,
      );
    if (/there is nothing at/.test(String((await ask(other)).body?.message))) {
      // No handler yet; the authorization test insists on one.
      continue;
    }
    const answers = await times(requests, () => ask());
    assert.deepEqual(
      answers.map((answer) => answer.headers.get('ratelimit-remaining')),
      Array.from({ length: requests }, (_each, index) => String(requests - 1 - index)),
      route.operationId,
    );
    assert.ok(
      answers.every(({ status }) => status !== 429),
      route.operationId,
    );
    const policy = `${requests};w=${seconds}`;
    assert.equal(answers[0]?.headers.get('ratelimit-policy'), policy);
    assertLimited(await ask(), seconds);
    assert.notEqual((await ask(other)).status, 429, route.operationId);
    // The general limit was not touched by any of it.
    const general = await cp.api('GET', '/v1/users/me');
    assert.equal(general.headers.get('ratelimit-remaining'), '599', route.operationId);
    clock.advance(seconds * 1000 - 1);
    assertLimited(await ask(), 1);
    clock.advance(1);
    assert.notEqual((await ask()).status, 429, route.operationId);
    clock.advance(86_400_000);
  }
  t.diagnostic(`${limited.length} operations`);
});

test('what needs no key has no limit of a key, and with REQUESTS_PER_MINUTE=0 nothing has', async () => {
  await using stage = await setUp(60);
  const open = await times(70, () => stage.cp.api('GET', '/v1/locations'));
  assert.ok(
    open.every((answer) => answer.status === 200 && limitsOf(answer).every((one) => one === null)),
  );

  await using unlimited = await startTestControlPlane({ requestsPerMinute: 0 });
  const answers = await times(20, () => unlimited.api('GET', '/v1/alert-notifications'));
  assert.ok(answers.every((answer) => answer.status === 200 && limitsOf(answer)[0] === null));
});

test('a key without rights is limited all the same; invalid keys are limited by address and do not affect others', async () => {
  await using stage = await setUp(60);
  const { cp } = stage;
  const { rawKey } = await createApiKey(cp.controlPlane.services, cp.accountId, {
    name: 'reader',
    role: 'READ_ONLY',
  });
  const asReader = { authorization: `Bearer ${rawKey}` };
  const forbidden = await times(60, () => cp.api('POST', '/v1/snippets', {}, asReader));
  assert.ok(forbidden.every(({ status }) => status === 403));
  assertLimited(await cp.api('POST', '/v1/snippets', {}, asReader), 60);
  const garbage = { authorization: `Bearer cu_${'0'.repeat(64)}` };
  const refused = await times(60, () => cp.api('GET', '/v1/users/me', undefined, garbage));
  assert.ok(refused.every((answer) => answer.status === 401 && limitsOf(answer)[0] === null));
  const { status, headers } = await cp.api('GET', '/v1/users/me', undefined, garbage);
  assert.deepEqual([status, headers.get('retry-after')], [429, '60']);
  assert.equal((await cp.api('GET', '/v1/users/me')).status, 200);
});

/** The plainest thing that is right: every request that passed, looked through from the start. */
class NaiveLimiter {
  readonly #passed: { key: string; at: number }[] = [];

  take(key: string, limit: RateLimit, at: number) {
    const windowMs = limit.seconds * 1000;
    const inWindow = () => this.#passed.filter((one) => one.key === key && one.at > at - windowMs);
    const isAllowed = inWindow().length < limit.requests;
    if (isAllowed) this.#passed.push({ key, at });
    const counted = inWindow();
    return {
      isAllowed,
      remaining: limit.requests - counted.length,
      resetMs: (counted[0]?.at ?? 0) + windowMs - at,
    };
  }

  /** Most requests of a key in any window: one that ends at each of them suffices. */
  most(key: string, windowMs: number): number {
    const ofKey = this.#passed.filter((one) => one.key === key);
    return Math.max(
      0,
      ...ofKey.map(
        (last) => ofKey.filter(({ at }) => at <= last.at && at > last.at - windowMs).length,
      ),
    );
  }
}

test('the limiter decides as a naive one does, and no window ever holds more than the limit', () => {
  const keys = ['a', 'b', 'c'];
  fc.assert(
    fc.property(
      fc.record({
        requests: fc.integer({ min: 1, max: 40 }),
        seconds: fc.integer({ min: 1, max: 5 }),
      }),
      fc.array(
        fc.record({
          key: fc.constantFrom(...keys),
          // Mostly bursts; sometimes a pause about as long as a window, or exactly as long.
          pauseMs: fc.oneof(
            { weight: 6, arbitrary: fc.constantFrom(0, 0, 1, 10) },
            { weight: 1, arbitrary: fc.integer({ min: 0, max: 6_000 }) },
            { weight: 1, arbitrary: fc.constantFrom(999, 1000, 1001, 5000) },
          ),
          burst: fc.integer({ min: 1, max: 30 }),
        }),
        { minLength: 1, maxLength: 40 },
      ),
      (limit, steps) => {
        let at = 0;
        const limiter = new RateLimiter(() => at);
        const naive = new NaiveLimiter();
        for (const { key, pauseMs, burst } of steps) {
          at += pauseMs;
          for (let each = 0; each < burst; each += 1) {
            const decision = limiter.take(key, limit);
            assert.deepEqual(decision, { ...naive.take(key, limit, at), limit: { ...limit } });
          }
        }
        for (const key of keys) {
          assert.ok(naive.most(key, limit.seconds * 1000) <= limit.requests);
        }
      },
    ),
    { numRuns: 300 },
  );
});

test('a replica gives its share of a limit, and at least one request', () => {
  let share = 1 / 3;
  const limiter = new RateLimiter(
    () => 0,
    () => share,
  );
  const limit = { requests: 60, seconds: 60 };
  const taken = Array.from({ length: 25 }, () => limiter.take('key', limit));
  assert.equal(taken.filter(({ isAllowed }) => isAllowed).length, 20);
  assert.deepEqual(taken[0]?.limit, { requests: 20, seconds: 60 });
  share = 1;
  assert.equal(limiter.take('key', limit).remaining, 39, 'the others are gone');
  share = 1 / 4;
  assert.deepEqual(
    [limiter.take('key', limit).isAllowed, limiter.take('key', limit).remaining],
    [false, 0],
  );
  assert.equal(limiter.take('rare', { requests: 1, seconds: 60 }).isAllowed, true);
});

test('forgetting idle keys never forgets one that is within its window', () => {
  let at = 0;
  const limiter = new RateLimiter(() => at);
  const limit = { requests: 1, seconds: 60 };
  assert.equal(limiter.take('early', limit).isAllowed, true);
  at = 30_000;
  for (let key = 0; key < 10_050; key += 1) limiter.take(`busy ${key}`, limit);
  at = 59_999;
  assert.equal(limiter.take('early', limit).isAllowed, false);
  assert.equal(limiter.take('busy 0', limit).isAllowed, false);
  at = 60_000;
  limiter.take('one more', limit);
  assert.equal(limiter.take('early', limit).isAllowed, true);
});
