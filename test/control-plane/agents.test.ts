import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import type { CheckInAnswer, ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import { scheduleOf, slotAtOrAfter } from '@monitor/shared/domain/frequency.ts';
import { tombstoneOf } from '../../agent/worker/tombstone.ts';
import { RollUp } from '../../control-plane/analytics/roll-up.ts';
import { expireJobs } from '../../control-plane/results/expire-jobs.ts';
import { sweepSlots } from '../../control-plane/results/sweep-slots.ts';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import { checkInOf, FakeAgent, resultOf, resultOfJob } from '../support/fake-agent.ts';
import { TestClock } from '../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00Z');

/** Adds to the sums what waits: what becomes FINAL afterwards has to be added again. */
async function sumUp({ controlPlane }: TestControlPlane): Promise<void> {
  while (await new RollUp(controlPlane.services).run());
}

async function assertFailedOnce(cp: TestControlPlane, id: string): Promise<void> {
  const path = `/v1/analytics/url-monitors/${id}?metrics=availability,responseTime_sum,retries`;
  const sums = { availability: 0, responseTime_sum: 20, retries: 0 };
  assert.deepEqual((await cp.api('GET', path)).body.series, [{ data: [sums] }]);
}

async function makeCheck(
  cp: TestControlPlane,
  fields: Record<string, unknown> = {},
): Promise<string> {
  const { status, body } = await cp.api('POST', '/v1/checks/url', {
    name: 'a',
    locations: ['eu-west-1'],
    frequency: 1,
    request: { url: 'https://a.example' },
    ...fields,
  });
  assert.equal(status, 201);
  return body.id as string;
}

/** The first slot of a check since its creation. */
async function firstSlotOf(cp: TestControlPlane, checkId: string): Promise<number> {
  const { body } = await cp.api('GET', `/v1/checks/${checkId}`);
  const { frequency, frequencyOffset } = body as { frequency: number; frequencyOffset: number };
  const schedule = scheduleOf({ checkId, frequency, frequencyOffset });
  return slotAtOrAfter(schedule, Date.parse(body.created_at as string) + 1);
}

async function setUp() {
  const clock = new TestClock(start);
  const cp = await startTestControlPlane({ clock });
  const agent = new FakeAgent(cp, await cp.locationKey('eu-west-1'));
  return { clock, cp, agent };
}

test('an agent gets everything first and then only what changed', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const id = await makeCheck(cp);
  const first = await agent.checkIn();
  assert.equal(first.full, true);
  assert.equal(first.location, 'eu-west-1');
  assert.deepEqual(
    first.upserts.map((check) => check.id),
    [id],
  );
  const same = await agent.checkIn();
  assert.deepEqual([same.full, same.upserts, same.removals], [false, [], []]);
  await cp.api('PUT', `/v1/checks/url/${id}`, { name: 'renamed' });
  const changed = await agent.checkIn();
  assert.deepEqual(
    changed.upserts.map(({ name, revision }) => [name, revision]),
    [['renamed', 2]],
  );
  await cp.api('PUT', `/v1/checks/url/${id}`, { activated: false });
  assert.deepEqual((await agent.checkIn()).removals, [id]);
  // There is nothing in it, and it comes at once: an agent is ready when it has all of its checks.
  const fields = { agentId: agent.id, snapshot: 'something else', waitMs: 25_000 };
  const whole = await agent.call<CheckInAnswer>('check-in', checkInOf(fields, ['URL']));
  assert.deepEqual([whole.full, whole.upserts], [true, []]);
});

test('agents of a location share its checks; a new one takes only its part', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  for (let index = 0; index < 60; index += 1) await makeCheck(cp, { name: `c${index}` });
  const alone = await agent.checkIn();
  assert.equal(alone.upserts.length, 60);
  const second = new FakeAgent(cp, await cp.locationKey('eu-west-1'));
  const theirs = new Set((await second.checkIn()).upserts.map(({ id }) => id));
  const news = await agent.checkIn();
  assert.ok(news.epoch > alone.epoch);
  assert.deepEqual(new Set(news.removals), theirs);
  assert.ok(theirs.size > 15 && theirs.size < 45, `${theirs.size} of 60`);
  await second.call('goodbye', { agentId: second.id }, 204);
  assert.equal((await agent.checkIn()).upserts.length, theirs.size);
});

test('an agent is never given a check it cannot run', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  await makeCheck(cp);
  assert.deepEqual((await agent.checkIn(['TCP'])).upserts, []);
});

