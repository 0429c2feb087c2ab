/** A control plane for tests of its API: real HTTP, a real database, answers held to their contract. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { pino, type Logger } from 'pino';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import { startControlPlane, type ControlPlane } from '../../control-plane/app/compose.ts';
import { readConfig } from '../../control-plane/core/config.ts';
import type { Services } from '../../control-plane/core/services.ts';
import { sweepHeartbeats } from '../../control-plane/heartbeats/index.ts';
import type { DomainResolver } from '../../control-plane/status-pages/status-page-domains.ts';
import { findOrCreateAccount } from '../../control-plane/accounts/store.ts';
import { createApiKey, createLocationKey } from '../../control-plane/accounts/keys/store.ts';
import { createTestDatabase, runsOnPostgres, untilServerIsIdle } from './postgres.ts';
import { eventually } from './system.ts';
import type { TestClock } from './test-clock.ts';

export interface Answer {
  status: number;
  headers: Headers;
  // Tests look into bodies of every shape; the server has checked them against the contract.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
}

export interface TestControlPlane extends AsyncDisposable {
  controlPlane: ControlPlane;
  url: string;
  accountId: string;
  apiKey: string;
  api(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  /** A key with which to speak as an agent of a data-center location. */
  locationKey(location: string): Promise<string>;
  /** A key of another account. */
  foreignKey(): Promise<string>;
}

/** Every refusal has these four fields and no other; existing clients read one more. */
function assertErrorShape({ status, body }: Answer): void {
  const { deploymentId: _further, ...fields } = body as Record<string, unknown>;
  assert.deepEqual(Object.keys(fields).sort(), ['attributes', 'error', 'message', 'statusCode']);
  const { statusCode, attributes } = body as { statusCode: number; attributes: { code: string } };
  assert.equal(statusCode, status);
  assert.equal(typeof attributes.code, 'string');
}

/** Lets so much time pass, in steps, so that what the timers begin can end. */
export async function passTime(clock: TestClock, ms: number, stepMs = 1_000): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    clock.advance(stepMs);
    await untilServerIsIdle();
  }
}

/** Sweeps once everything is read: until then, as on a busy machine, a sweep decides nothing. */
export async function sweepOnceRead(services: Services): Promise<void> {
  await eventually(
    () => services.reception.hasReadAll(),
    () => 'all has been read',
  );
  await sweepHeartbeats(services);
}

/**
 * A line of the log about a periodic operation that fails at each turn, which no answer shows: the code or a statement
 * is wrong. A database that is away or slow is none.
 */
function isMistake(line: string): boolean {
  const { msg, err } = JSON.parse(line) as {
    msg: string;
    err?: { type: string; code?: string };
  };
  const isOfCode = /^(Type|Range|Reference|Syntax)Error$/.test(err?.type ?? '');
  // Of a statement or a name in it; PostgreSQL has a class of codes for them.
  const isOfStatement = /^(42|SQLITE_ERROR$)/.test(err?.code ?? '');
  return msg === 'operation failed' && (isOfCode || isOfStatement);
}

export async function startTestControlPlane(
  options: {
    clock?: Clock;
    file?: string;
    /** A database of a PostgreSQL that several control planes share. */
    databaseUrl?: string;
    /** A standby of it. */
    readUrl?: string;
    settings?: Record<string, string>;
    /** 0 switches all limits off. */
    requestsPerMinute?: number;
    logger?: Logger;
    resolver?: DomainResolver;
  } = {},
): Promise<TestControlPlane> {
  const { file, databaseUrl } = options;
  const isOwn = runsOnPostgres && file === undefined && databaseUrl === undefined;
  const database = isOwn ? await createTestDatabase() : null;
  const postgres = databaseUrl ?? database?.url;
  const config = readConfig({
    PORT: '0',
    DATABASE_FILE: options.file ?? ':memory:',
    CHECK_RESPONSES: 'true',
    // Nobody is paged by a test: nothing listens there.
    PAGERDUTY_EVENTS_URL: 'http://127.0.0.1:1/',
    OPSGENIE_API_URL: 'http://127.0.0.1:1/',
    ...options.settings,
    ...(options.requestsPerMinute === undefined
      ? {}
      : { REQUESTS_PER_MINUTE: String(options.requestsPerMinute) }),
  });
  const logged: string[] = [];
  const controlPlane = await startControlPlane({
    config: {
      ...config,
      ...(postgres === undefined ? {} : { DATABASE_URL: postgres }),
      ...(options.readUrl === undefined ? {} : { DATABASE_READ_URL: options.readUrl }),
    },
    logger: options.logger ?? pino({ level: 'error' }, { write: (line) => logged.push(line) }),
    clock: options.clock ?? systemClock,
    // No test asks the DNS of the machine.
    resolver: options.resolver ?? {
      txt: () => Promise.resolve([]),
      cname: () => Promise.resolve([]),
    },
  });
  const { services, url } = controlPlane;
  const accountId = await findOrCreateAccount(services);
  const { rawKey: apiKey } = await createApiKey(services, accountId, { name: 'test' });
  return {
    controlPlane,
    url,
    accountId,
    apiKey,
    async api(method, path, body, headers = {}) {
      const response = await fetch(url + path, {
        method,
        headers: {
          authorization: `Bearer ${apiKey}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined
          ? {}
          : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      const answer: Answer = {
        status: response.status,
        headers: response.headers,
        body: text === '' ? undefined : JSON.parse(text),
      };
      assert.notEqual(answer.status, 500, [text, ...logged.slice(-3)].join('\n'));
      // 503 is how a trigger says that a run failed; its body is the outcome.
      if (answer.status >= 400 && answer.status !== 503) assertErrorShape(answer);
      return answer;
    },
    async locationKey(location) {
      return (await createLocationKey(services, accountId, location, null)).rawKey;
    },
    async foreignKey() {
      const id = randomUUID();
      await services.db
        .insertInto('accounts')
        .values({ id, name: 'other', created_at: services.clock.now() })
        .execute();
      return (await createApiKey(services, id, { name: 'other' })).rawKey;
    },
    async [Symbol.asyncDispose]() {
      await controlPlane[Symbol.asyncDispose]();
      await database?.[Symbol.asyncDispose]();
      assert.deepEqual(logged.filter(isMistake), []);
    },
  };
}
