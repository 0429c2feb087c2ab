// Own process: the process remembers the runner of each type.
/** The coordinator of a shared run, against a control plane that answers as the protocol says. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { pino } from 'pino';
import {
  shardOutcome,
  type ShardAnswer,
  type ShardOutcome,
} from '@monitor/shared/contract/agent-protocol.ts';
import { playwrightCheck } from '@monitor/shared/contract/checks/playwright.ts';
import {
  outcomeWithoutAttempt,
  type Attempt,
  type AttemptOutcome,
  type AttemptTools,
} from '../../../../agent/worker/attempt.ts';
import { CallFailure } from '../../../../agent/link/control-plane-client.ts';
import { LeaseBook } from '../../../../agent/worker/lease-book.ts';
import { ProcessTime } from '../../../../agent/worker/process-time.ts';
import { SharedRuns } from '../../../../agent/worker/shards/shared-runs.ts';
import type { Observation, RunnerContext } from '../../../../agent/runners/runner.ts';
import { fakeKernel } from '../../../support/fake-kernel.ts';
import { assignedCheck } from '../../../support/plain.ts';
import { runnerContext } from '../../../support/runner-context.ts';
import { TestClock } from '../../../support/test-clock.ts';
import { outcomeOfShard } from '../../../support/world.ts';

const logger = pino({ level: 'silent' });
const refused = new CallFailure('CONTROL_PLANE_REFUSED', 'too large', { statusCode: 413 });
const away = new CallFailure('CONTROL_PLANE_UNREACHABLE', 'away', {});
const jobId = randomUUID();
const resultId = randomUUID();

const detailsOf = (title: string) => ({
  ...{ errors: [], startTime: 1, endTime: 2, runtimeVersion: '', jobLog: [], jobAssets: [] },
  ...{ playwrightTestTraces: [], playwrightTestJsonReportFile: null },
  ...{ playwrightTestVideos: [], playwrightTraceFiles: [] },
  tests: [
    {
      ...{ title, file: 'a.spec.ts', project: '', tags: [], status: 'passed' as const },
      ...{ outcome: 'expected' as const, retries: 0, durationMs: 1, errors: [], steps: [] },
    },
  ],
  metrics: {
    ...{ total: 1, passed: 1, failed: 0, flaky: 0, skipped: 0, retries: 0 },
    ...{ durationMs: 1, installMs: 1, cacheHit: false },
  },
});
const otherShard = (title: string): ShardOutcome => ({
  ...outcomeOfShard,
  playwrightCheckResult: detailsOf(title),
});

type Asked = Parameters<SharedRuns['make']>;
type Client = ConstructorParameters<typeof SharedRuns>[0]['client'];

/** What ran on this agent, in the present test. */
let made: string[] = [];
/** What a shard that runs here comes to, in the present test. */
let comesTo: (name: string) => Partial<Observation> = () => ({});

