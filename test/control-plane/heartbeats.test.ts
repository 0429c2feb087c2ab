import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import test from 'node:test';
import fc from 'fast-check';
import { readCron } from '@monitor/shared/domain/cron.ts';
import { sql } from 'kysely';
import { dueAfter, maxPauseMs } from '../../control-plane/heartbeats/decide/due-after.ts';
import { availabilityWithin } from '../../control-plane/heartbeats/decide/heartbeat-times.ts';
import {
  excusedUntil,
  stepHeartbeat,
  withSettings,
  type Heartbeat,
  type HeartbeatInput,
} from '../../control-plane/heartbeats/decide/heartbeat.ts';
import { sweepHeartbeats } from '../../control-plane/heartbeats/heartbeats.ts';
import {
  passTime,
  startTestControlPlane,
  sweepOnceRead,
  type TestControlPlane,
} from '../support/control-plane.ts';
import { isLeftOutOnPostgres, notOnPostgres } from '../support/postgres.ts';
import { temporaryFolder } from '../support/system.ts';
import { TestClock } from '../support/test-clock.ts';

const minute = 60_000;
const start = Date.parse('2026-11-21T08:00:00Z');
const every = (periodMs: number) => (at: number) => at + periodMs;
const waiting: Heartbeat = {
  periodMs: 10 * minute,
  dueAfter: every(10 * minute),
  started: null,
  graceMs: 2 * minute,
  lastPingAt: null,
  expectedAt: null,
  failsAt: null,
};

test('a timeline: first, early, on time, in grace, late, failing, recovered', () => {
  const timeline: [atMinutes: number, input: 'ping' | 'tick', event: string | null][] = [
    [0, 'tick', null],
    [100, 'ping', 'RECEIVED'],
    [105, 'ping', 'EARLY'],
    [115, 'ping', 'RECEIVED'],
    [126, 'ping', 'GRACE'],
    [137, 'tick', null],
    [139, 'ping', 'LATE'],
    [151, 'tick', 'FAILING'],
    [500, 'tick', null],
    [501, 'ping', 'RECEIVED'],
  ];
  let heartbeat = waiting;
  for (const [at, kind, event] of timeline) {
    const step = stepHeartbeat(heartbeat, { kind }, at * minute);
    assert.equal(step.effect?.event ?? null, event, `minute ${at}`);
    ({ heartbeat } = step);
  }
});

test('never failing twice without a ping between, and never before the grace is over', () => {
  const inputs = fc.array(
    fc.record({
      kind: fc.constantFrom('ping' as const, 'tick' as const),
      waitMs: fc.nat(20 * minute),
    }),
  );
  fc.assert(
    fc.property(inputs, (steps) => {
      let heartbeat = waiting;
      let now = 0;
      let lastPing: number | null = null;
      for (const { kind, waitMs } of steps) {
        now += waitMs;
        const step = stepHeartbeat(heartbeat, { kind }, now);
        ({ heartbeat } = step);
        if (step.effect?.event === 'FAILING') {
          assert.ok(lastPing !== null && now - lastPing >= waiting.periodMs + waiting.graceMs);
          lastPing = null;
        }
        if (kind === 'ping') lastPing = now;
      }
    }),
  );
});

test('availability is the share of active time that was not failing', () => {
  const times = { firstAt: 0, failing: [{ from: 50, to: 75 }], paused: [{ from: 75, to: 95 }] };
  const within = (from: number, to: number) => availabilityWithin(times, [{ from, to }], 100);
  assert.equal(within(0, 100), 68.75);
  assert.equal(within(60, 70), 0);
  assert.equal(within(70, 100), 50);
  assert.equal(within(76, 84), null);
  assert.equal(within(100, 200), null);
});

/** Replicas give a sign of life every two seconds, so that an hour there costs thousands of statements. */
const onOneEngine = notOnPostgres('deadlines are decided before any statement');

const body = {
  name: 'nightly',
  heartbeat: { period: 10, periodUnit: 'minutes', grace: 2, graceUnit: 'minutes' },
};

test('pings and their absence become events, results and a status', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { body: check } = await cp.api('POST', '/v1/checks/heartbeat', body);
  const { pingUrl } = check.heartbeat;
  assert.ok(pingUrl.startsWith(`${cp.url}/ping/`));
  for (const method of ['GET', 'POST', 'HEAD']) {
    const response = await fetch(pingUrl, {
      method,
      headers: { referer: 'https://ci.example', 'user-agent': 'cron' },
      ...(method === 'POST' ? { body: 'anything at all' } : {}),
    });
    assert.equal(response.status, 200, method);
    await response.text();
    clock.advance(1_500);
  }
  clock.advance(13 * minute);
  await sweepOnceRead(cp.controlPlane.services);
  const status = async () => (await cp.api('GET', `/v1/check-statuses/${check.id}`)).body;
  assert.equal((await status()).hasFailures, true);
  await fetch(pingUrl);
  assert.equal((await status()).hasFailures, false);
  const { body: events } = await cp.api('GET', `/v1/checks/heartbeats/${check.id}/events`);
  const states = events[0].events.map((event: { state: string }) => event.state);
  assert.deepEqual(states.slice(0, 2), ['RECEIVED', 'FAILING']);
  assert.equal(states.at(-1), 'RECEIVED');
  assert.equal(events[0].events.at(-1).source, 'https://ci.example');
  // The ping of this millisecond counts as well.
  assert.equal(events[0].stats.last24Hours.totalEntitiesCurrentPeriod, 5);
  const one = await cp.api(
    'GET',
    `/v1/checks/heartbeats/${check.id}/events/${events[0].events[0].id}`,
  );
  assert.equal(one.body.event.state, 'RECEIVED');
  const results = await cp.api('GET', `/v1/check-results/${check.id}`);
  assert.equal(results.body.length, 5);
  assert.equal(results.body[0].checkType, 'HEARTBEAT');
  assert.equal((await fetch(`${cp.url}/ping/unknown-token-1234`)).status, 404);
});

