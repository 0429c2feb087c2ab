import assert from 'node:assert/strict';
import test from 'node:test';
import type { Measurement } from '@monitor/shared/contract/checks/check-type.ts';
import { checkTypes } from '@monitor/shared/contract/checks/index.ts';
import { judge } from '@monitor/shared/domain/verdict.ts';
import { decideAttempt, mayRepeat } from '../../../agent/worker/decide-attempt.ts';
import type { TimeFacts } from '../../../agent/worker/process-time.ts';

const calm: TimeFacts = { ...{ suspendedMs: 0, asleepMs: 0, waitedMs: 0, waitedWithin: () => 0 } };

const answer: Measurement = {
  ...{ startedAt: 0, stoppedAt: 100, responseTime: 100, failure: null },
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
  /** Absent: all of it. */
  unexplainedMs?: number;
  unansweredMs?: number;
  limits?: { degradedResponseTime?: number; maxResponseTime?: number; shouldFail?: boolean };
  assertions?: { source: string; comparison: string; target: string; property?: string }[];
}

/** The decision in a word: pass, degraded, failed, or why it is void. */
function decided({ type = 'URL', seen, time, limits, assertions = [], ...given }: Case) {
  const { judging } = checkTypes[type];
  assert.ok(judging);
  const definition = {
    request: {
      assertions: assertions.map((each) => ({ property: '', regex: null, ...each })) as never,
    },
    ...{ shouldFail: false, degradedResponseTime: 200, maxResponseTime: 300, ...limits },
  };
  const measurement = { ...answer, ...seen };
  const { waitedMs = 0 } = time ?? {};
  const verdict = judge(judging, definition, measurement);
  const cause = decideAttempt(
    {
      ...{ judging, definition, measurement, unexplainedMs: Infinity, ...given },
      time: { ...calm, waitedWithin: () => waitedMs, ...time },
    },
    verdict,
  );
  return cause ?? (verdict.hasFailures ? 'failed' : verdict.isDegraded ? 'degraded' : 'pass');
}

const took = (responseTime: number): Partial<Measurement> => ({
  responseTime,
  stoppedAt: Math.ceil(responseTime),
});

/** A text that did not come within its limit, at the end of a run of nine seconds: which message, and what was waited in it. */
const lateText = (message: string, waitedInLimitMs: number, limitMs: number): Case => ({
  type: 'BROWSER',
  seen: { ...took(9_000), ...failed('SCRIPT_FAILED', message) },
  time: {
    waitedMs: 3_000,
    waitedWithin: (ms) => (ms <= limitMs ? Math.min(ms, waitedInLimitMs) : 3_000),
  },
});
/** A step of five seconds that ran into its limit, at the end of a run of nine. */
const lateStep = (
  waitedMs: number,
  further: Partial<Case> & { waitedInStepMs?: number } = {},
): Case => {
  const { waitedInStepMs = waitedMs, ...given } = further;
  const message = 'TimeoutError: page.goto: Timeout 5000ms exceeded.';
  return {
    type: 'BROWSER',
    seen: { ...took(9_000), ...failed('SCRIPT_FAILED', message) },
    time: { waitedMs, waitedWithin: (ms) => (ms === 5_000 ? waitedInStepMs : waitedMs) },
    ...given,
  };
};
const untraced = (truncationReason: string): Case => ({
  ...{ type: 'TRACEROUTE', seen: { response: { destinationReached: false, truncationReason } } },
});
const lossLimits = { maxPacketLossThreshold: 20, degradedPacketLossThreshold: 10 } as never;
const timedOut = 'Error: Timed out 750ms waiting for expect(locator).toBeVisible()';
const cutShort = 'Error: expect(locator).toHaveText() failed\n\nTimeout:  750ms\nReceived: "…';
const unnamed = 'TimeoutError: The operation was aborted due to timeout';