test('a new check is run at once by a job, which is leased to one agent', async () => {
  const { clock, cp, agent } = await setUp();
  await using _cp = cp;
  await agent.checkIn();
  const id = await makeCheck(cp);
  const { jobs } = await agent.checkIn();
  assert.equal(jobs.length, 1);
  const [job] = jobs;
  assert.equal(job?.source, 'SCHEDULE_NOW');
  const second = new FakeAgent(cp, await cp.locationKey('eu-west-1'));
  assert.deepEqual((await second.checkIn()).jobs, []);
  clock.advance(59_000);
  await agent.checkIn();
  await second.checkIn();
  const renewed = await agent.call<{ renewed: string[]; lost: string[] }>('leases/renew', {
    agentId: agent.id,
    jobIds: [job?.id],
  });
  assert.deepEqual(renewed, { renewed: [job?.id], lost: [] });
  const holder = async () =>
    (await cp.controlPlane.services.db.selectFrom('jobs').select('agent_id').execute())[0]
      ?.agent_id;
  // A busy database notices the end of the lease some check-ins later.
  for (let step = 0; step < 7 || (step < 50 && (await holder()) !== second.id); step += 1) {
    clock.advance(9_000);
    await second.checkIn();
  }
  assert.equal(await holder(), second.id);
  const [outcome] = await second.submit(
    resultOf(id, { runId: job?.runId ?? '', jobId: job?.id ?? '', scheduledFor: null }),
  );
  assert.equal(outcome?.outcome, 'accepted');
  assert.deepEqual(await cp.controlPlane.services.db.selectFrom('jobs').selectAll().execute(), []);
});

test('a check that was made without an agent has its first run when the first one comes, once', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const waiting = await makeCheck(cp, { frequency: 60, locations: ['eu-west-1', 'us-east-1'] });
  const browser = await cp.api('POST', '/v1/checks/browser', {
    name: 'for another agent',
    script: '// nothing',
    locations: ['eu-west-1'],
  });
  assert.equal(browser.status, 201);
  const { jobs } = await agent.checkIn(['URL']);
  assert.deepEqual(
    jobs.map((job) => [job.check.id, job.source, job.scheduledFor]),
    [[waiting, 'SCHEDULE_NOW', null]],
  );
  const far = new FakeAgent(cp, await cp.locationKey('us-east-1'));
  assert.deepEqual((await far.checkIn()).jobs, [], 'its first run is under way');
  await agent.submit(...jobs.map((job) => resultOfJob(job, { startedAt: start + 1 })));
  await agent.call('goodbye', { agentId: agent.id }, 204);
  const activatedLater = await makeCheck(cp, { activated: false });
  await cp.api('PUT', `/v1/checks/url/${activatedLater}`, { activated: true });
  assert.deepEqual(
    (await agent.checkIn()).jobs.map((job) => job.check.id),
    [activatedLater],
    'and no further one of what has run',
  );
});

test('a location speaks for the checks that run there, or once did, and for no others', async () => {
  const { clock, cp, agent } = await setUp();
  await using _cp = cp;
  const elsewhere = await makeCheck(cp, { locations: ['us-east-1'] });
  clock.advance(5 * 60_000);
  const slot = await firstSlotOf(cp, elsewhere);
  const forged = resultOf(elsewhere, { scheduledFor: slot });
  const [refusal] = await agent.handIn(forged);
  assert.deepEqual(
    [refusal?.outcome, refusal?.reason],
    ['refused', 'scheduledFor: is no slot of the check in eu-west-1'],
  );
  const moved = await makeCheck(cp);
  clock.advance(5 * 60_000);
  await cp.api('PUT', `/v1/checks/url/${moved}`, { locations: ['us-east-1'] });
  const then = await firstSlotOf(cp, moved);
  const [replayed] = await agent.handIn(resultOf(moved, { scheduledFor: then }));
  assert.equal(replayed?.outcome, 'accepted');
});