test('the calls of usual clients are taken for what they say', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { body: check } = await cp.api('POST', '/v1/checks/heartbeat', body);
  const { pingUrl } = check.heartbeat;
  const newest = async () => {
    const { body: events } = await cp.api('GET', `/v1/checks/heartbeats/${check.id}/events`);
    return { state: events[0].events[0]?.state ?? null, count: events[0].events.length };
  };
  const status = async () => (await cp.api('GET', `/v1/check-statuses/${check.id}`)).body;
  let count = 0;
  for (const [method, path, said] of [
    ['GET', '/start', 'STARTED'],
    ['GET', '', 'ping'],
    ['HEAD', '', 'ping'],
    ['POST', '/fail', 'failure'],
    ['POST', '/log', 'LOGGED'],
    ['GET', '/', 'ping'],
    ['POST', '/0', 'ping'],
    ['GET', '/1', 'failure'],
    ['POST', '/255', 'failure'],
    ['GET', '?rid=8c0c1a2e-7e60-4ac9-9d2c-1a2b3c4d5e6f', 'ping'],
    ['HEAD', '/fail/?rid=1', 'failure'],
    ['POST', '/start?rid=1', 'STARTED'],
    ['GET', '/0/', 'ping'],
  ] as const) {
    const before = (await status())?.hasFailures;
    const answer = await fetch(pingUrl + path, {
      ...{ method, ...(method === 'POST' ? { body: 'what the job printed' } : {}) },
    });
    assert.equal(answer.status, 200, `${method} ${path}`);
    await answer.text();
    const { state } = await newest();
    count += 1;
    if (said === 'STARTED' || said === 'LOGGED') {
      assert.deepEqual([state, (await status())?.hasFailures], [said, before], path);
    } else {
      assert.equal(state === 'FAILING', said === 'failure', `${method} ${path}`);
      assert.equal((await status()).hasFailures, said === 'failure', `${method} ${path}`);
    }
    clock.advance(1_500);
  }
  assert.equal((await newest()).count, Math.min(count, 10));
  // A ping that waits to be recorded is older than the failure after it.
  for (const path of ['', '', '/fail']) await (await fetch(pingUrl + path)).text();
  clock.advance(1_500);
  assert.equal((await status()).hasFailures, true);
  await (await fetch(`${pingUrl}/fail`)).text();
  await (await fetch(pingUrl)).text();
  assert.equal((await status()).hasFailures, false);
  // A reported failure has no deadline of its own, and the next ping sets one.
  clock.advance(13 * minute);
  await sweepOnceRead(cp.controlPlane.services);
  assert.equal((await status()).hasFailures, true);
  for (const path of ['/256', '/failed', '/-1']) {
    assert.equal((await fetch(pingUrl + path)).status, 400, path);
  }
  assert.equal((await fetch(`${cp.url}/ping/unknown-token-1234/fail`)).status, 404);
});