for (const [name, given, expected] of [
  ['nothing was missing', { seen: took(100) }, 'pass'],
  ['a limit is broken and nothing was missing', { seen: took(250) }, 'degraded'],
  ['the maximum is broken and nothing was missing', { seen: took(400) }, 'failed'],
  ['the longest time keeps the limits', { seen: took(199), time: { waitedMs: 150 } }, 'pass'],
  ['the wait alone may break a limit', { seen: took(412), time: { waitedMs: 380 } }, 'overloaded'],
  ['a little of the wait may', { seen: took(450), time: { waitedMs: 200 } }, 'overloaded'],
  ['slow, but how slow is open', { seen: took(310), time: { waitedMs: 50 } }, 'overloaded'],
  ['slow whatever the agent waited', { seen: took(290), time: { waitedMs: 80 } }, 'degraded'],
  ['the shortest time breaks the maximum', { seen: took(900), time: { waitedMs: 590 } }, 'failed'],
  [
    'the kernel shows that the target took that long, however long the agent waited meanwhile',
    { seen: took(412), time: { waitedMs: 400 }, unexplainedMs: 12 },
    'failed',
  ],
  [
    'the kernel shows nothing of the time that decides',
    { seen: took(412), time: { waitedMs: 400 }, unexplainedMs: 150 },
    'overloaded',
  ],
  [
    'the kernel shows all of the time across a suspension',
    { seen: took(9_000), time: { suspendedMs: 8_900 }, unexplainedMs: 3 },
    'failed',
  ],
  [
    'a status is a failure however busy the agent was',
    { seen: { ...took(5_000), response: { status: 500 } }, time: { waitedMs: 4_900 } },
    'failed',
  ],
  [
    'a refused connection is a failure however busy the agent was',
    { seen: { ...took(5_000), ...failed('ECONNREFUSED') }, time: { waitedMs: 4_900 } },
    'failed',
  ],
  [
    'a target that says nothing until the deadline, however busy the agent was',
    { seen: { ...took(35_000), ...failed('TIMEOUT') }, time: { waitedMs: 30_000 } },
    'failed',
  ],
  [
    'a status across a suspension was given by the target',
    { seen: { ...took(9_000), response: { status: 500 } }, time: { suspendedMs: 8_900 } },
    'failed',
  ],
  [
    'an assertion on the response time',
    {
      ...{ type: 'API', seen: took(180), time: { waitedMs: 150 } },
      assertions: [{ source: 'RESPONSE_TIME', comparison: 'LESS_THAN', target: '100' }],
    },
    'overloaded',
  ],
  [
    'an assertion on a status beside one on the response time',
    {
      ...{ type: 'API', seen: took(180), time: { waitedMs: 150 } },
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
      ...{ type: 'API', seen: took(180), time: { waitedMs: 150 } },
      assertions: [{ source: 'RESPONSE_TIME', comparison: 'GREATER_THAN', target: '100' }],
    },
    'pass',
  ],
  [
    'lost echo replies, which no wait explains',
    {
      type: 'ICMP',
      seen: { responseTime: 30, response: { packetLoss: 50, latency: { avg: 30 } } },
      time: { waitedMs: 200 },
      limits: lossLimits,
    },
    'failed',
  ],
  [
    'no echo reply at all',
    {
      type: 'ICMP',
      seen: { responseTime: null, response: { packetLoss: 100, latency: null } },
      time: { waitedMs: 200 },
      limits: lossLimits,
    },
    'failed',
  ],
  [
    'a way that a waiting agent traced no further in its time',
    {
      ...untraced('timeout'),
      time: { waitedMs: 200 },
    },
    'overloaded',
  ],
  ['a way that an agent with all its time traced no further', untraced('timeout'), 'failed'],
  ...(
    [
      [590, 'failed'],
      [870, 'overloaded'],
    ] as const
  ).map(([waitedMs, word]): [string, Case, string] => [
    `a traced target answers late, and the agent waited ${waitedMs} ms of it`,
    {
      type: 'TRACEROUTE',
      seen: { ...took(900), response: { destinationReached: true } },
      time: { waitedMs },
    },
    word,
  ]),
  [
    'a way whose hops keep silent, whatever the agent waited',
    {
      ...untraced('maxUnknownHops'),
      time: { waitedMs: 200 },
    },
    'failed',
  ],
  [
    'a script that may have been slow for its own waiting',
    { type: 'BROWSER', seen: took(500), time: { waitedMs: 250 } },
    'overloaded',
  ],
  [
    'a script that was slow whatever its processes waited',
    { type: 'BROWSER', seen: took(500), time: { waitedMs: 150 } },
    'failed',
  ],
  ['a step, and most of it was waited', lateStep(3_000, { waitedInStepMs: 2_500 }), 'overloaded'],
  [
    'a step, and its page was not answered for longer than the limit',
    lateStep(2_500, { unansweredMs: 5_100 }),
    'failed',
  ],
  [
    'a step, and its page was not answered for less than the limit',
    lateStep(2_500, { unansweredMs: 4_900 }),
    'overloaded',
  ],
  [
    'a step, waited for before, and hardly in it',
    lateStep(3_000, { waitedInStepMs: 500 }),
    'failed',
  ],
  ['a late text, waited for in its small limit', lateText(timedOut, 600, 750), 'overloaded'],
  ['a late text, waited for before its small limit', lateText(timedOut, 100, 750), 'failed'],
  ['the same of a message that is cut short', lateText(cutShort, 600, 750), 'overloaded'],
  ['the same of one, waited for before', lateText(cutShort, 100, 750), 'failed'],
  ['a limit that nobody names, waited for in it', lateText(unnamed, 600, 750), 'overloaded'],
  [
    'a limit that nobody names, and little was waited at all',
    { ...lateText(unnamed, 50, 750), time: { waitedMs: 50 } },
    'failed',
  ],
  [
    'a script that found something wrong while its processes waited',
    {
      type: 'BROWSER',
      seen: { ...took(9_000), ...failed('SCRIPT_FAILED', 'expected "Sold out" to be "In stock"') },
      time: { waitedMs: 8_000 },
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
    'an answer across a suspension is no pass that is slow only as measured',
    { seen: took(9_000), time: { suspendedMs: 8_900 } },
    'suspended',
  ],
  [
    'a pass that leaves out the sleep of the machine, with which it would be slow',
    { seen: took(150), time: { suspendedMs: 29_500, asleepMs: 29_500 } },
    'suspended',
  ],
  [
    'a pass across a sleep of the machine, of a check without limits of time',
    {
      seen: took(150),
      time: { suspendedMs: 29_500, asleepMs: 29_500 },
      limits: { degradedResponseTime: null, maxResponseTime: null } as never,
    },
    'pass',
  ],
  [
    'a pass across a suspension stands',
    { type: 'BROWSER', seen: took(190), time: { suspendedMs: 8_900 } },
    'pass',
  ],
  [
    'a failure that was asked for across a suspension',
    {
      seen: { ...took(250), response: { status: 503 } },
      time: { suspendedMs: 8_900 },
      limits: { shouldFail: true },
    },
    'suspended',
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
