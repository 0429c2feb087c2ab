/** Results of every type, as random as agents may make them, put straight into the database. */
import { randomUUID } from 'node:crypto';
import { isPinged, type CheckType } from '@monitor/shared/contract/checks/index.ts';
import { analyticsOf } from '@monitor/shared/domain/metrics.ts';
import { encodePayload } from '../../control-plane/db/columns.ts';
import { addToInbox, occasionOf } from '../../control-plane/results/roll-up-inbox.ts';
import type { Services } from '../../control-plane/core/services.ts';
import { resultRow, runRow } from './result-rows.ts';

export interface RandomResults {
  db: Services['db'];
  accountId: string;
  random: () => number;
}

const heartbeatStates = ['FAILING', 'EARLY', 'RECEIVED', 'GRACE', 'LATE'];

/** Small, large, whole, zero. */
function value(random: () => number): number {
  const kind = random();
  if (kind < 0.1) return 0;
  if (kind < 0.25) return random() / 1000;
  if (kind < 0.3) return Math.round(random() * 1e7);
  return Math.round(Math.exp(random() * 7) * 100) / 100;
}

/** Sometimes missing, sometimes not a number. */
function maybe(random: () => number): unknown {
  const kind = random();
  if (kind < 0.05) return null;
  return kind < 0.07 ? 'soon' : value(random);
}

const vitals = ['TTFB', 'FCP', 'LCP', 'CLS', 'TBT'];

function page(random: () => number): unknown {
  return { webVitals: Object.fromEntries(vitals.map((name) => [name, { value: maybe(random) }])) };
}

const outcomes = ['expected', 'expected', 'expected', 'unexpected', 'flaky', 'skipped'];

function testsOf(random: () => number): unknown[] {
  return ['basket', 'login', 'search'].flatMap((title) =>
    ['chromium', 'firefox'].flatMap((project) =>
      random() < 0.1
        ? []
        : {
            ...{ title, project, file: `${title}.spec.ts`, retries: Math.floor(random() * 3) },
            outcome: outcomes[Math.floor(random() * outcomes.length)],
            durationMs: random() < 0.02 ? 'soon' : Math.floor(random() * 5_000),
          },
    ),
  );
}

type Nested = Record<string, unknown>;

function put(into: Nested, [key = '', ...rest]: readonly string[], given: unknown): void {
  if (rest.length === 0) into[key] = given;
  else put((into[key] ??= {}) as Nested, rest, given);
}

/** Something at every place where the type has a number, as far as there was a response at all. */
function payloadOf(type: string, random: () => number): unknown {
  if (random() < 0.1) return { response: null };
  const { metrics, groupBy } = analyticsOf[type as CheckType];
  const payload: Nested = {};
  for (const { place } of metrics) {
    if (place !== null && !place.includes('*')) put(payload, place, maybe(random));
  }
  if (groupBy.includes('pageIndex')) {
    payload['pages'] = Array.from({ length: Math.floor(random() * 4) }, () => page(random));
  }
  if (groupBy.includes('test')) payload['tests'] = testsOf(random);
  if (groupBy.includes('statusCode')) {
    const status = [200, 200, 200, 204, 404, 503][Math.floor(random() * 6)];
    put(payload, ['response', 'status'], status);
  }
  return payload;
}

/** Inserts a result with its run, its payload, and the event of a heartbeat. Gives its `seq`. */
export async function insertRandomResult(
  { db, accountId, random }: RandomResults,
  check: { id: string; type: string },
  at: number,
  receivedAt: number,
): Promise<number> {
  const isHeartbeat = isPinged(check.type);
  const run = await db
    .insertInto('check_runs')
    .values(runRow({ accountId, checkId: check.id }, receivedAt))
    .returning('id')
    .executeTakeFirstOrThrow();
  const kind = random();
  const resultType = isHeartbeat || kind > 0.25 ? 'FINAL' : kind > 0.05 ? 'ATTEMPT' : 'LATE';
  const hasFailures = random() < 0.2;
  const hasErrors = !isHeartbeat && random() < 0.05;
  const isDegraded = random() < 0.1;
  const runLocation = random() < 0.7 ? 'eu-west-1' : 'us-east-1';
  const responseTimeMs = random() < 0.05 ? 0 : Math.round(Math.exp(random() * 9));
  const isCancelled = !isHeartbeat && random() < 0.03;
  const { seq } = await db
    .insertInto('check_results')
    .values(
      resultRow({ accountId, checkId: check.id }, run.id, at, {
        ...{ check_type: check.type, result_type: resultType, run_location: runLocation },
        ...{ has_failures: Number(hasFailures), has_errors: Number(hasErrors) },
        ...{ is_degraded: Number(isDegraded), is_cancelled: Number(isCancelled) },
        ...{ created_at: receivedAt, response_time_ms: responseTimeMs },
      }),
    )
    .returning('seq')
    .executeTakeFirstOrThrow();
  const occasion = occasionOf(resultType, isCancelled);
  if (occasion !== null) {
    await addToInbox(db, [{ seq, runDay: 0, checkId: check.id, occasion }], receivedAt);
  }
  if (isHeartbeat) {
    const state = heartbeatStates[hasFailures ? 0 : 1 + Math.floor(random() * 4)] ?? '';
    await db
      .insertInto('heartbeat_events')
      .values({
        id: randomUUID(),
        account_id: accountId,
        check_id: check.id,
        state,
        happened_at: at,
        source: null,
        user_agent: null,
      })
      .execute();
  } else if (random() > 0.03) {
    await db
      .insertInto('result_payloads')
      .values({ result_seq: seq, ...encodePayload(payloadOf(check.type, random)) })
      .execute();
  }
  return seq;
}