const runs: [
  name: string,
  steps: (readonly [atMinutes: number, input: HeartbeatInput, said: string | null])[],
][] = [
  [
    'a run that ends in time has a duration',
    [
      [0, { kind: 'start' }, 'STARTED'],
      [1, { kind: 'log' }, 'LOGGED'],
      [1.5, { kind: 'ping' }, 'RECEIVED 1.5'],
      [13.4, { kind: 'tick' }, null],
      [13.5, { kind: 'tick' }, 'FAILING'],
    ],
  ],
  [
    'one that does not end is late, also before a ping was expected',
    [
      [0, { kind: 'ping' }, 'RECEIVED'],
      [3, { kind: 'start' }, 'STARTED'],
      [4.9, { kind: 'tick' }, null],
      [5, { kind: 'tick' }, 'FAILING'],
      [7, { kind: 'ping' }, 'RECEIVED 4'],
    ],
  ],
  [
    'one that never pinged fails when its first run hangs',
    [
      [0, { kind: 'start' }, 'STARTED'],
      [2, { kind: 'tick' }, 'FAILING'],
    ],
  ],
  [
    'a failure ends its run',
    [
      [0, { kind: 'start', run: 'a' }, 'STARTED'],
      [1, { kind: 'fail', reason: 'x', run: 'a' }, 'FAILING 1'],
      [5, { kind: 'tick' }, null],
    ],
  ],
  [
    'the end of another run ends nothing',
    [
      [0, { kind: 'start', run: 'a' }, 'STARTED'],
      [0.5, { kind: 'start', run: 'b' }, 'STARTED'],
      [1, { kind: 'ping', run: 'a' }, 'GRACE'],
      [2, { kind: 'tick' }, null],
      [2.5, { kind: 'tick' }, 'FAILING'],
    ],
  ],
  [
    'runs with ids that overlap end each for itself',
    [
      [0, { kind: 'start', run: 'a' }, 'STARTED'],
      [0.5, { kind: 'start', run: 'b' }, 'STARTED'],
      [1, { kind: 'ping', run: 'a' }, 'GRACE'],
      [2, { kind: 'ping', run: 'b' }, 'EARLY 1.5'],
      [5, { kind: 'tick' }, null],
    ],
  ],
  [
    'a ping without an id ends any run, without a duration',
    [
      [0, { kind: 'start', run: 'a' }, 'STARTED'],
      [1, { kind: 'ping' }, 'RECEIVED'],
      [5, { kind: 'tick' }, null],
    ],
  ],
  [
    'a run that starts late is judged by its start',
    [
      [0, { kind: 'ping' }, 'RECEIVED'],
      [11, { kind: 'start' }, 'STARTED'],
      [12.5, { kind: 'ping' }, 'GRACE 1.5'],
    ],
  ],
  [
    'a run that starts anew is not judged by the start before',
    [
      [0, { kind: 'ping' }, 'RECEIVED'],
      [3, { kind: 'start' }, 'STARTED'],
      [4.5, { kind: 'start' }, 'STARTED'],
      [6.4, { kind: 'tick' }, null],
      [6.5, { kind: 'tick' }, 'FAILING'],
    ],
  ],
  [
    'one whose end has passed still fails',
    [
      [0, { kind: 'start' }, 'STARTED'],
      [2.5, { kind: 'start' }, 'STARTED'],
      [2.6, { kind: 'tick' }, 'FAILING'],
    ],
  ],
  [
    'starts do not put off the ping that was expected',
    [
      [0, { kind: 'ping' }, 'RECEIVED'],
      ...[9, 10.5, 11.9].map((at) => [at, { kind: 'start' }, 'STARTED'] as const),
      [11.95, { kind: 'tick' }, null],
      [12, { kind: 'tick' }, 'FAILING'],
    ],
  ],
  [
    'a job that starts again and again and never ends fails after its period',
    [
      ...[0, 1.5, 3, 4.5, 6, 7.5, 9, 10.5].map((at) => [at, { kind: 'start' }, 'STARTED'] as const),
      [11.9, { kind: 'tick' }, null],
      [12, { kind: 'tick' }, 'FAILING'],
    ],
  ],
];

for (const [name, steps] of runs) {
  test(`runs of a job: ${name}`, () => {
    let heartbeat = waiting;
    for (const [at, input, said] of steps) {
      const step = stepHeartbeat(heartbeat, input, at * minute);
      const { event, durationMs } = step.effect ?? {};
      const shown = durationMs == null ? (event ?? null) : `${event} ${durationMs / minute}`;
      assert.equal(shown, said, `minute ${at}`);
      ({ heartbeat } = step);
    }
  });
}

test('without a grace time a run has its period', () => {
  const eager = { ...waiting, graceMs: 0 };
  const { heartbeat } = stepHeartbeat(eager, { kind: 'start' }, 0);
  assert.equal(heartbeat.failsAt, 10 * minute);
});

test('a save keeps the run that goes on, and its deadline by the new grace', () => {
  const active = { wasActive: true, isActive: true };
  const { heartbeat } = stepHeartbeat(
    { ...waiting, lastPingAt: 0, expectedAt: 9 * minute, failsAt: 11 * minute },
    { kind: 'start' },
    5 * minute,
  );
  for (const [graceMs, failsAt] of [
    [2 * minute, 7],
    [4 * minute, 9],
    [minute, 6],
  ] as const) {
    const saved = withSettings(heartbeat, { ...waiting, graceMs }, active, 5.5 * minute);
    assert.equal(saved.failsAt, failsAt * minute);
  }
  // What a gap has put off stays put off; without a grace time the run has its period.
  for (const [lastPingAt, putOff, graceMs, periodMs, failsAt] of [
    [0, 20, 2, 10, 27],
    [0, 20, 3, 10, 28],
    [null, 20, 2, 10, 27],
    [null, 0, 3, 10, 8],
    [0, 0, 2, 6, 7],
    [0, 0, 2, 30, 7],
    [0, 0, 0, 10, 15],
  ] as const) {
    const begun = { ...heartbeat, lastPingAt, failsAt: (7 + putOff) * minute };
    const settings = {
      ...{ periodMs: periodMs * minute, dueAfter: every(periodMs * minute) },
      graceMs: graceMs * minute,
    };
    const saved = withSettings(begun, settings, active, (5.5 + putOff) * minute);
    assert.equal(saved.failsAt, failsAt * minute, `${lastPingAt} ${putOff} ${graceMs} ${periodMs}`);
  }
  // The ping is expected before the run must have ended.
  const late = stepHeartbeat(
    { ...waiting, lastPingAt: 0, expectedAt: 10 * minute, failsAt: 12 * minute },
    { kind: 'start' },
    11 * minute,
  );
  assert.equal(withSettings(late.heartbeat, waiting, active, 11 * minute).failsAt, 12 * minute);
  const longer = { ...waiting, dueAfter: every(20 * minute) };
  assert.equal(withSettings(late.heartbeat, longer, active, 11 * minute).failsAt, 13 * minute);
  const paused = withSettings(heartbeat, waiting, { wasActive: true, isActive: false }, 6 * minute);
  assert.deepEqual([paused.failsAt, paused.started], [null, null]);
});