test('a result is stored once, whatever comes twice or late', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const id = await makeCheck(cp);
  const first = resultOf(id);
  const other = resultOf(id, { attempt: 2 });
  const outcomes = async (...items: unknown[]) =>
    (await agent.submit(...items)).map(({ outcome }) => outcome);
  assert.deepEqual(await outcomes(first, first), ['accepted', 'duplicate']);
  assert.deepEqual(await outcomes(first, other), ['duplicate', 'late']);
  const refused = [
    resultOf(randomUUID()),
    resultOf(id, { runLocation: 'us-east-1' }),
    resultOf(id, { runId: randomUUID(), scheduledFor: start + 60_000 }),
    { kind: 'result' },
    7,
  ];
  assert.deepEqual(
    (await agent.handIn(...refused)).map(({ outcome }) => outcome),
    refused.map(() => 'refused'),
  );
  const results = await cp.api('GET', `/v1/check-results/${id}?resultType=ALL`);
  assert.equal(results.body.length, 1);
  assert.equal(results.body[0].responseTime, 20);
  assert.equal(results.body[0].attempts, 1);
  const runs = await cp.api('GET', `/v1/check-runs/${id}`);
  assert.deepEqual(
    runs.body.map((run: { state: string; lateResults: number }) => [run.state, run.lateResults]),
    [['FINAL', 1]],
  );
  const lateList = await cp.api('GET', `/v2/check-results/${id}?isLate=true`);
  assert.deepEqual(
    lateList.body.entries.map((late: { id: string }) => late.id),
    [other.id],
  );
  assert.deepEqual(runs.body[0].lateResultIds, [other.id]);
  const late = await cp.api('GET', `/v1/check-results/${id}/${other.id}`);
  assert.deepEqual([late.status, late.body.isLate, late.body.attempts], [200, true, 2]);
  const files = await cp.api('GET', `/v1/check-results/${id}/${other.id}/assets`);
  assert.deepEqual([files.status, files.body.assets], [200, []]);
});

test('attempts that arrive after the FINAL of their run are attempts, and count as nothing else', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const id = await makeCheck(cp);
  const failed = { resultType: 'ATTEMPT', hasFailures: true } as const;
  const [final, second, first, beyond] = await agent.submit(
    resultOf(id, { attempt: 3 }),
    resultOf(id, { ...failed, attempt: 2 }),
    resultOf(id, { ...failed, attempt: 1 }),
    resultOf(id, { ...failed, attempt: 4 }),
  );
  assert.deepEqual(
    [final, second, first, beyond].map((item) => item?.outcome),
    ['accepted', 'accepted', 'accepted', 'late'],
  );
  const list = await cp.api('GET', `/v1/check-results/${id}?resultType=ALL`);
  const seen = list.body.map((one: { resultType: string; attempts: number }) => [
    one.attempts,
    one.resultType,
  ]);
  assert.deepEqual(seen.sort(), [
    [1, 'ATTEMPT'],
    [2, 'ATTEMPT'],
    [3, 'FINAL'],
  ]);
  const runs = await cp.api('GET', `/v1/check-runs/${id}`);
  assert.deepEqual(
    runs.body.map((run: { state: string; lateResults: number }) => [run.state, run.lateResults]),
    [['FINAL', 1]],
  );
  const status = await cp.api('GET', `/v1/check-statuses/${id}`);
  assert.equal(status.body.hasFailures, false);
});

test('a result whose agent had no room for what the run saw counts with its verdict, and says so', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const id = await makeCheck(cp);
  const tombstone = tombstoneOf(
    resultOf(id, { hasFailures: true, errorMessages: ['refused '.repeat(1000), 'and more'] }),
  );
  assert.ok(tombstone !== null && tombstone.length < 1_000);
  assert.equal((await agent.submit(JSON.parse(tombstone)))[0]?.outcome, 'accepted');
  const [run] = (await cp.api('GET', `/v1/check-runs/${id}`)).body;
  assert.deepEqual([run.state, run.missedReason], ['FINAL', null]);
  const { body } = await cp.api('GET', `/v1/check-results/${id}/${run.resultId}`);
  assert.deepEqual(
    [body.isPayloadDropped, body.hasFailures, body.responseTime, body.apiCheckResult],
    [true, true, 20, null],
  );
  assert.equal((await cp.api('GET', `/v1/check-statuses/${id}`)).body.hasFailures, true);
});

test('an attempt that another agent called the last one becomes the FINAL', async () => {
  const { clock, cp, agent } = await setUp();
  await using _cp = cp;
  const id = await makeCheck(cp);
  const attempt = resultOf(id, { resultType: 'ATTEMPT', hasFailures: true });
  await agent.submit(attempt);
  assert.equal((await cp.api('GET', `/v1/check-statuses/${id}`)).body, null);
  await sumUp(cp);
  const [outcome] = await agent.submit({ ...attempt, resultType: 'FINAL' });
  assert.equal(outcome?.outcome, 'accepted');
  assert.equal((await cp.api('GET', `/v1/check-statuses/${id}`)).body.hasFailures, true);
  clock.advance(1);
  await assertFailedOnce(cp, id);
});

