import assert from 'node:assert/strict';
import test from 'node:test';
import type { Measurement } from '@monitor/shared/contract/checks/check-type.ts';
import { checkTypes } from '@monitor/shared/contract/checks/index.ts';
import { judge } from '@monitor/shared/domain/verdict.ts';
import { decideAttempt, mayRepeat } from '../../../agent/worker/decide-attempt.ts';
import type { TimeFacts } from '../../../agent/worker/process-time.ts';

const calm: TimeFacts = {
  ...{ suspendedMs: 0, waitedMs: 0, isStarved: false, isLagging: false, hiddenWaitMs: 0 },
};

const answer: Measurement = {
  ...{ startedAt: 0, stoppedAt: 100, responseTime: 100, failure: null, underLoad: false },
  ...{ request: {}, response: { status: 200, body: '' } },
};

const failed = (code: string, message = code): Partial<Measurement> => ({
  failure: { phase: 'headers', code, message, isNetworkError: true },
  response: null,
});

interface Case {
  type?: 'URL' | 'API' | 'ICMP' | 'TRACEROUTE' | 'BROWSER';
  seen?: Partial<Measurement>;
  time?: Partial<TimeFacts>;
  limits?: { degradedResponseTime?: number; maxResponseTime?: number; shouldFail?: boolean };
  assertions?: { source: string; comparison: string; target: string; property?: string }[];
  isCode?: boolean;
}

/** The decision in a word: pass, degraded, failed, or why it is void. */
function decided({ type = 'URL', seen, time, limits, assertions = [], isCode = false }: Case) {
  const { judging } = checkTypes[type];
  assert.ok(judging);
  const definition = {
    request: {
      assertions: assertions.map((each) => ({ property: '', regex: null, ...each })) as never,
    },
    ...{ shouldFail: false, degradedResponseTime: 200, maxResponseTime: 300, ...limits },
  };
  const measurement = { ...answer, ...seen };
  const decision = decideAttempt(
    { judging, definition, measurement, time: { ...calm, ...time }, isCode },
    judge(judging, definition, measurement),
  );
  if (decision.kind === 'void')
    return decision.instead === null ? decision.cause : 'again, or pass';
  const { hasFailures, isDegraded } = decision.verdict;
  return hasFailures ? 'failed' : isDegraded ? 'degraded' : 'pass';
}

const took = (responseTime: number): Partial<Measurement> => ({
  responseTime,
  stoppedAt: Math.ceil(responseTime),
});