const berlin = 'Europe/Berlin';
const dues: [cron: string, timezone: string | null, at: string, due: string][] = [
  ['30 2 * * *', null, '2026-11-21T02:28:00Z', '2026-11-21T02:30:00Z'],
  // A ping shortly before its time is the one of that time.
  ['30 2 * * *', null, '2026-11-21T02:29:30Z', '2026-11-22T02:30:00Z'],
  ['30 2 * * *', null, '2026-11-21T02:30:00Z', '2026-11-22T02:30:00Z'],
  ['30 2 * * *', berlin, '2026-11-21T02:30:00Z', '2026-11-22T01:30:00Z'],
  ['30 2 * * *', 'America/New_York', '2026-11-21T02:30:00Z', '2026-11-21T07:30:00Z'],
  ['0 9 * * MON-FRI', berlin, '2026-11-20T08:30:00Z', '2026-11-23T08:00:00Z'],
  ['@monthly', null, '2026-01-31T00:00:00Z', '2026-02-01T00:00:00Z'],
  ['0 0 29 2 *', null, '2026-01-01T00:00:00Z', '2028-02-29T00:00:00Z'],
  ['0 0 13 * FRI', null, '2026-11-08T00:00:00Z', '2026-11-13T00:00:00Z'],
  ['0 0 1 * 7', null, '2026-11-02T00:00:00Z', '2026-11-08T00:00:00Z'],
  ['*/20 8-9 * * *', null, '2026-11-21T09:50:00Z', '2026-11-22T08:00:00Z'],
  // Skipped on 28 March 2027, and there twice on 31 October.
  ['30 2 * * *', berlin, '2027-03-27T12:00:00Z', '2027-03-28T01:30:00Z'],
  ['30 2 * * *', berlin, '2027-10-30T12:00:00Z', '2027-10-31T00:30:00Z'],
  ['30 2 * * *', berlin, '2027-10-31T00:30:00Z', '2027-11-01T01:30:00Z'],
  ['0 * * * *', berlin, '2027-10-31T01:00:00Z', '2027-10-31T02:00:00Z'],
];

for (const [cron, timezone, at, due] of dues) {
  test(`a job of ${cron} in ${timezone ?? 'UTC'} that pings at ${at} is due at ${due}`, () => {
    const schedule = { cron, timezone, periodMs: 60 * minute };
    assert.equal(
      new Date(dueAfter(schedule, Date.parse(at))).toISOString(),
      due.replace('Z', '.000Z'),
    );
  });
}

test('the longest pause of a schedule is looked for in a whole week', () => {
  for (const [cron, longest] of [
    ['*/5 9-17 * * 1-5', 2 * 24 * 60 + 15 * 60 + 5],
    ['0 9 * * 1-5', 3 * 24 * 60],
    ['* * * * *', 1],
    ['0 0 1 * *', 31 * 24 * 60],
  ] as const) {
    assert.equal(
      maxPauseMs(cron, null, Date.parse('2026-11-23T09:00:00Z')),
      longest * minute,
      cron,
    );
  }
});

test('a ping that another replica may have lost is excused until the job is due again', () => {
  const at = (text: string) => Date.parse(`2026-11-${text}:00Z`);
  const schedule = { cron: '0 9 * * 1-5', timezone: null, periodMs: 72 * 60 * minute };
  const job = {
    ...{ ...waiting, ...schedule, dueAfter: (from: number) => dueAfter(schedule, from) },
    ...{ lastPingAt: at('20T09:00'), expectedAt: at('23T09:00'), failsAt: at('23T09:02') },
  };
  for (const [outage, failsAt, excused] of [
    [[at('23T08:55'), at('23T09:01')], at('23T09:02'), at('24T09:02')],
    // On Tuesday, the same outage excuses nothing more.
    [[at('23T08:55'), at('23T09:01')], at('24T09:02'), null],
    [[at('24T08:59'), at('24T09:01')], at('24T09:02'), at('25T09:02')],
    [[at('23T08:40'), at('23T08:50')], at('23T09:02'), null],
  ] as const) {
    const [from, to] = outage;
    assert.equal(excusedUntil({ ...job, failsAt }, [{ from, to }], failsAt + 5_000), excused);
  }
});

