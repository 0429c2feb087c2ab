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
import type { Attempt, AttemptOutcome, AttemptTools } from '../../../../agent/worker/attempt.ts';
import { CallFailure } from '../../../../agent/link/control-plane-client.ts';
import { LeaseBook } from '../../../../agent/worker/lease-book.ts';
import { ProcessTime } from '../../../../agent/worker/process-time.ts';
import { SharedRuns } from '../../../../agent/worker/shards/shared-runs.ts';
import type { Observation, RunnerContext } from '../../../../agent/runners/runner.ts';
import { assignedCheck } from '../../../support/plain.ts';
import { runnerContext } from '../../../support/runner-context.ts';
import { TestClock } from '../../../support/test-clock.ts';
import { outcomeOfShard } from '../../../support/world.ts';

const logger = pino({ level: 'silent' });
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

/** Each entry answers one question, in order; the last one answers all that follow. */
function setUp(
  answers: ((has: readonly number[]) => Partial<ShardAnswer> | Error)[],
  finish: () => 'accepted' | 'duplicate' | 'lost' | Error = () => 'accepted',
) {
  const clock = new TestClock(1_000_000);
  const leases = new LeaseBook();
  made = [];
  const files: string[] = [];
  const handedIn: ShardOutcome[] = [];
  const controller = new AbortController();
  const client: Client = {
    shareRun: ({ has }) => {
      const answer = (answers.length > 1 ? answers.shift() : answers[0])?.(has) ?? {};
      // Whoever waits for an answer, or for the next question, has that time pass.
      clock.advance(10_000);
      if (answer instanceof Error) setImmediate(() => clock.advance(10_000));
      return answer instanceof Error
        ? Promise.reject(answer)
        : Promise.resolve({ refusal: null, total: 3, claim: null, outcomes: [], ...answer });
    },
    finishShard: (_jobId, outcome) => {
      handedIn.push(shardOutcome.parse(outcome));
      const answer = finish();
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    release: () => Promise.resolve(),
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
    });
  };
  const check = assignedCheck({
    ...{ id: randomUUID(), type: 'PLAYWRIGHT', revision: 4 },
    definition: playwrightCheck.create.parse({ name: 'suite', codeBundlePath: 'b.tgz', shards: 3 }),
  });
  const tools = {
    ...{ clock, network: runnerContext().network, scripting: null, scriptingProblem: null },
    processTime: new ProcessTime({ clock }),
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
  return { make, files, handedIn, leases, controller, clock };
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
  const { make, controller, handedIn } = setUp([
    () => {
      controller.abort();
      return { claim: { jobId, index: 1 } };
    },
  ]);
  const outcome = outcomeOf(await make());
  assert.deepEqual([outcome.hasErrors, handedIn.length], [false, 0]);
});
