// Own process: it replaces a method of SQLite.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StatementSync } from 'node:sqlite';
import test from 'node:test';
import fc from 'fast-check';
import { pino } from 'pino';
import type { ResultSubmission, Submission } from '@monitor/shared/contract/agent-protocol.ts';
import { AgentError } from '../../../agent/errors.ts';
import { Outbox } from '../../../agent/worker/outbox.ts';
import { temporaryFolder } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';
import { nothingSeen, withoutDetails } from '../../support/plain.ts';

const logger = pino({ level: 'silent' });

function open(
  directory: string,
  clock = new TestClock(1_000),
  maxBytes = 1e9,
  log = logger,
): Outbox {
  return new Outbox({ directory, maxBytes, maxAgeMs: 3_600_000, clock, logger: log });
}

function submission(name: string, resultType: 'FINAL' | 'ATTEMPT' = 'FINAL'): ResultSubmission {
  return {
    ...{ kind: 'result', id: randomUUID(), runId: randomUUID(), checkId: randomUUID() },
    ...{ checkRevision: 1, checkType: 'URL', name, slotLocation: 'here', runLocation: 'here' },
    ...{ scheduledFor: 1, jobId: null, attempt: 1, resultType, retryElsewhere: null },
    ...{ startedAt: 1, stoppedAt: 1, responseTime: 1, hasFailures: false, hasErrors: false },
    ...{ isDegraded: false, overMaxResponseTime: false, underLoad: false, epoch: 1 },
    ...withoutDetails,
    apiCheckResult: null,
  };
}

function namesIn(outbox: Outbox): string[] {
  return outbox
    .take(0, Number.MAX_SAFE_INTEGER, 10_000, 1e9)
    .map(({ payload }) => (JSON.parse(payload) as { name: string }).name);
}

type Step =
  | { do: 'put'; isAttempt: boolean }
  | { do: 'commit' | 'acknowledge' | 'refuse' | 'reopen' | 'fill the disk' | 'free the disk' };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant('put' as const), isAttempt: fc.boolean() }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constantFrom(
          'commit' as const,
          'acknowledge' as const,
          'refuse' as const,
          'reopen' as const,
          'fill the disk' as const,
          'free the disk' as const,
        ),
      }),
    },
  ),
  { maxLength: 40 },
);

test('it holds exactly what a list in memory would, over any sequence of uses and restarts, on a disk that is full at times', async (t) => {
  let full: { mock: { restore: () => void } } | null = null;
  const free = (): void => {
    full?.mock.restore();
    full = null;
  };
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      free();
      using folder = temporaryFolder();
      let outbox = open(folder.path);
      let model: string[] = [];
      let dead = 0;
      for (const [index, step] of sequence.entries()) {
        switch (step.do) {
          case 'put':
            void outbox.put({
              submission: submission(`r${index}`, step.isAttempt ? 'ATTEMPT' : 'FINAL'),
            });
            model.push(`r${index}`);
            break;
          case 'commit':
            outbox.commit();
            break;
          case 'acknowledge':
          case 'refuse': {
            outbox.commit();
            const [first] = outbox.take(0, Number.MAX_SAFE_INTEGER, 1, 1e9);
            if (first === undefined) break;
            if (step.do === 'acknowledge') outbox.acknowledge([first.seq]);
            else {
              outbox.refuse(first.seq, 'no');
              if (full === null) dead += 1;
            }
            model = model.slice(1);
            break;
          }
          case 'fill the disk':
            full ??= t.mock.method(StatementSync.prototype, 'run', () => {
              throw new Error('database or disk is full');
            });
            break;
          case 'free the disk':
            free();
            break;
          case 'reopen':
            free();
            await outbox[Symbol.asyncDispose]();
            outbox = open(folder.path);
            break;
        }
      }
      outbox.commit();
      assert.deepEqual(namesIn(outbox), model);
      free();
      await outbox[Symbol.asyncDispose]();
      outbox = open(folder.path);
      assert.deepEqual(namesIn(outbox), model);
      assert.equal(outbox.state().depth, model.length);
      assert.equal(outbox.deadLetters().length, dead);
      await outbox[Symbol.asyncDispose]();
    }),
    { numRuns: 60 },
  );
});

