/** A control plane with checks, and results handed in as agents do or put into the database. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import { encodePayload } from '../../control-plane/db/columns.ts';
import { addToInbox } from '../../control-plane/results/roll-up-inbox.ts';
import { startTestControlPlane, type TestControlPlane } from './control-plane.ts';
import { TestClock } from './test-clock.ts';
import { withLeases } from './leased-runs.ts';
import { resultOf } from './fake-agent.ts';
import { nothingSeen } from './plain.ts';
import { resultRow, runRow } from './result-rows.ts';

export const minute = 60_000;
export const hour = 60 * minute;
/** A Saturday. */
export const now = Date.parse('2026-11-21T12:00:00Z');
export const unix = (instant: number): number => instant / 1000;
export const iso = (instant: number): string => new Date(instant).toISOString();

type Fields = Partial<ResultSubmission> & { response?: unknown };

const requests: Record<string, unknown> = {
  url: { url: 'https://a.example' },
  tcp: { hostname: 'a.example', port: 80 },
  dns: { query: 'a.example', recordType: 'A' },
  icmp: { hostname: 'a.example' },
};

export class Bench {
  readonly clock: TestClock;
  readonly cp: TestControlPlane;
  readonly #keys = new Map<string, string>();

  constructor(clock: TestClock, cp: TestControlPlane) {
    this.clock = clock;
    this.cp = cp;
  }

  async check(path: string, fields: Record<string, unknown> = {}): Promise<string> {
    const { status, body } = await this.cp.api('POST', `/v1/checks/${path}`, {
      name: path,
      locations: ['eu-west-1', 'us-east-1'],
      frequency: 1,
      request: requests[path],
      ...fields,
    });
    assert.equal(status, 201, JSON.stringify(body));
    return body.id as string;
  }

  /** A result as an agent of its location makes it. */
  result(checkId: string, checkType: string, at: number, fields: Fields = {}): ResultSubmission {
    const { response, ...given } = fields;
    const location = fields.runLocation ?? 'eu-west-1';
    return resultOf(checkId, {
      ...{ checkType, scheduledFor: at, slotLocation: location, runLocation: location },
      ...{ startedAt: at, stoppedAt: at + 20, responseTime: 20 },
      apiCheckResult:
        response === undefined
          ? null
          : { ...nothingSeen, response: response as Record<string, unknown> | null },
      ...given,
    });
  }

  /** Hands in one result as an agent of its location does. */
  async submit(checkId: string, checkType: string, at: number, fields: Fields = {}): Promise<void> {
    await this.submitAll([this.result(checkId, checkType, at, fields)]);
  }

  /** Hands in results of one location together, as an agent does that was cut off. */
  async submitAll(
    items: readonly ResultSubmission[],
    expected = /^(accepted|late)$/,
  ): Promise<void> {
    const location = items[0]?.runLocation ?? 'eu-west-1';
    const key = this.#keys.get(location) ?? (await this.cp.locationKey(location));
    this.#keys.set(location, key);
    const { controlPlane, accountId } = this.cp;
    const leased = await withLeases(controlPlane.services, accountId, items);
    const { body } = await this.cp.api(
      'POST',
      '/v1/agent/results',
      { agentId: randomUUID(), items: leased },
      { authorization: `Bearer ${key}` },
    );
    for (const { outcome } of body.items) {
      assert.match(outcome as string, expected, JSON.stringify(body));
    }
  }

  async get(path: string) {
    const answer = await this.cp.api('GET', `/v1/${path}`);
    assert.equal(answer.status, 200, `${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** What a refusal says is wrong. */
  async refused(path: string): Promise<string[]> {
    const { status, body } = await this.cp.api('GET', `/v1/${path}`);
    assert.equal(status, 400, path);
    return body.attributes.keys as string[];
  }
}

export async function setUp(
  options: { settings?: Record<string, string>; requestsPerMinute?: number } = {},
): Promise<Bench & AsyncDisposable> {
  const clock = new TestClock(now);
  const cp = await startTestControlPlane({ clock, ...options });
  return Object.assign(new Bench(clock, cp), {
    [Symbol.asyncDispose]: () => cp[Symbol.asyncDispose](),
  });
}

function http(status: number, [wait, dns, tcp, firstByte, download]: readonly number[]) {
  return { status, timingPhases: { wait, dns, tcp, firstByte, download, total: 1 } };
}

/** Five runs in three hours, one of them failed; and four results that must not count. */
export async function fiveRuns(bench: Bench): Promise<string> {
  const id = await bench.check('url', { tags: ['shop'], muted: true });
  const runs: [hoursAgo: number, Fields][] = [
    [2.9, { responseTime: 100, response: http(200, [0, 1, 2, 3, 4.0004]) }],
    [2.8, { responseTime: 200, response: http(200, [0, 3, 4, 5, 6.5]) }],
    [1.5, { responseTime: 300, response: http(204, [0, 5, 6, 7, 8]), runLocation: 'us-east-1' }],
    [1.4, { responseTime: 400, response: http(200, [0, 7, 8, 9, 10]) }],
    [0.5, { responseTime: 1000, response: null, hasFailures: true, attempt: 2 }],
    [0.5, { resultType: 'ATTEMPT', responseTime: 7777, hasFailures: true, attempt: 1 }],
    [0.4, { responseTime: 9999, hasErrors: true }],
    [2.9, { responseTime: 5555, hasFailures: true, attempt: 3 }],
    [25, { responseTime: 3333, hasFailures: true, response: http(500, [9, 9, 9, 9, 9]) }],
  ];
  const inOrder = runs.toSorted(([, a], [, b]) => (a.attempt ?? 1) - (b.attempt ?? 1));
  for (const [hoursAgo, fields] of inOrder) {
    await bench.submit(id, 'URL', now - hoursAgo * hour, fields);
  }
  return id;
}

/** Puts results into the database, for types that agents do not run yet and for large numbers. */
export async function insertResults(
  bench: Bench,
  checkId: string,
  type: string,
  results: readonly {
    at: number;
    responseTime: number;
    hasFailures?: boolean;
    payload?: unknown;
  }[],
): Promise<void> {
  const { db } = bench.cp.controlPlane.services;
  const owner = { accountId: bench.cp.accountId, checkId };
  const run = await db
    .insertInto('check_runs')
    .values(runRow(owner, now))
    .returning('id')
    .executeTakeFirstOrThrow();
  for (let start = 0; start < results.length; start += 1_000) {
    const part = results.slice(start, start + 1_000);
    const stored = await db
      .insertInto('check_results')
      .values(
        part.map(({ at, responseTime, hasFailures = false }) =>
          resultRow(owner, run.id, at, {
            ...{ check_type: type, response_time_ms: responseTime },
            has_failures: hasFailures ? 1 : 0,
          }),
        ),
      )
      .returning('seq')
      .execute();
    const waiting = stored.map(({ seq }) => ({
      seq,
      runDay: 0,
      checkId,
      occasion: 'finals' as const,
    }));
    await addToInbox(db, waiting, now);
    for (const [index, { payload }] of part.entries()) {
      const result_seq = stored[index]?.seq;
      if (payload === undefined || result_seq === undefined) continue;
      await db
        .insertInto('result_payloads')
        .values({ result_seq, ...encodePayload(payload) })
        .execute();
    }
  }
}

/** Of the alerts there are, in their order. */
export async function alertTypes(bench: Bench): Promise<string[]> {
  const rows = await bench.cp.controlPlane.services.db
    .selectFrom('check_alerts')
    .select('alert_type')
    .orderBy('seq')
    .execute();
  return rows.map(({ alert_type }) => alert_type);
}