test('expressions of cron are read as cron reads them, or refused with the part that is wrong', () => {
  for (const text of ['* * * * *', '0,30 */2 1-15/3 JAN,DEC sun-Sat', '5/15 * * * 0-7', '@Daily'])
    assert.ok(!('problem' in readCron(text)), text);
  for (const [text, problem] of [
    ['* * * *', /five fields/],
    ['0 0 2 * * *', /five fields/],
    ['60 * * * *', /minute "60"/],
    ['* 24 * * *', /hour "24"/],
    ['* * 0 * *', /day of month "0"/],
    ['* * * 13 *', /month "13"/],
    ['* * * * 8', /day of week "8"/],
    ['*/0 * * * *', /minute/],
    ['9-5 * * * *', /minute/],
    ['* * L * *', /day of month "L"/],
    ['* * * * FRI-MON', /day of week/],
    ['0 0 31 2 *', /no day in any year/],
    ['@reboot', /five fields/],
  ] as const) {
    const read = readCron(text);
    assert.match('problem' in read ? read.problem : 'read', problem, text);
  }
});

test('a job reports its runs, and what it says is kept without secrets', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  await cp.api('POST', '/v1/variables', { key: 'TOKEN', value: 'hush hush', secret: true });
  const { body: check } = await cp.api('POST', '/v1/checks/heartbeat', body);
  const { pingUrl } = check.heartbeat;
  const call = async (path: string, said?: string | Buffer) => {
    const options = said === undefined ? {} : { method: 'POST', body: said };
    const answer = await fetch(pingUrl + path, options);
    assert.equal(answer.status, 200, path);
    await answer.text();
  };
  const newest = async () => {
    const { body: events } = await cp.api('GET', `/v1/checks/heartbeats/${check.id}/events`);
    const { state, runId, durationMs, message } = events[0].events[0];
    return [state, runId, durationMs, message];
  };
  // Time does not jump here: a replica that stood still for a minute took no ping then, which excuses jobs.
  // A ping that waits to be recorded must not hide the end of a run.
  await call('');
  await call('/start');
  clock.advance(400);
  await call('');
  assert.deepEqual(await newest(), ['RECEIVED', null, 400, null]);
  await passTime(clock, minute);
  await call('/start?rid=7');
  await passTime(clock, minute);
  await call('/3?rid=7', 'disk full\nhush hush hush%20hush aHVzaCBodXNo');
  const masked = 'disk full\n[hidden] [hidden] [hidden]';
  assert.deepEqual(await newest(), ['FAILING', '7', minute, masked]);
  const [result] = (await cp.api('GET', `/v1/check-results/${check.id}`)).body;
  assert.deepEqual([result.hasFailures, result.responseTime], [true, minute]);
  await call('/log', Buffer.alloc(2_000_000, 'x\0'));
  const [state, , , message] = await newest();
  assert.deepEqual([state, message.length], ['LOGGED', 10_000 / 2]);
  assert.equal((await cp.api('GET', `/v1/check-statuses/${check.id}`)).body.hasFailures, true);
  await call('', 'all is well');
  assert.deepEqual(await newest(), ['RECEIVED', null, null, 'all is well']);
  await call('/start');
  await passTime(clock, 3 * minute);
  await sweepOnceRead(cp.controlPlane.services);
  assert.equal((await cp.api('GET', `/v1/check-statuses/${check.id}`)).body.hasFailures, true);
  const available = await cp.api('GET', `/v1/checks/heartbeats/${check.id}/availability`);
  assert.equal(available.body.totalEntitiesCurrentPeriod, 5);
  for (const rid of ['x'.repeat(65), '%00']) {
    assert.equal((await fetch(`${pingUrl}?rid=${rid}`)).status, 400, rid);
  }
  // A shell sends it for a variable that is not set.
  await call('/log?rid=', 'x');
  assert.deepEqual(await newest(), ['LOGGED', null, null, 'x']);
  // A message whose secrets are not known is not kept, and what the job reports counts.
  const { db } = cp.controlPlane.services;
  await db
    .updateTable('variables')
    .set({ value: sql`value || 'AAAA'` })
    .execute();
  await call('', 'all is well: hush hush');
  assert.deepEqual(await newest(), ['RECEIVED', null, 3 * minute, null]);
});

/** Sends the head of a ping and the beginning of its body. */
async function beginPing(url: string, method: string, length: number, said: string) {
  const { hostname, port, pathname } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const head = [`${method} ${pathname} HTTP/1.1`, `Host: ${hostname}`, `Content-Length: ${length}`];
  socket.write([...head, '', said].join('\r\n'));
  return socket;
}