test('a record is on disk when put resolves, together with what belongs to it', async () => {
  using folder = temporaryFolder();
  const clock = new TestClock(1_000);
  const outbox = open(folder.path, clock);
  const put = outbox.put({
    submission: submission('a'),
    finishedSlot: { checkId: 'c', scheduledFor: 500 },
    pendingRetry: { runId: 'r', dueAt: 2_000, payload: '{}' },
  });
  clock.advance(20);
  await put;
  const { agentId } = outbox;
  await outbox[Symbol.asyncDispose]();
  const again = open(folder.path);
  assert.equal(again.agentId, agentId);
  assert.deepEqual(namesIn(again), ['a']);
  assert.deepEqual([...again.finishedSlots()], [['c', 500]]);
  assert.deepEqual(again.pendingRetries(), [{ runId: 'r', dueAt: 2_000, payload: '{}' }]);
  void again.put({ submission: submission('b'), endsRetryOf: 'r' });
  again.commit();
  assert.deepEqual(again.pendingRetries(), []);
  await again[Symbol.asyncDispose]();
});

test('commits follow each other in steps of 200 ms, and a pause is followed by one at once', async () => {
  using folder = temporaryFolder();
  const clock = new TestClock(1_000);
  await using outbox = open(folder.path, clock);
  const commits: number[] = [];
  outbox.onAdded(() => commits.push(clock.monotonic()));
  for (let ms = 0; ms < 400; ms += 20) {
    void outbox.put({ submission: submission(`r${ms}`) });
    clock.advance(20);
  }
  clock.advance(1_000);
  assert.deepEqual(commits, [10, 210, 410]);
  void outbox.put({ submission: submission('after a pause') });
  clock.advance(10);
  assert.equal(commits.length, 4);
});

test('what was delivered is gone from disk with the next commit, or after a while without one', async () => {
  using folder = temporaryFolder();
  const clock = new TestClock(1_000);
  const outbox = open(folder.path, clock);
  /** As a kill would leave it. */
  const onDisk = async (): Promise<string[]> => {
    using copy = temporaryFolder();
    cpSync(folder.path, copy.path, { recursive: true });
    await using other = open(copy.path);
    return namesIn(other);
  };
  putNow(outbox, submission('a'));
  outbox.acknowledge([1]);
  assert.deepEqual([outbox.state().depth, outbox.state().oldestAt, namesIn(outbox)], [0, null, []]);
  putNow(outbox, submission('b'));
  assert.deepEqual(await onDisk(), ['b']);
  outbox.acknowledge([2]);
  clock.advance(5_000);
  assert.deepEqual(await onDisk(), []);
  await outbox[Symbol.asyncDispose]();
});

test('records beyond what is kept in memory are read back in their order', async () => {
  using folder = temporaryFolder();
  await using outbox = open(folder.path);
  const names = Array.from({ length: 40 }, (_, index) => `r${index}`);
  for (const name of names) putNow(outbox, largeResult(name, 100_000));
  const seen: string[] = [];
  for (let after = 0; seen.length < names.length;) {
    const taken = outbox.take(after, outbox.newestSeq(), 7, 1e9);
    seen.push(...taken.map(({ payload }) => (JSON.parse(payload) as { name: string }).name));
    outbox.acknowledge(taken.map(({ seq }) => seq));
    after = taken.at(-1)?.seq ?? 0;
  }
  assert.deepEqual(seen, names);
  assert.deepEqual([outbox.state().depth, outbox.state().bytes], [0, 0]);
});

