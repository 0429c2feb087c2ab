import assert from 'node:assert/strict';
import test from 'node:test';
import {
  hiddenWaitMs,
  isStarved,
  loadShares,
  stepLoad,
  type LoadSample,
  type LoadState,
} from '../../../agent/worker/overload.ts';

const second = 1_000;
type Kind = Partial<LoadSample>;

const quiet: Kind = { waitedMs: 8, runMs: 30, cpuWaitMs: 4, pressure: 0.03 };
/** As twenty busy processes on two cores make it. */
const crowded: Kind = { waitedMs: 60, runMs: 20, cpuWaitMs: 60, pressure: 0.97 };
const lagging: Kind = { waitedMs: 400, runMs: 700, cpuWaitMs: 20, pressure: 0.1 };
const throttled: Kind = {
  waitedMs: 90,
  runMs: 90,
  cpuWaitMs: 80,
  throttledMs: 700,
  pressure: null,
};
/** Other processes keep the machine busy, and the agent still gets its CPU. */
const busyNeighbours: Kind = { waitedMs: 9, runMs: 40, cpuWaitMs: 8, pressure: 0.9 };

/** Plays stretches of so many seconds; gives the state after each second. */
function play(...stretches: [Kind, number][]): LoadState[] {
  const samples: LoadSample[] = [];
  const states: LoadState[] = [];
  let at = 0;
  let state: LoadState = null;
  for (const [kind, seconds] of stretches) {
    for (let each = 0; each < seconds; each += 1) {
      at += second;
      const all = {
        at,
        lengthMs: second,
        throttledMs: 0,
        waitedMs: 0,
        runMs: 0,
        cpuWaitMs: 0,
        turns: 0,
      };
      samples.push({ ...all, pressure: null, ...kind });
      state = stepLoad(state, samples, { now: at, wall: 1_000_000 + at });
      states.push(state);
    }
  }
  return states;
}

test('a quiet agent is not overloaded, nor one beside busy neighbours that gets its CPU', () => {
  for (const kind of [quiet, busyNeighbours]) {
    assert.deepEqual([...new Set(play([kind, 300]))], [null]);
  }
});

for (const [name, kind, words] of [
  ['crowded', crowded, /waited 75 % of the time in which it wanted a CPU/],
  ['lagging', lagging, /late, \d+ % of the time/],
  ['throttled', throttled, /throttled \d+ % of the time/],
] as const) {
  test(`a ${name} agent is overloaded within a minute, says why, and recovers after one`, () => {
    const states = play([quiet, 60], [kind, 120], [quiet, 120]);
    const since = states.findIndex((state) => state !== null);
    assert.ok(since > 60 && since < 120, `after ${since} s`);
    assert.match(states[179]?.reason ?? '', words);
    assert.equal(states[150]?.overloadedSince, states[since]?.overloadedSince);
    assert.equal(states.at(-1), null);
    const changes = states.filter(
      (state, at) => (state === null) !== (states[at - 1] ?? null === null),
    );
    assert.ok(changes.length > 0);
  });
}

test('the state does not flap while the load comes and goes', () => {
  const waves = Array.from({ length: 20 }, (_, index): [Kind, number] =>
    index % 2 === 0 ? [lagging, 15] : [quiet, 15],
  );
  const states = play(...waves).map((state) => state !== null);
  const flips = states.filter((isOn, at) => at > 0 && isOn !== states[at - 1]);
  assert.equal(flips.length, 1);
});

test('a short load is not an overload, and yet its times are in doubt', () => {
  const states = play([quiet, 60], [crowded, 5], [quiet, 5]);
  assert.deepEqual([...new Set(states)], [null]);
  const samples: LoadSample[] = [1, 2, 3].map((at) => ({
    ...{
      at: at * second,
      lengthMs: second,
      throttledMs: 0,
      waitedMs: 0,
      runMs: 0,
      cpuWaitMs: 0,
      turns: 0,
    },
    ...{ pressure: null, ...crowded },
  }));
  assert.equal(isStarved(samples, 0), true);
  assert.equal(isStarved(samples, 3 * second), false, 'nothing was seen since');
  assert.equal(loadShares(samples, 0), null, 'too little for a state');
});

test('what others may have waited follows from what a turn on a CPU has cost of late', () => {
  const sampleAt = (at: number, cpuWaitMs: number, turns: number): LoadSample => ({
    ...{ at: at * second, lengthMs: second, throttledMs: 0, waitedMs: 0, runMs: 0, pressure: null },
    ...{ cpuWaitMs, turns },
  });
  const samples = [sampleAt(1, 900, 3), sampleAt(2, 400, 10)];
  assert.equal(hiddenWaitMs(samples, second), 25 * 40);
  assert.equal(hiddenWaitMs(samples, 2 * second), 0, 'nothing was seen since');
});