for (const [name, given, expected] of [
  ['nothing was missing', { seen: took(100) }, 'pass'],
  ['a limit is broken and nothing was missing', { seen: took(250) }, 'degraded'],
  ['the maximum is broken and nothing was missing', { seen: took(400) }, 'failed'],
  ['a limit is broken by the wait alone', { seen: took(412), time: { waitedMs: 380 } }, 'pass'],
  ['a little of the wait is left', { seen: took(450), time: { waitedMs: 200 } }, 'overloaded'],
  ['the wait explains nothing of it', { seen: took(900), time: { waitedMs: 20 } }, 'failed'],
  [
    'it is broken without the wait, but the agent is starved: others may wait unseen',
    { seen: took(900), time: { waitedMs: 20, isStarved: true, hiddenWaitMs: 1_000 } },
    'overloaded',
  ],
  [
    'the agent is starved, and neither what it nor what others may have waited explains it',
    { seen: took(900), time: { waitedMs: 20, isStarved: true, hiddenWaitMs: 50 } },
    'failed',
  ],
  [
    'no machine is so starved',
    { seen: took(9_000), time: { waitedMs: 20, isStarved: true, hiddenWaitMs: 2_000 } },
    'failed',
  ],
  [
    'a status is a failure however busy the agent was',
    {
      seen: { ...took(5_000), response: { status: 500 } },
      time: { waitedMs: 4_900, isStarved: true },
    },
    'failed',
  ],
  [
    'a refused connection is a failure however busy the agent was',
    {
      seen: { ...took(5_000), ...failed('ECONNREFUSED') },
      time: { waitedMs: 4_900, isStarved: true },
    },
    'failed',
  ],
  [
    'a time-out after the whole time, and the wait on top',
    { seen: { ...took(35_000), ...failed('TIMEOUT') }, time: { waitedMs: 5_000, isStarved: true } },
    'failed',
  ],
  [
    'a time-out in which the agent mostly waited',
    { seen: { ...took(60_000), ...failed('TIMEOUT') }, time: { waitedMs: 40_000 } },
    'overloaded',
  ],
  [
    'a time-out of a resolver while the agent is starved',
    {
      seen: { ...took(5_000), ...failed('ETIMEOUT') },
      time: { waitedMs: 400, isStarved: true, hiddenWaitMs: 1_500 },
    },
    'overloaded',
  ],
  [
    'a time-out of a resolver that the wait does not explain',
    {
      seen: { ...took(5_000), ...failed('ETIMEOUT') },
      time: { waitedMs: 40, isStarved: true, hiddenWaitMs: 50 },
    },
    'failed',
  ],
  [
    'an assertion on the response time',
    {
      type: 'API',
      seen: took(180),
      time: { waitedMs: 150 },
      assertions: [{ source: 'RESPONSE_TIME', comparison: 'LESS_THAN', target: '100' }],
    },
    'pass',
  ],
  [
    'an assertion on a status beside one on the response time',
    {
      type: 'API',
      seen: took(180),
      time: { waitedMs: 150 },
      assertions: [
        { source: 'RESPONSE_TIME', comparison: 'LESS_THAN', target: '100' },
        { source: 'STATUS_CODE', comparison: 'EQUALS', target: '204' },
      ],
    },
    'failed',
  ],
  [
    'an assertion that asks for a long time passes as measured',
    {
      type: 'API',
      seen: took(180),
      time: { waitedMs: 150 },
      assertions: [{ source: 'RESPONSE_TIME', comparison: 'GREATER_THAN', target: '100' }],
    },
    'pass',
  ],
  [
    'lost echo replies of a starved agent',
    {
      type: 'ICMP',
      seen: { responseTime: 30, response: { packetLoss: 50, latency: { avg: 30 } } },
      time: { waitedMs: 200, isStarved: true },
      limits: { maxPacketLossThreshold: 20, degradedPacketLossThreshold: 10 } as never,
    },
    'overloaded',
  ],
  [
    'no echo reply at all',
    {
      type: 'ICMP',
      seen: { responseTime: null, response: { packetLoss: 100, latency: null } },
      time: { waitedMs: 200, isStarved: true },
      limits: { maxPacketLossThreshold: 20, degradedPacketLossThreshold: 10 } as never,
    },
    'failed',
  ],
  [
    'a way that a starved agent traced no further in its time',
    {
      type: 'TRACEROUTE',
      seen: { response: { destinationReached: false, truncationReason: 'timeout' } },
      time: { waitedMs: 200, isStarved: true },
    },
    'overloaded',
  ],
  [
    'a way whose hops keep silent, whatever the agent waited',
    {
      type: 'TRACEROUTE',
      seen: { response: { destinationReached: false, truncationReason: 'maxUnknownHops' } },
      time: { waitedMs: 200, isStarved: true },
    },
    'failed',
  ],
  [
    'a script whose wait cannot be known',
    { type: 'BROWSER', seen: took(500), time: { waitedMs: 250 }, isCode: true },
    'overloaded',
  ],
  [
    'a script that ran into a limit of its own while the agent was starved',
    {
      type: 'BROWSER',
      seen: failed('SCRIPT_FAILED', 'TimeoutError: page.click: Timeout 5000ms exceeded.'),
      time: { waitedMs: 250, isStarved: true },
      isCode: true,
    },
    'overloaded',
  ],
  [
    'a script that found something wrong while the agent was starved',
    {
      type: 'BROWSER',
      seen: failed('SCRIPT_FAILED', 'expected "Sold out" to be "In stock"'),
      time: { waitedMs: 250, isStarved: true },
      isCode: true,
    },
    'failed',
  ],
  [
    'a time-out across a suspension',
    { seen: { ...took(131_081), ...failed('TIMEOUT') }, time: { suspendedMs: 130_000 } },
    'suspended',
  ],
  [
    'a connection that was reset across a suspension',
    { seen: { ...took(9_000), ...failed('ECONNRESET') }, time: { suspendedMs: 8_000 } },
    'suspended',
  ],
  [
    'an answer that came across a suspension is measured again, and never slow',
    { seen: took(9_000), time: { suspendedMs: 8_900 } },
    'again, or pass',
  ],
  [
    'a script that passed across a suspension is not run again',
    { type: 'BROWSER', seen: took(9_000), time: { suspendedMs: 8_900 }, isCode: true },
    'pass',
  ],
  [
    'a failure that was asked for across a suspension',
    {
      seen: { ...took(9_000), response: { status: 503 } },
      time: { suspendedMs: 8_900 },
      limits: { shouldFail: true },
    },
    'again, or pass',
  ],
] as const satisfies [string, Case, string][]) {
  test(`${name}: ${expected}`, () => {
    assert.equal(decided(given), expected);
  });
}

test('a void attempt is made again within its slot, a few times, and not by an agent that stops', () => {
  const base = {
    ...{ cause: 'suspended' as const, before: { suspended: 0, overloaded: 0 }, now: 10 },
    ...{ latestStart: 20, isStopping: false, isCrowded: false },
  };
  assert.equal(mayRepeat(base), true);
  assert.equal(mayRepeat({ ...base, now: 21 }), false);
  assert.equal(mayRepeat({ ...base, isStopping: true }), false);
  assert.equal(mayRepeat({ ...base, before: { suspended: 3, overloaded: 0 } }), false);
  assert.equal(mayRepeat({ ...base, isCrowded: true }), true);
  const overloaded = { ...base, cause: 'overloaded' as const };
  assert.equal(mayRepeat(overloaded), true);
  assert.equal(mayRepeat({ ...overloaded, before: { suspended: 1, overloaded: 0 } }), true);
  assert.equal(mayRepeat({ ...overloaded, before: { suspended: 0, overloaded: 1 } }), false);
  assert.equal(mayRepeat({ ...overloaded, isCrowded: true }), false, 'it would add to the load');
});