test('the newest slot of each check is known after a restart, however often it finished one', async () => {
  using folder = temporaryFolder();
  let outbox = open(folder.path);
  for (let index = 0; index < 1_300; index += 1) {
    const finishedSlot = { checkId: `c${index % 700}`, scheduledFor: 1_000 + index };
    void outbox.put({ submission: submission('a'), finishedSlot });
    if (index % 20 === 0) outbox.commit();
  }
  void outbox.put({
    submission: submission('late'),
    finishedSlot: { checkId: 'c1', scheduledFor: 5 },
  });
  outbox.commit();
  const expected = Array.from({ length: 700 }, (_, index): [string, number] => [
    `c${index}`,
    1_000 + index + (index < 600 ? 700 : 0),
  ]);
  const slots = () => [...outbox.finishedSlots()].sort(([, one], [, other]) => one - other);
  expected.sort(([, one], [, other]) => one - other);
  assert.deepEqual(slots(), expected);
  using copy = temporaryFolder();
  cpSync(folder.path, copy.path, { recursive: true });
  await outbox[Symbol.asyncDispose]();
  outbox = open(copy.path);
  assert.deepEqual(slots(), expected, 'after a kill');
  await outbox[Symbol.asyncDispose]();
  outbox = open(folder.path);
  assert.deepEqual(slots(), expected, 'after a stop');
  await outbox[Symbol.asyncDispose]();
});

/** With what a run saw, as large as that. */
function largeResult(name: string, bytes: number): ResultSubmission {
  const response = { body: 'x'.repeat(bytes) };
  const apiCheckResult = { ...nothingSeen, response };
  return { ...submission(name), hasFailures: true, apiCheckResult };
}

function storedIn(outbox: Outbox): Map<string, ResultSubmission> {
  const records = outbox.take(0, Number.MAX_SAFE_INTEGER, 10_000, 1e9);
  const parsed = records.map(({ payload }) => JSON.parse(payload) as ResultSubmission);
  return new Map(parsed.map((one) => [one.name, one]));
}

const putNow = (outbox: Outbox, ...submissions: Submission[]): void => {
  for (const one of submissions) void outbox.put({ submission: one });
  outbox.commit();
};

test('when it is full attempts go first, then what the oldest runs saw, and every loss is counted', async () => {
  using folder = temporaryFolder();
  const outbox = open(folder.path, new TestClock(1_000), 20_000);
  for (let index = 0; index < 3; index += 1) {
    putNow(outbox, largeResult(`f${index}`, 4_200), submission(`a${index}`, 'ATTEMPT'));
  }
  assert.deepEqual([...storedIn(outbox).keys()], ['f0', 'a0', 'f1', 'a1', 'f2', 'a2']);
  putNow(outbox, largeResult('f3', 4_200));
  assert.deepEqual([...storedIn(outbox).keys()], ['f0', 'f1', 'f2', 'f3']);
  assert.equal(outbox.state().droppedTotal, 4, 'three attempts, and what one run saw');
  putNow(outbox, largeResult('f4', 4_200), largeResult('f5', 4_200));
  const stored = storedIn(outbox);
  assert.deepEqual([...stored.keys()], ['f0', 'f1', 'f2', 'f3', 'f4', 'f5']);
  assert.deepEqual(
    [...stored.values()].map((one) => one.isPayloadDropped === true),
    [true, true, true, false, false, false],
  );
  const first = stored.get('f0');
  assert.deepEqual([first?.hasFailures, first?.apiCheckResult], [true, null]);
  assert.equal(outbox.state().droppedTotal, 6);
  assert.ok(outbox.state().bytes <= 20_000);
  await outbox[Symbol.asyncDispose]();
});