/** Resolves once a ping is answered; meanwhile time passes. */
async function answered(socket: Socket, clock: TestClock): Promise<void> {
  let isAnswered = false;
  socket.once('data', (said: Buffer) => {
    isAnswered = said.toString().startsWith('HTTP/1.1 200');
  });
  while (!isAnswered) {
    clock.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function eventsOf(cp: TestControlPlane, { id }: { id: string }) {
  const { body: events } = await cp.api('GET', `/v1/checks/heartbeats/${id}/events`);
  return (events[0]?.events ?? []) as { state: string; message: string | null }[];
}

test('a body that does not come keeps back neither its ping nor the failures of other monitors', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const create = async (period: number) => {
    const heartbeat = { ...body.heartbeat, period };
    return (await cp.api('POST', '/v1/checks/heartbeat', { ...body, heartbeat })).body;
  };
  const [dead, byGet, byPost] = [await create(1), await create(10), await create(10)];
  await (await fetch(dead.heartbeat.pingUrl)).text();
  const get = await beginPing(byGet.heartbeat.pingUrl, 'GET', 10, '');
  const [answer] = (await once(get, 'data')) as [Buffer];
  assert.match(answer.toString(), /^HTTP\/1.1 200/);
  const post = await beginPing(byPost.heartbeat.pingUrl, 'POST', 10, 'x');
  await answered(post, clock);
  assert.equal((await eventsOf(cp, byGet))[0]?.state, 'RECEIVED');
  const [event] = await eventsOf(cp, byPost);
  assert.deepEqual([event?.state, event?.message], ['RECEIVED', 'x']);
  // Longer steps look to a replica on PostgreSQL as if it had been away, which excuses the job.
  await passTime(clock, 4 * minute);
  const isFound = async (): Promise<boolean> => {
    await sweepOnceRead(cp.controlPlane.services);
    return (await eventsOf(cp, dead))[0]?.state === 'FAILING';
  };
  // On a busy machine it has not read yet what waits in its sockets: each question gives it a turn.
  for (let tries = 0; tries < 300 && !(await isFound()); tries += 1) await passTime(clock, 1_000);
  assert.equal(await isFound(), true);
  get.destroy();
  post.destroy();
});

test('of a body that breaks off or does not end, the beginning of a secret is not kept', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  await cp.api('POST', '/v1/variables', { key: 'TOKEN', value: 'hush hush', secret: true });
  for (const [said, kept] of [
    ['x hush hu', null],
    ['the disk is quite full: hush hu', 'the disk is quite f'],
  ] as const) {
    // On a busy machine much time passes until a ping is answered.
    const heartbeat = { ...body.heartbeat, period: 300, periodUnit: 'days' };
    const create = async () =>
      (await cp.api('POST', '/v1/checks/heartbeat', { ...body, heartbeat })).body;
    const [slow, broken] = [await create(), await create()];
    const waiting = await beginPing(slow.heartbeat.pingUrl, 'POST', 100, said);
    await answered(waiting, clock);
    waiting.destroy();
    const [event] = await eventsOf(cp, slow);
    assert.deepEqual([event?.state, event?.message], ['RECEIVED', kept]);
    const socket = await beginPing(broken.heartbeat.pingUrl, 'POST', 100, said);
    socket.end();
    let events = await eventsOf(cp, broken);
    while (events.length === 0) events = await eventsOf(cp, broken);
    // Where the connection ends before the body is read, nothing of it is left.
    const message = events[0]?.message ?? null;
    assert.equal(events[0]?.state, 'RECEIVED');
    assert.ok(message === null || message === kept, String(message));
    socket.destroy();
  }
});

test('a monitor of a schedule expects a ping by each of its times', onOneEngine, async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const heartbeat = { cron: '*/10 9 * * *', timezone: berlin, grace: 2, graceUnit: 'minutes' };
  const { body: check } = await cp.api('POST', '/v1/checks/heartbeat', { ...body, heartbeat });
  const ping = async () => (await fetch(check.heartbeat.pingUrl)).text();
  const failsAfter = async (minutes: number): Promise<boolean> => {
    await passTime(clock, minutes * minute, 2_000);
    await sweepOnceRead(cp.controlPlane.services);
    return (await cp.api('GET', `/v1/check-statuses/${check.id}`)).body.hasFailures;
  };
  // It is 9:00 there.
  await ping();
  assert.equal(await failsAfter(11), false, '9:11');
  assert.equal(await failsAfter(2), true, '9:13');
  await ping();
  assert.equal(await failsAfter(8), false, '9:21');
  assert.equal(await failsAfter(2), true, '9:23');
  for (const [change, key] of [
    [{ cron: '61 * * * *' }, 'heartbeat.cron'],
    [{ period: 1, periodUnit: 'days', timezone: berlin }, 'heartbeat.timezone'],
    [{}, 'heartbeat.period'],
    [{ cron: '0 0 * * *', grace: 400, graceUnit: 'days' }, 'heartbeat.grace'],
    [{ cron: '0 0 * * *', grace: 1e300, graceUnit: 'days' }, 'heartbeat.grace'],
  ] as const) {
    const wrong = { ...body, heartbeat: { grace: 5, graceUnit: 'minutes', ...change } };
    const refused = await cp.api('POST', '/v1/checks/heartbeat', wrong);
    assert.deepEqual([refused.status, refused.body.attributes.keys], [400, [key]]);
  }
});