test('an attempt that another agent made again, and that passed as the last one, comes after the failed one', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  for (const isOneCommit of [false, true]) {
    const id = await makeCheck(cp);
    const failed = resultOf(id, { resultType: 'ATTEMPT', hasFailures: true });
    const passed = { ...failed, resultType: 'FINAL', hasFailures: false } as const;
    if (isOneCommit) await agent.submit(failed, passed);
    else for (const each of [failed, passed]) await agent.submit(each);
    const [again] = await agent.submit(passed);
    assert.equal(again?.outcome, 'duplicate');
    const { body } = await cp.api('GET', `/v1/check-results/${id}?resultType=ALL`);
    const seen = body.map((one: { attempts: number; resultType: string; hasFailures: boolean }) => [
      ...[one.attempts, one.resultType, one.hasFailures],
    ]);
    assert.deepEqual(seen.sort(), [
      [1, 'ATTEMPT', true],
      [2, 'FINAL', false],
    ]);
    const status = await cp.api('GET', `/v1/check-statuses/${id}`);
    assert.equal(status.body.hasFailures, false);
    const [run] = (await cp.api('GET', `/v1/check-runs/${id}`)).body;
    const final = await cp.api('GET', `/v1/check-results/${id}/${run.resultId}`);
    assert.deepEqual([run.state, final.body.hasFailures], ['FINAL', false]);
    // The first agent did not know that another one had the run.
    const own = resultOf(id, { attempt: 2, hasFailures: true });
    const outcomes = [];
    for (const each of [own, own, { ...own, resultType: 'ATTEMPT' }, passed]) {
      outcomes.push((await agent.submit(each))[0]?.outcome);
    }
    assert.deepEqual(outcomes, ['late', 'duplicate', 'duplicate', 'duplicate']);
    assert.equal((await cp.api('GET', `/v1/check-statuses/${id}`)).body.hasFailures, false);
    const after = await cp.api('GET', `/v1/check-results/${id}/${run.resultId}`);
    assert.deepEqual(after.body, final.body);
  }
  const id = await makeCheck(cp);
  const failed = resultOf(id, { resultType: 'ATTEMPT', hasFailures: true });
  const own = resultOf(id, { attempt: 2, resultType: 'ATTEMPT', hasFailures: true });
  const items = [failed, { ...failed, resultType: 'FINAL', hasFailures: false }, own, own];
  const outcomes = (await agent.submit(...items)).map(({ outcome }) => outcome);
  assert.deepEqual(outcomes, ['accepted', 'accepted', 'late', 'duplicate'], 'in one commit');
});

test('a retry in another location becomes a job in a served location, and ends the run', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const id = await makeCheck(cp, { locations: ['eu-west-1', 'us-east-1'] });
  const far = new FakeAgent(cp, await cp.locationKey('us-east-1'));
  await agent.checkIn();
  await far.checkIn();
  const attempt = resultOf(id, {
    resultType: 'ATTEMPT',
    hasFailures: true,
    retryElsewhere: { notBefore: start, sequenceStartedAt: start },
  });
  await agent.submit(attempt, attempt);
  const { jobs } = await far.checkIn();
  assert.equal(jobs.length, 1);
  const [job] = jobs;
  assert.equal(job?.attempt, 2);
  assert.equal(job.runId, attempt.runId);
  await far.submit(resultOf(id, { attempt: 2, jobId: job.id, runLocation: 'us-east-1' }));
  const { body } = await cp.api('GET', `/v1/check-results/${id}`);
  assert.deepEqual(
    body.map((result: { runLocation: string; attempts: number }) => [
      result.runLocation,
      result.attempts,
    ]),
    [['us-east-1', 2]],
  );
});

test('a run whose retry nobody takes ends with its last attempt', async () => {
  const { clock, cp, agent } = await setUp();
  await using _cp = cp;
  const id = await makeCheck(cp, { locations: ['eu-west-1', 'us-east-1'] });
  await agent.submit(
    resultOf(id, {
      resultType: 'ATTEMPT',
      hasFailures: true,
      retryElsewhere: { notBefore: start, sequenceStartedAt: start },
    }),
  );
  await sumUp(cp);
  clock.advance(6 * 60_000);
  await expireJobs(cp.controlPlane.services);
  const { body } = await cp.api('GET', `/v1/check-results/${id}`);
  assert.equal(body[0].resultType, 'FINAL');
  assert.equal(body[0].hasFailures, true);
  await assertFailedOnce(cp, id);
});