test('tombstones have room of their own, and go last, the oldest first', async () => {
  using folder = temporaryFolder();
  const bound = 200_000 + 4_000_000;
  let outbox = open(folder.path, new TestClock(1_000), 200_000);
  const results = Array.from({ length: 12_000 }, (_, index) => largeResult(`f${index}`, 500));
  for (let from = 0; from < results.length; from += 400) {
    putNow(outbox, ...results.slice(from, from + 400));
    assert.ok(outbox.state().bytes <= bound, `after f${from}`);
    if (from === 4_000) {
      assert.equal(outbox.state().depth, 4_400, 'no verdict is lost so far');
      await outbox[Symbol.asyncDispose]();
      outbox = open(folder.path, new TestClock(1_000), 200_000);
    }
  }
  const records = outbox.take(0, outbox.newestSeq(), 20_000, 1e9);
  const names = records.map(({ payload }) => (JSON.parse(payload) as { name: string }).name);
  assert.deepEqual(
    names,
    results.slice(-names.length).map(({ name }) => name),
    'without a gap up to the newest',
  );
  assert.ok(names.length > 6_000 && names.length < 12_000, `${names.length} verdicts`);
  assert.equal(
    outbox.state().bytes,
    records.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
  );
  await outbox[Symbol.asyncDispose]();
});

test('an attempt that another location follows up, and a slot that was missed, never go before verdicts', async () => {
  using folder = temporaryFolder();
  const outbox = open(folder.path, new TestClock(1_000), 8_000);
  const rescheduled = {
    ...submission('rescheduled', 'ATTEMPT'),
    retryElsewhere: { notBefore: 1, sequenceStartedAt: 1 },
  };
  const missed: Submission = {
    ...{ kind: 'missed', id: randomUUID(), runId: randomUUID(), checkId: randomUUID() },
    ...{ slotLocation: 'here', scheduledFor: 1, reason: 'agent-overloaded' },
  };
  putNow(outbox, rescheduled, missed, submission('again here', 'ATTEMPT'));
  putNow(outbox, largeResult('f0', 3_500), largeResult('f1', 3_500));
  const kinds = outbox
    .take(0, outbox.newestSeq(), 100, 1e9)
    .map(({ payload }) => JSON.parse(payload) as Partial<ResultSubmission>)
    .map(({ kind, name, retryElsewhere }) => [name ?? kind, retryElsewhere ?? null]);
  assert.deepEqual(kinds, [
    ['rescheduled', rescheduled.retryElsewhere],
    ['missed', null],
    ['f0', null],
    ['f1', null],
  ]);
  await outbox[Symbol.asyncDispose]();
});

test('of what is too old the verdict stays, for a week of days', async () => {
  using folder = temporaryFolder();
  const clock = new TestClock(1_000);
  const outbox = open(folder.path, clock);
  putNow(outbox, largeResult('old', 2_000), submission('attempt', 'ATTEMPT'));
  clock.advance(3_600_001);
  putNow(outbox, largeResult('new', 2_000));
  outbox.dropAged();
  outbox.dropAged();
  const stored = storedIn(outbox);
  assert.deepEqual([...stored.keys()], ['old', 'new']);
  assert.deepEqual(
    [...stored.values()].map((one) => one.isPayloadDropped === true),
    [true, false],
  );
  assert.equal(outbox.state().droppedTotal, 2);
  clock.advance(6 * 3_600_000);
  outbox.dropAged();
  assert.deepEqual([...storedIn(outbox).keys()], ['new']);
  assert.equal(outbox.state().depth, 1);
  await outbox[Symbol.asyncDispose]();
});

test('a damaged file is set aside, and a second user gets the name of the holder', async () => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, 'outbox.db'), 'this is not a database '.repeat(100));
  const outbox = open(folder.path);
  assert.deepEqual(namesIn(outbox), []);
  assert.ok(readdirSync(folder.path).some((name) => name.includes('damaged')));
  assert.throws(
    () => open(folder.path),
    (error) => error instanceof AgentError && error.code === 'DATA_DIR_IN_USE',
  );
  await outbox[Symbol.asyncDispose]();
});