/** Each entry answers one question, in order; the last one answers all that follow. */
function setUp(
  answers: ((has: readonly number[]) => Partial<ShardAnswer> | Error)[],
  finish: () => 'accepted' | 'duplicate' | 'lost' | Error = () => 'accepted',
  ownRun: (name: string, clock: TestClock) => Partial<Observation> = () => ({}),
) {
  const clock = new TestClock(1_000_000);
  const leases = new LeaseBook();
  made = [];
  comesTo = (name) => ownRun(name, clock);
  const files: string[] = [];
  const released: string[] = [];
  const handedIn: ShardOutcome[] = [];
  const controller = new AbortController();
  const client: Client = {
    shareRun: ({ has }) => {
      const answer = (answers.length > 1 ? answers.shift() : answers[0])?.(has) ?? {};
      // The time of a poll, and the pause before the next one.
      clock.advance(5_000);
      if (answer instanceof Error) setImmediate(() => clock.advance(2_000));
      return answer instanceof Error
        ? Promise.reject(answer)
        : Promise.resolve({ refusal: null, total: 3, claim: null, outcomes: [], ...answer });
    },
    finishShard: (_jobId, outcome) => {
      handedIn.push(shardOutcome.parse(outcome));
      const answer = finish();
      if (answer instanceof Error) setImmediate(() => clock.advance(2_000));
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    release: (jobIds) => Promise.resolve(void released.push(...jobIds)),
  };
  const runs = new SharedRuns({
    ...{ client, leases, logger, clock },
    spool: {
      commit: (entry) => void files.push(`commit ${entry}`),
      abandon: (entry) => Promise.resolve(void files.push(`abandon ${entry}`)),
    },
  });
  const observe = (_: unknown, { part }: RunnerContext): Promise<Observation> => {
    const name = part !== undefined && 'shard' in part ? `own ${part.shard.index}` : 'whole';
    made.push(name);
    return Promise.resolve({
      ...{ startedAt: 1, stoppedAt: 2, responseTime: 1, failure: null, request: {}, response: {} },
      details: { playwrightCheckResult: detailsOf(name) },
      ...comesTo(name),
    });
  };
  const check = assignedCheck({
    ...{ id: randomUUID(), type: 'PLAYWRIGHT', revision: 4 },
    definition: playwrightCheck.create.parse({ name: 'suite', codeBundlePath: 'b.tgz', shards: 3 }),
  });
  const tools = {
    ...{ clock, network: runnerContext().network, scripting: null, scriptingProblem: null },
    // The kernel of this machine knows nothing of the clock, and would be asked at each of its ticks.
    processTime: new ProcessTime({ clock, kernel: fakeKernel(clock) }),
    runners: { PLAYWRIGHT: { load: () => Promise.resolve(observe), pool: 'heavy' } },
    artifactsOf: () => ({
      ...{ add: () => Promise.resolve(''), finish: () => Promise.resolve([]) },
      discard: () => Promise.resolve(),
    }),
  } as unknown as AttemptTools;
  const run = {
    ...{ check, runId: randomUUID(), slotLocation: 'here', runLocation: 'here', epoch: 1 },
    ...{ scheduledFor: null, jobId: randomUUID(), attempt: 1, sequenceStartedAt: null },
    ...{ source: null, environmentUrl: null },
  } satisfies Asked[0];
  const attempt = {
    ...{ check, environmentUrl: null, latestStart: clock.now() },
    run: { resultId, runId: run.runId },
  } as unknown as Attempt;
  const make = () => runs.make(run, attempt, tools, controller.signal);
  /** Hands in a shard of another agent's run. */
  const handIn = async (fields: Partial<AttemptOutcome> = {}) => {
    leases.hold(jobId, jobId);
    const steps: string[] = [];
    const done = runs.handInFor(
      { ...run, jobId, shard: { index: 2, total: 3 } },
      attempt,
      { ...outcomeWithoutAttempt(1), playwrightCheckResult: detailsOf('own 2'), ...fields },
      {
        signal: controller.signal,
        isCancelled: () => controller.signal.reason === 'cancelled',
        releasePermit: () => void steps.push(`permit back, ${handedIn.length} sent`),
      },
    );
    await done;
    return steps;
  };
  return { make, handIn, files, handedIn, leases, controller, clock, released };
}

type Made = Awaited<ReturnType<SharedRuns['make']>>;

function outcomeOf(made: Made): AttemptOutcome {
  assert.ok(made !== undefined && 'startedAt' in made, JSON.stringify(made));
  return made;
}

function titlesOf(made: Made): string[] {
  const outcome = outcomeOf(made);
  return (outcome.playwrightCheckResult?.tests ?? []).map(({ title }) => title).toSorted();
}

const outcomes = (...indexes: number[]) =>
  indexes.map((index) => ({ index, outcome: JSON.stringify(otherShard(`other ${index}`)) }));

test('a coordinator runs what waits, gathers what others came to, and makes one outcome of it', async () => {
  const has: (readonly number[])[] = [];
  const note = (answer: Partial<ShardAnswer>) => (known: readonly number[]) => {
    has.push(known);
    return answer;
  };
  const { make, handedIn, files, leases } = setUp([
    note({ claim: { jobId, index: 1 } }),
    note({ outcomes: outcomes(3) }),
    note({}),
    note({ outcomes: outcomes(2) }),
  ]);
  const outcome = await make();
  assert.deepEqual(titlesOf(outcome), ['other 2', 'other 3', 'own 1']);
  assert.deepEqual(has, [[], [1], [1, 3], [1, 3]]);
  assert.deepEqual([made, handedIn.length], [['own 1'], 1]);
  assert.deepEqual(files, [`commit ${resultId}-1`]);
  assert.deepEqual(leases.jobIds, []);
});

test('a shard that another agent took meanwhile counts as that agent says', async () => {
  const { make, files } = setUp(
    [() => ({ claim: { jobId, index: 1 } }), () => ({ outcomes: outcomes(1, 2, 3) })],
    () => 'lost',
  );
  assert.deepEqual(titlesOf(await make()), ['other 1', 'other 2', 'other 3']);
  assert.deepEqual([made, files], [['own 1'], [`abandon ${resultId}-1`]]);
});

test('while the control plane is away the coordinator runs what is missing itself', async () => {
  const { make } = setUp([
    () => ({ claim: { jobId, index: 2 } }),
    () => ({ outcomes: outcomes(3) }),
    () => away,
  ]);
  assert.deepEqual(titlesOf(await make()), ['other 3', 'own 1', 'own 2']);
  assert.deepEqual(made, ['own 2', 'own 1']);
});

test('a run that cannot be shared is made alone, and the reason is known', async () => {
  for (const [answer, reason] of [
    [away, 'the control plane cannot be asked'],
    [
      new CallFailure('CONTROL_PLANE_REFUSED', 'no', { statusCode: 404 }),
      'the control plane does not share it',
    ],
    [{ refusal: 'nobody else is here', total: 0 }, 'nobody else is here'],
  ] as const) {
    assert.deepEqual(await setUp([() => answer]).make(), { whyWhole: reason });
  }
});

test('a shard that nobody ends in time is named, and is no failure of the target', async () => {
  const outcome = outcomeOf(await setUp([() => ({ outcomes: outcomes(1, 3) }), () => ({})]).make());
  assert.deepEqual(
    [outcome.hasErrors, outcome.hasFailures, outcome.faultCode],
    [true, false, 'SHARDS_UNFINISHED'],
  );
  assert.match(outcome.reason ?? '', /^shard 2 of 3 did not end in time/);
  assert.equal(outcome.playwrightCheckResult?.tests.length, 2);
});

test('a coordinator that is cancelled hands in nothing more', async () => {
  const { make, controller, handedIn, leases, released, files } = setUp([
    () => {
      controller.abort();
      return { claim: { jobId, index: 1 } };
    },
  ]);
  const outcome = outcomeOf(await make());
  assert.deepEqual([outcome.hasErrors, handedIn.length], [false, 0]);
  assert.deepEqual([leases.jobIds, released], [[], [jobId]], 'its shard is not held any longer');
  assert.deepEqual(files, [`abandon ${resultId}-1`]);
});

const failure = {
  ...{ phase: 'script', code: 'TESTS_FAILED', message: 'broke', isNetworkError: false },
};

test('a first question whose answer is lost is asked again before a run is made alone', async () => {
  const { make } = setUp([() => away, () => ({ outcomes: outcomes(1, 2, 3) })]);
  assert.deepEqual(titlesOf(await make()), ['other 1', 'other 2', 'other 3']);
  assert.deepEqual(made, []);
});

test('a shard with an agent error of another agent is run once more here, and is not asked for', async () => {
  const sick = { ...outcomeOfShard, hasErrors: true, reason: 'no browser', faultCode: 'X' };
  for (const outcome of [JSON.stringify(sick), '{"of":"a newer agent"}', 'nothing']) {
    const has: (readonly number[])[] = [];
    const { make } = setUp([
      () => ({ outcomes: [{ index: 2, outcome }] }),
      (known) => {
        has.push(known);
        return { outcomes: outcomes(1, 3) };
      },
    ]);
    assert.deepEqual(titlesOf(await make()), ['other 1', 'other 3', 'own 2']);
    assert.deepEqual([made, has], [['own 2'], [[2]]]);
  }
  const late = setUp(
    [
      () => ({
        claim: { jobId, index: 1 },
        outcomes: [...outcomes(3), { index: 2, outcome: JSON.stringify(sick) }],
      }),
    ],
    undefined,
    (_, clock) => {
      clock.advance(3_600_000);
      return {};
    },
  );
  const { hasErrors, reason } = outcomeOf(await late.make());
  assert.deepEqual([hasErrors, reason, made], [true, 'shard 2 of 3: no browser', ['own 1']]);
});

test('a shard that the end of its run cuts off is no failure, unless a test failed before', async () => {
  const cutOff = (status: 'interrupted' | 'failed') => {
    const details = detailsOf('own');
    const tests = details.tests.map((one) => ({ ...one, status, outcome: 'unexpected' as const }));
    return setUp(
      [() => ({ claim: { jobId, index: 1 } }), () => ({ claim: { jobId, index: 2 } })],
      undefined,
      (name, clock) => {
        clock.advance(name === 'own 1' ? 600_000 : 3_600_000);
        if (name === 'own 1') return {};
        return { failure, details: { playwrightCheckResult: { ...details, tests } } };
      },
    );
  };
  const late = cutOff('interrupted');
  const unfinished = outcomeOf(await late.make());
  assert.deepEqual(
    [unfinished.hasFailures, unfinished.faultCode, late.leases.jobIds, late.released],
    [false, 'SHARDS_UNFINISHED', [], [jobId]],
  );
  assert.deepEqual(late.files, [`commit ${resultId}-1`, `abandon ${resultId}-2`]);
  assert.match(unfinished.reason ?? '', /^shards 2, 3 of 3/);
  assert.equal(outcomeOf(await cutOff('failed').make()).hasFailures, true);
});

test('a shard that had all the time of a run fails when it does not end, as a whole suite would', async () => {
  const { make } = setUp([() => ({ claim: { jobId, index: 1 } })], undefined, (_, clock) => {
    clock.advance(3_600_000);
    return { stoppedAt: 3_600_001, failure: { ...failure, code: 'TIMEOUT' } };
  });
  assert.equal(outcomeOf(await make()).hasFailures, true);
});

test('a failure that was seen here counts, also where another agent took the shard meanwhile', async () => {
  const { make, files } = setUp(
    [() => ({ claim: { jobId, index: 1 } }), () => ({ outcomes: outcomes(1, 2, 3) })],
    () => 'lost',
    () => ({ failure }),
  );
  assert.equal(outcomeOf(await make()).hasFailures, true);
  assert.deepEqual(files, [`commit ${resultId}-1`]);
});

test('what nobody expects ends a shared run in an agent error, and its shard is given back', async () => {
  for (const answers of [
    [() => new TypeError('bug')],
    [() => ({ claim: { jobId, index: 1 } }), () => new TypeError('bug')],
  ]) {
    const outcome = outcomeOf(await setUp(answers).make());
    assert.deepEqual([outcome.hasErrors, outcome.faultCode], [true, 'RUNNER_BROKEN']);
  }
  const { make, leases, released } = setUp(
    [() => ({ claim: { jobId, index: 1 } })],
    () => new TypeError('bug'),
  );
  assert.equal(outcomeOf(await make()).hasErrors, true);
  assert.deepEqual([leases.jobIds, released], [[], [jobId]]);
});

test('a shard that is handed in keeps no permit, and is given back when the control plane stays away', async () => {
  const { handIn, handedIn, files, leases, released, clock } = setUp([], () => away);
  const begunAt = clock.monotonic();
  assert.deepEqual(await handIn(), ['permit back, 0 sent']);
  assert.ok(handedIn.length > 20);
  assert.ok(clock.monotonic() - begunAt <= 62_000, String(clock.monotonic() - begunAt));
  assert.deepEqual([leases.jobIds, released], [[], [jobId]]);
  assert.deepEqual(files, [`commit ${resultId}-2`], 'it may have been taken');
});

test('the files of a shard stay that was taken although the answer was lost', async () => {
  const answers: ('lost' | Error)[] = [away, 'lost'];
  const { handIn, files, leases } = setUp([], () => answers.shift() ?? away);
  await handIn();
  assert.deepEqual([files, leases.jobIds], [[`commit ${resultId}-2`], []]);
  const other = setUp([], () => 'lost');
  await other.handIn();
  assert.deepEqual(other.files, [`abandon ${resultId}-2`], 'it was lost from the beginning');
});

test('in the place of an outcome that is refused an agent error is handed in, which says why', async () => {
  const answers: ('accepted' | Error)[] = [refused];
  const { handIn, handedIn, files, leases, released } = setUp(
    [],
    () => answers.shift() ?? 'accepted',
  );
  await handIn({ hasFailures: true });
  assert.deepEqual(
    handedIn.map(({ hasFailures, hasErrors, reason }) => [hasFailures, hasErrors, reason]),
    [
      [true, false, null],
      [false, true, 'what it came to was refused: too large'],
    ],
  );
  assert.deepEqual([files, leases.jobIds, released], [[`abandon ${resultId}-2`], [], []]);
  const never = setUp([], () => refused);
  await never.handIn();
  assert.deepEqual([never.handedIn.length, never.released], [2, [jobId]]);
});

test('an outcome that others could not read is handed in as an agent error', async () => {
  const { handIn, handedIn } = setUp([]);
  await handIn({ startedAt: -1 });
  assert.deepEqual([handedIn[0]?.hasErrors, handedIn[0]?.faultCode], [true, 'RUNNER_BROKEN']);
});

test('a shard that is cancelled is given back; one whose lease is lost is left to its next holder', async () => {
  for (const [reason, givenBack] of [
    ['cancelled', [jobId]],
    ['lost', []],
  ] as const) {
    const { handIn, handedIn, controller, released } = setUp([]);
    controller.abort(reason);
    await handIn();
    assert.deepEqual([handedIn, released], [[], givenBack]);
  }
});