test('status: old results widen only the extremes, and agent errors say nothing about the target', async () => {
  const { clock, cp, agent } = await setUp();
  await using _cp = cp;
  const id = await makeCheck(cp);
  clock.advance(15 * 60_000);
  const at = (minutes: number, fields: Partial<ResultSubmission>) =>
    resultOf(id, {
      scheduledFor: start + minutes * 60_000,
      startedAt: start + minutes * 60_000,
      ...fields,
    });
  const status = async () => (await cp.api('GET', `/v1/check-statuses/${id}`)).body;
  await agent.submit(at(10, { hasFailures: true, responseTime: 50 }));
  await agent.submit(at(5, { responseTime: 500 }));
  const replayed = await status();
  assert.deepEqual(
    [replayed.hasFailures, replayed.longestRun, replayed.shortestRun],
    [true, 500, 50],
  );
  await agent.submit(at(11, { hasErrors: true, responseTime: 0 }));
  const faulty = await status();
  assert.deepEqual([faulty.hasErrors, faulty.hasFailures, faulty.shortestRun], [true, true, 50]);
  await agent.submit(at(12, {}));
  const well = await status();
  assert.deepEqual([well.hasErrors, well.hasFailures], [false, false]);
  assert.deepEqual(well.unservedLocations, ['eu-west-1']);
});

test('a slot nobody ran is missed, with its reason, until its result arrives after all', async () => {
  const { clock, cp, agent } = await setUp();
  await using _cp = cp;
  const id = await makeCheck(cp);
  clock.advance(5 * 60_000);
  await sweepSlots(cp.controlPlane.services);
  const runs = async () => (await cp.api('GET', `/v1/check-runs/${id}`)).body;
  const missed = await runs();
  assert.ok(missed.length >= 3, `${missed.length} slots`);
  for (const run of missed) {
    assert.deepEqual(
      [run.state, run.missedReason, run.location],
      ['MISSED', 'no-agent', 'eu-west-1'],
    );
  }
  const slot = Date.parse(missed[0].scheduledFor);
  const [outcome] = await agent.submit(resultOf(id, { scheduledFor: slot, startedAt: slot }));
  assert.equal(outcome?.outcome, 'accepted');
  const [newest] = await runs();
  assert.deepEqual([newest.state, newest.missedReason], ['FINAL', null]);
});

test('an error that is handed in late neither revives its group nor counts as seen now', async () => {
  const { clock, cp, agent } = await setUp();
  await using _cp = cp;
  const id = await makeCheck(cp);
  const fail = (at: number) =>
    resultOf(id, {
      ...{ scheduledFor: at, startedAt: at, stoppedAt: at + 20, hasFailures: true },
      errorMessages: ['out of stock'],
    });
  clock.advance(3 * 3_600_000);
  const now = clock.now();
  await agent.submit(fail(now - 60_000));
  const [result] = (await cp.api('GET', `/v1/check-results/${id}`)).body;
  const path = `/v1/error-groups/${result.errorGroupIds[0] as string}`;
  await cp.api('PATCH', path, { archivedUntilNextEvent: true });
  clock.advance(60_000);
  await agent.submit(fail(now - 2 * 3_600_000));
  const { body } = await cp.api('GET', path);
  assert.equal(body.archivedUntilNextEvent, true);
  assert.deepEqual(
    [Date.parse(body.firstSeen as string), Date.parse(body.lastSeen as string)],
    [now - 2 * 3_600_000 + 20, now - 60_000 + 20],
  );
});

test('a slot is missed only when a run of its type could have ended', async () => {
  const { clock, cp } = await setUp();
  await using _cp = cp;
  const url = await makeCheck(cp);
  const { body: browser } = await cp.api('POST', '/v1/checks/browser', {
    name: 'b',
    script: '',
    locations: ['eu-west-1'],
    frequency: 1,
  });
  /** Seconds since the newest slot that counts as missed. */
  const newestMissed = async (id: string) => {
    const [run] = (await cp.api('GET', `/v1/check-runs/${id}`)).body;
    return run === undefined ? null : (clock.now() - Date.parse(run.scheduledFor as string)) / 1000;
  };
  const isWithin = (seconds: number | null, from: number) => {
    assert.ok(seconds !== null && seconds >= from && seconds <= from + 60, String(seconds));
  };
  const sweepIn = async (minutes: number) => {
    clock.advance(minutes * 60_000);
    while (await sweepSlots(cp.controlPlane.services));
  };
  await sweepIn(5);
  isWithin(await newestMissed(url), 90);
  assert.equal(await newestMissed(browser.id as string), null, 'it may still be running');
  for (const minutes of [4, 11, 200]) {
    await sweepIn(minutes);
    isWithin(await newestMissed(url), 90);
    isWithin(await newestMissed(browser.id as string), 360);
  }
});