test('on a disk too full to delete from, what is done with is neither given again nor counted as dropped', async (t) => {
  using folder = temporaryFolder();
  const clock = new TestClock(1_000);
  const outbox = open(folder.path, clock);
  for (const name of ['a', 'b', 'c', 'd']) {
    void outbox.put({ submission: submission(name) });
    outbox.commit();
  }
  const seqs = () => outbox.take(0, outbox.newestSeq(), 2, 1e6).map(({ seq }) => seq);
  const full = t.mock.method(StatementSync.prototype, 'run', () => {
    throw new Error('database or disk is full');
  });
  outbox.acknowledge([1]);
  outbox.refuse(2, 'no good');
  outbox.dropRetry(randomUUID());
  assert.deepEqual(seqs(), [3, 4]);
  assert.equal(outbox.state().droppedTotal, 1, 'the one that could not be kept apart');
  clock.advance(2 * 3_600_000);
  outbox.dropAged();
  assert.deepEqual(seqs(), [3, 4], 'old, and not given up: nothing can be put in their place');
  outbox.acknowledge([3, 4]);
  assert.deepEqual(seqs(), []);

  full.mock.restore();
  void outbox.put({ submission: submission('e') });
  outbox.commit();
  const { depth, droppedTotal } = outbox.state();
  assert.deepEqual([depth, droppedTotal], [1, 1]);
  await outbox[Symbol.asyncDispose]();
  await using again = open(folder.path);
  assert.deepEqual(
    again.take(0, 9, 9, 1e6).map(({ seq }) => seq),
    [5],
  );
});

test('what the disk does not take is sent from memory: beyond its bounds details go, then verdicts, and each is counted', async (t) => {
  using folder = temporaryFolder();
  const clock = new TestClock(1_000);
  const outbox = open(folder.path, clock);
  const full = t.mock.method(StatementSync.prototype, 'run', () => {
    throw new Error('attempt to write a readonly database');
  });
  const put = (name: string, bytes: number): void => {
    void outbox.put({ submission: { ...submission(name), errorMessages: ['x'.repeat(bytes)] } });
    outbox.commit();
  };
  put('small', 10);
  assert.equal(outbox.state().droppedTotal, 0);
  for (let index = 0; index < 6; index += 1) put(`large ${index}`, 450_000);
  const whole = ['small', 'large 0', 'large 1', 'large 2', 'large 3'];
  assert.deepEqual(namesIn(outbox).slice(0, 5), whole);
  assert.deepEqual([outbox.state().depth, outbox.state().droppedTotal], [7, 2]);
  outbox.acknowledge(outbox.take(0, 9, 6, 1e9).map(({ seq }) => seq));
  assert.deepEqual(namesIn(outbox), ['large 5']);
  assert.ok((outbox.take(0, 9, 9, 1e9)[0]?.sizeBytes ?? 0) < 10_000);
  full.mock.restore();
  // Without another result.
  clock.advance(5_000);
  await outbox[Symbol.asyncDispose]();
  await using again = open(folder.path);
  assert.deepEqual(namesIn(again), ['large 5']);
});

test('on a full disk its upkeep complains once, then every ten minutes, and again when it was well meanwhile', async (t) => {
  using folder = temporaryFolder();
  const clock = new TestClock(1_000);
  const lines: { msg: string; failures: number }[] = [];
  const log = pino({}, { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[0]) });
  await using outbox = open(folder.path, clock, 1e9, log);
  const put = (name: string) => {
    void outbox.put({ submission: submission(name) });
    outbox.commit();
  };
  for (const name of ['a', 'b']) put(name);
  const fill = () =>
    t.mock.method(StatementSync.prototype, 'run', () => {
      throw new Error('database or disk is full');
    });
  const tryFor = (minutes: number) => {
    for (let seconds = 0; seconds < minutes * 60; seconds += 10) {
      clock.advance(10_000);
      outbox.dropAged();
    }
  };
  let full = fill();
  outbox.acknowledge([1]);
  tryFor(9);
  assert.deepEqual(
    lines.map(({ failures }) => failures),
    [1],
  );
  tryFor(2);
  assert.equal(lines.length, 2);
  assert.ok((lines[1]?.failures ?? 0) > 60, 'how often');
  full.mock.restore();
  put('c');
  tryFor(2);
  full = fill();
  outbox.acknowledge([2]);
  tryFor(1);
  assert.equal(lines.length, 3);
  assert.equal(lines[2]?.failures, 1);
  full.mock.restore();
});