/** Saves at minutes after the only ping, and the minute from which the monitor fails; null for never. */
const saves: [
  name: string,
  saves: (readonly [at: number, change: Record<string, unknown>])[],
  failsAt: number | null,
][] = [
  ['nothing is saved', [], 12],
  ['equal values and a name', [[5, { name: 'other', heartbeat: body.heartbeat }]], 12],
  ['a longer period', [[5, { heartbeat: { ...body.heartbeat, period: 20 } }]], 22],
  ['a longer grace', [[5, { heartbeat: { ...body.heartbeat, grace: 9 } }]], 19],
  ['a longer grace within the old one', [[11, { heartbeat: { ...body.heartbeat, grace: 9 } }]], 19],
  ['a shorter period that is not over', [[3, { heartbeat: { ...body.heartbeat, period: 5 } }]], 7],
  ['a shorter period that is over', [[9, { heartbeat: { ...body.heartbeat, period: 5 } }]], 16],
  ['a shorter grace that is over', [[11, { heartbeat: { ...body.heartbeat, grace: 0 } }]], 11],
  [
    'a change every few minutes',
    [3, 6, 9, 11].map((at) => [at, { heartbeat: { ...body.heartbeat, grace: at % 2 } }] as const),
    11,
  ],
  ['a pause', [[5, { activated: false }]], null],
  [
    'a pause that ends',
    [
      [5, { activated: false }],
      [30, { activated: true }],
    ],
    42,
  ],
  [
    'a pause with another period',
    [
      [5, { activated: false }],
      [8, { heartbeat: { ...body.heartbeat, period: 5 } }],
      [30, { activated: true }],
    ],
    37,
  ],
  [
    'a pause of one that fails',
    [
      [15, { activated: false }],
      [30, { activated: true }],
    ],
    42,
  ],
];

test(
  'a save is no ping: it keeps what was heard, and computes the deadline anew',
  onOneEngine,
  async () => {
    const clock = new TestClock(start);
    await using cp = await startTestControlPlane({ clock });
    const monitors = await Promise.all(
      saves.map(async ([name, changes, failsAt]) => {
        const { body: check } = await cp.api('POST', '/v1/checks/heartbeat', body);
        await fetch(check.heartbeat.pingUrl);
        return { name, changes, failsAt, id: check.id, heartbeat: check.heartbeat };
      }),
    );
    const pingedAt = clock.now();
    for (let at = 0; at <= 44; at += 1) {
      for (const { name, changes, id, heartbeat } of monitors) {
        for (const [, change] of changes.filter(([when]) => when === at)) {
          const saved = await cp.api('PUT', `/v1/checks/heartbeat/${id}`, change);
          assert.equal(saved.status, 200, name);
          assert.equal(saved.body.heartbeat.pingUrl, heartbeat.pingUrl);
          // One of a deactivated monitor counts for nothing.
          if (change['activated'] === false) await fetch(heartbeat.pingUrl);
        }
      }
      await sweepOnceRead(cp.controlPlane.services);
      // A replica without a sign of life for a minute may have lost a ping.
      await passTime(clock, minute, 2_000);
    }
    for (const { name, failsAt, id } of monitors) {
      const { body: events } = await cp.api('GET', `/v1/checks/heartbeats/${id}/events`);
      const failing = (events[0].events as { state: string; timestamp: string }[])
        .filter(({ state }) => state === 'FAILING')
        .map(({ timestamp }) => Math.round((Date.parse(timestamp) - pingedAt) / minute));
      assert.equal(failing[0] ?? null, failsAt, `${name}: ${failing.join()}`);
    }
  },
);

test('what a gap of the control plane has put off stays put off when settings are saved', () => {
  const excused = { ...waiting, lastPingAt: 0, expectedAt: 10 * minute, failsAt: 90 * minute };
  const active = { wasActive: true, isActive: true };
  for (const [periodMs, graceMs, failsAt] of [
    [10 * minute, minute, 89],
    [20 * minute, 2 * minute, 100],
    [minute, 2 * minute, 81],
  ] as const) {
    const settings = { periodMs, graceMs, dueAfter: every(periodMs) };
    const saved = withSettings(excused, settings, active, 80 * minute);
    assert.equal(saved.failsAt, failsAt * minute);
  }
});

test('one that never pinged waits for its first ping, whatever is saved', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { body: check } = await cp.api('POST', '/v1/checks/heartbeat', body);
  for (const change of [
    { heartbeat: { ...body.heartbeat, period: 5 } },
    { activated: false },
    { activated: true },
  ]) {
    await cp.api('PUT', `/v1/checks/heartbeat/${check.id}`, change);
    clock.advance(60 * minute);
    await sweepOnceRead(cp.controlPlane.services);
  }
  const { body: events } = await cp.api('GET', `/v1/checks/heartbeats/${check.id}/events`);
  assert.deepEqual(events[0]?.events ?? [], []);
});