test('results are listed in a window of six hours, newest first, by type and place', async () => {
  const { clock, cp, agent } = await setUp();
  await using _cp = cp;
  const id = await makeCheck(cp);
  const hour = 3_600_000;
  clock.advance(7.5 * hour);
  for (const hours of [0, 1, 5, 7]) {
    const at = start + hours * hour;
    await agent.submit(
      resultOf(id, { scheduledFor: at, startedAt: at, hasFailures: hours === 5 }),
      resultOf(id, {
        scheduledFor: at + 1,
        startedAt: at + 1,
        resultType: 'ATTEMPT',
      }),
    );
  }
  const list = async (query: string) => {
    const { body, status } = await cp.api('GET', `/v1/check-results/${id}?${query}`);
    assert.equal(status, 200, query);
    return body.map(
      (result: { startedAt: string }) => (Date.parse(result.startedAt) - start) / hour,
    );
  };
  const seconds = (hours: number) => (start + hours * hour) / 1000;
  assert.deepEqual(await list(''), [7, 5]);
  assert.deepEqual(await list(`from=${seconds(0)}`), [5, 1, 0]);
  assert.deepEqual(await list(`from=${seconds(1)}&to=${seconds(5)}`), [1]);
  assert.deepEqual(await list(`to=${seconds(6)}`), [5, 1, 0]);
  assert.deepEqual(await list('hasFailures=true'), [5]);
  assert.deepEqual(await list('location=us-east-1'), []);
  assert.deepEqual((await list('resultType=ALL')).length, 4);
  assert.deepEqual((await list('resultType=ATTEMPT')).length, 2);
  assert.deepEqual(await list('limit=1&page=2'), [5]);
  for (const query of [
    `from=${seconds(5)}&to=${seconds(1)}`,
    'from=yesterday',
    'resultType=LATE',
    'hasFailures=yes',
    'limit=101',
  ]) {
    assert.equal((await cp.api('GET', `/v1/check-results/${id}?${query}`)).status, 400, query);
  }
});

test('an agent of a protocol that is not spoken is refused before its words are weighed', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const key = await cp.locationKey('eu-central-1');
  const ask = (method: string, path: string, body: unknown, headers: Record<string, string> = {}) =>
    cp.api(method, `/v1/agent/${path}`, body, { authorization: `Bearer ${key}`, ...headers });
  const newer = { 'agent-protocol': '3' };
  const refused = [
    await ask('POST', 'check-in', checkInOf({ agentId: agent.id, protocol: 3 })),
    await ask('POST', 'check-in', { its: 'own shape' }, newer),
    await ask('POST', 'results', { other: [] }, newer),
    await ask('PUT', `artifacts/${agent.id}/a.txt`, 'text', newer),
    await ask('POST', 'goodbye', {}, newer),
  ];
  for (const { status, body } of refused) {
    assert.equal(status, 409);
    const { requestId, ...attributes } = body.attributes;
    assert.equal(typeof requestId, 'string');
    assert.deepEqual(attributes, {
      code: 'PROTOCOL_UNSUPPORTED',
      protocol: { agent: 3, controlPlane: { oldest: 1, newest: 2 } },
      upgrade: 'control-plane',
    });
    assert.match(body.message, /speaks protocols 1 to 2 of agents and the agent protocol 3/);
  }
  for (const header of ['', '1, 1', 'one']) {
    const changed = await ask('POST', 'results', { items: [] }, { 'agent-protocol': header });
    const { source, keys } = changed.body.attributes;
    assert.deepEqual([changed.status, source, keys], [400, 'headers', ['agent-protocol']]);
  }
  // A key that is none learns nothing, and the same agent is welcome in the protocol spoken here.
  const stranger = { ...newer, authorization: 'Bearer pl_nobody' };
  assert.equal((await ask('POST', 'results', {}, stranger)).status, 401);
  const spoken = { 'agent-protocol': '1' };
  const answer = await ask('POST', 'check-in', checkInOf({ agentId: agent.id }), spoken);
  assert.equal(answer.status, 200);
});