test('on a disk that is full for new results the verdicts that are on it stay, and new ones wait in memory', async (t) => {
  using folder = temporaryFolder();
  const clock = new TestClock(1_000);
  const outbox = open(folder.path, clock);
  const put = (name: string, isPayloadDropped: boolean): void => {
    void outbox.put({ submission: { ...submission(name), isPayloadDropped } });
    outbox.commit();
  };
  put('old 0', true);
  put('old 1', true);
  const real = StatementSync.prototype.run as (...given: unknown[]) => unknown;
  const full = t.mock.method(
    StatementSync.prototype,
    'run',
    function (this: StatementSync, ...given: unknown[]) {
      if (this.sourceSQL.startsWith('insert into records'))
        throw new Error('database or disk is full');
      return real.apply(this, given);
    },
  );
  const names = ['old 0', 'old 1', 'new 0', 'new 1', 'new 2'];
  for (const name of names.slice(2)) put(name, false);
  assert.deepEqual(namesIn(outbox), names);
  assert.equal(outbox.state().droppedTotal, 0);
  full.mock.restore();
  clock.advance(5_000);
  await outbox[Symbol.asyncDispose]();
  await using again = open(folder.path);
  assert.deepEqual(namesIn(again), names);
});

test('what is to be encrypted is encrypted once, and is never on disk as it was', async (t) => {
  using folder = temporaryFolder();
  let calls = 0;
  const put = (outbox: Outbox, name: string): void => {
    void outbox.put({
      submission: { ...submission('nightingale'), errorMessages: ['nightingale'] },
      encrypt: () => {
        calls += 1;
        return submission(name);
      },
    });
  };
  const onDisk = (): string =>
    readdirSync(folder.path)
      .map((name) => readFileSync(join(folder.path, name), 'latin1'))
      .join();
  {
    await using outbox = open(folder.path);
    put(outbox, 'one');
    outbox.commit();
    // What fails is written once more, in room that was made for it.
    const full = t.mock.method(StatementSync.prototype, 'run', () => {
      full.mock.restore();
      throw new Error('database or disk is full');
    });
    put(outbox, 'two');
    outbox.commit();
    // The last of it is written when the outbox closes.
    put(outbox, 'three');
    assert.doesNotMatch(onDisk(), /nightingale/);
  }
  await using again = open(folder.path);
  assert.deepEqual(namesIn(again), ['one', 'two', 'three']);
  assert.equal(calls, 3);
  assert.doesNotMatch(onDisk(), /nightingale/);
});

test('what was delivered last is handed in again once for each loss of the control plane', async () => {
  using folder = temporaryFolder();
  const clock = new TestClock(1_000);
  await using outbox = open(folder.path, clock);
  const stored = ['a', 'b', 'c'].map((name) => outbox.put({ submission: submission(name) }));
  clock.advance(1_000);
  await Promise.all(stored);
  const seqs = outbox.take(0, Infinity, 2, 1e9).map(({ seq }) => seq);
  outbox.acknowledge(seqs);
  assert.deepEqual(namesIn(outbox), ['c']);
  const lose = (until: number): string[] => {
    outbox.handInAgain(until);
    outbox.commit();
    return namesIn(outbox);
  };
  assert.deepEqual(lose(500), ['c', 'a', 'b']);
  assert.deepEqual(lose(500), ['c', 'a', 'b'], 'the same loss, said at each check-in');
  assert.deepEqual(lose(600), ['c', 'a', 'b', 'a', 'b']);
});
