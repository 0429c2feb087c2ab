import assert from 'node:assert/strict';
import test from 'node:test';
import { Overload } from '../../../agent/worker/overload.ts';
import { TestClock } from '../../support/test-clock.ts';

type Run = (overload: Overload) => void;

const well: Run = (overload) => {
  overload.began(false);
};
const late: Run = (overload) => {
  overload.began(true);
};
const undecided: Run = (overload) => {
  overload.gaveUp({ checkId: 'check', runId: 'run', attempt: 1 });
};

/** Plays runs, one a second, and gives whether the agent is overloaded after each. */
function play(
  stretches: readonly [Run, number][],
  shares: { cpuWait: number | null; throttled: number } = { cpuWait: 0.9, throttled: 0 },
) {
  const clock = new TestClock(1_000_000_000_000);
  const overload = new Overload({
    ...{ clock, processTime: { load: { shares, lastSuspension: null } } },
  });
  const states = stretches.flatMap(([run, count]) =>
    Array.from({ length: count }, () => {
      clock.advance(1_000);
      run(overload);
      return overload.load;
    }),
  );
  return { states, since: states.findIndex(({ overloadedSince }) => overloadedSince !== null) };
}

test('an agent that waits for a CPU most of the time, and harms no run, is not overloaded', () => {
  const { since, states } = play([[well, 600]]);
  assert.equal(since, -1);
  assert.equal(states.at(-1)?.cpuWaitRatio, 0.9);
});

for (const [name, run, words] of [
  ['gives runs up', undecided, /runs could not be judged of \d+; .*wanted a CPU/],
  ['makes runs wait', late, /runs began late, for want of a permit of \d+; /],
] as const) {
  test(`an agent that ${name} is overloaded soon, says why, and recovers after a minute without`, () => {
    const { since, states } = play([
      [well, 120],
      [run, 60],
      [well, 90],
    ]);
    assert.ok(since >= 120 && since <= 130, `after ${since}`);
    assert.match(states[179]?.reason ?? '', words);
    assert.equal(states[200]?.overloadedSince, states[since]?.overloadedSince);
    assert.equal(states.at(-1)?.overloadedSince, null);
  });
}

test('the last runs that could not be judged are named, from the start on; others are not', () => {
  const clock = new TestClock(1_000_000);
  const shares = { cpuWait: 0.9, throttled: 0 };
  const overload = new Overload({ clock, processTime: { load: { shares, lastSuspension: null } } });
  well(overload);
  late(overload);
  assert.deepEqual(overload.undecidedRuns, []);
  undecided(overload);
  const named = { at: 1_000_000, checkId: 'check', runId: 'run', attempt: 1 };
  assert.deepEqual(overload.undecidedRuns, [named]);
  for (let run = 0; run < 60; run += 1) undecided(overload);
  assert.equal(overload.undecidedRuns.length, 50);
});

test('nothing is said in the first minute, nor of two runs among many', () => {
  assert.equal(play([[late, 59]]).since, -1);
  const rare = Array.from({ length: 6 }, (): [Run, number][] => [
    [well, 45],
    [undecided, 1],
  ]).flat();
  assert.equal(play([[well, 60], ...rare]).since, -1);
});

test('the state does not flap while harm comes and goes', () => {
  const waves = Array.from({ length: 20 }, (_, index): [Run, number] => [
    index % 2 === 0 ? undecided : well,
    15,
  ]);
  const { states } = play([[well, 60], ...waves]);
  const isOn = states.map(({ overloadedSince }) => overloadedSince !== null);
  assert.equal(isOn.filter((on, at) => at > 0 && on !== isOn[at - 1]).length, 1);
});

test('the cause is named by what the machine shows', () => {
  const reasonOf = (shares: { cpuWait: number | null; throttled: number }) =>
    play(
      [
        [well, 60],
        [undecided, 10],
      ],
      shares,
    ).states.at(-1)?.reason;
  assert.match(reasonOf({ cpuWait: 0.2, throttled: 0.4 }) ?? '', /throttled 40 %/);
  assert.match(reasonOf({ cpuWait: 0.05, throttled: 0 }) ?? '', /more checks than permits or CPU/);
});