test('our own outage excuses a job of a schedule until it is due again', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'control-plane.db');
  const monday = Date.parse('2026-11-23T08:50:00Z');
  const clock = new TestClock(monday);
  const first = await startTestControlPlane({ clock, file });
  const heartbeat = { cron: '0 9 * * 1-5', grace: 2, graceUnit: 'minutes' };
  const { body: check } = await first.api('POST', '/v1/checks/heartbeat', { ...body, heartbeat });
  await (await fetch(check.heartbeat.pingUrl)).text();
  clock.advance(5 * minute);
  await first[Symbol.asyncDispose]();
  const later = new TestClock(monday + 15 * minute);
  await using second = await startTestControlPlane({ clock: later, file });
  const hasFailed = async (at: string): Promise<boolean> => {
    later.advance(Date.parse(at) - later.now());
    await sweepOnceRead(second.controlPlane.services);
    return (await second.api('GET', `/v1/check-statuses/${check.id}`)).body.hasFailures;
  };
  assert.equal(await hasFailed('2026-11-24T09:01:00Z'), false);
  assert.equal(await hasFailed('2026-11-24T09:03:00Z'), true);
});

test('a period that is no whole number of milliseconds is one to the nearest', async () => {
  await using cp = await startTestControlPlane();
  for (const heartbeat of [
    { ...body.heartbeat, grace: 5e-324 },
    { ...body.heartbeat, period: 100.000_1, periodUnit: 'seconds' },
  ]) {
    const created = await cp.api('POST', '/v1/checks/heartbeat', { ...body, heartbeat });
    assert.equal(created.status, 201);
    assert.equal(created.body.heartbeat.period, heartbeat.period);
  }
});

test('a monitor whose group is switched off hears nothing and never fails', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { body: group } = await cp.api('POST', '/v2/check-groups', { name: 'g' });
  const { body: check } = await cp.api('POST', '/v1/checks/heartbeat', {
    name: 'backup',
    groupId: group.id,
    heartbeat: { period: 10, periodUnit: 'minutes', grace: 2, graceUnit: 'minutes' },
  });
  const ping = async () => {
    assert.equal((await fetch(check.heartbeat.pingUrl as string)).status, 200);
  };
  const events = async () => {
    const { body } = await cp.api('GET', `/v1/checks/heartbeats/${check.id}/events`);
    return body[0].events.map(({ state }: { state: string }) => state) as string[];
  };
  await ping();
  await cp.api('PUT', `/v2/check-groups/${group.id}`, { name: 'g', activated: false });
  clock.advance(60 * minute);
  await sweepOnceRead(cp.controlPlane.services);
  await ping();
  clock.advance(1_500);
  assert.deepEqual(await events(), ['RECEIVED']);
  await cp.api('PUT', `/v2/check-groups/${group.id}`, { name: 'g', activated: true });
  await sweepOnceRead(cp.controlPlane.services);
  clock.advance(10 * minute);
  await ping();
  assert.deepEqual(await events(), ['RECEIVED', 'RECEIVED']);
  clock.advance(12 * minute);
  await sweepOnceRead(cp.controlPlane.services);
  assert.deepEqual(await events(), ['FAILING', 'RECEIVED', 'RECEIVED']);
});

test('pings that a full disk refused are not missed: the time without room does not count', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { services } = cp.controlPlane;
  const { body: check } = await cp.api('POST', '/v1/checks/heartbeat', body);
  await fetch(check.heartbeat.pingUrl);
  const hasFailed = async (): Promise<boolean> => {
    await sweepHeartbeats(services);
    return (await cp.api('GET', `/v1/check-statuses/${check.id}`)).body.hasFailures;
  };
  const full = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
  services.writes.noteFailure(full);
  clock.advance(5 * 60 * minute);
  services.writes.noteFailure(full);
  assert.equal(await hasFailed(), false);
  clock.advance(minute);
  // The timer of the control plane finds that there is room again.
  while (services.writes.problem !== null) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(await hasFailed(), false);
  clock.advance(13 * minute);
  await sweepOnceRead(services);
  assert.equal(await hasFailed(), true);
});

test('a token belongs to one monitor: another one that asks for it is refused by its field', async () => {
  await using cp = await startTestControlPlane();
  const body = (name: string, pingToken: string) => ({
    ...{
      name,
      heartbeat: { period: 1, periodUnit: 'days', grace: 1, graceUnit: 'hours', pingToken },
    },
  });
  const ask = (name: string, token: string) =>
    cp.api('POST', '/v1/checks/heartbeat', body(name, token));
  const first = await ask('backup', 'nightly-backup-7f3a');
  const other = await ask('report', 'nightly-report-7f3a');
  assert.deepEqual([first.status, other.status], [201, 201]);
  const path = `/v1/checks/heartbeat/${other.body.id}`;
  for (const refused of [
    await ask('copy', 'nightly-backup-7f3a'),
    await cp.api('PUT', path, body('report', 'nightly-backup-7f3a')),
  ]) {
    assert.equal(refused.status, 409);
    assert.deepEqual(refused.body.attributes.keys, ['heartbeat.pingToken']);
  }
  // It keeps its own.
  assert.equal((await cp.api('PUT', path, body('report', 'nightly-report-7f3a'))).status, 200);
});
