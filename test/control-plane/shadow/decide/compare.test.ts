import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  compareVerdicts,
  reachOf,
  type Seen,
  type Side,
  usualGapMs,
} from '../../../../control-plane/shadow/decide/compare.ts';
import { tries } from '../../../support/random.ts';

const minute = 60_000;

/** `[minute, verdict]` or `[minute, verdict, place]`; `x` fails. */
type Run = [at: number, verdict: 'x' | '.', location?: string];

const seen = (runs: readonly Run[]): Seen[] =>
  runs.map(([at, verdict, location = 'eu'], index) => ({
    ...{ id: `${at}/${location}/${index}`, at: at * minute, isFailing: verdict === 'x', location },
  }));

function compared(theirs: readonly Run[], ours: readonly Run[], from = 0, to = 1_000) {
  const { differences, ...counts } = compareVerdicts(
    { THEIRS: seen(theirs), OURS: seen(ours) },
    { from: from * minute, to: to * minute },
    reachOf([5 * minute]),
  );
  const found = differences.map(
    ({ side, firstAt, lastAt, results, fitsBetweenRuns, continues }) =>
      `${side} ${firstAt / minute}-${lastAt / minute} ${results}${fitsBetweenRuns ? ' brief' : ''}${continues ? ' continues' : ''}`,
  );
  return { found, ...counts };
}

test('what one side sees failing between two passes of the other is a difference', () => {
  const steady: Run[] = [0, 5, 10, 15, 20].map((at) => [at, '.']);
  const { found } = compared(steady, [
    ...([1, 6] as const).map((at): Run => [at, '.']),
    ...([11, 16] as const).map((at): Run => [at, 'x']),
    [21, '.'],
  ]);
  assert.deepEqual(found, ['OURS 11-16 2']);
  assert.deepEqual(
    compared(
      [
        [1, '.'],
        [6, 'x'],
        [11, '.'],
      ],
      [
        [0, '.'],
        [5, '.'],
        [9, '.'],
      ],
    ).found,
    ['THEIRS 6-6 1 brief'],
  );
});

test('an outage that both see is no difference, in whichever order they notice it', () => {
  const theirs: Run[] = [
    [0, '.'],
    [5, 'x'],
    [10, 'x'],
    [15, '.'],
    [20, '.'],
  ];
  const ours: Run[] = [
    [2, '.'],
    [7, 'x'],
    [12, '.'],
    [17, '.'],
  ];
  assert.deepEqual(compared(theirs, ours).found, []);
});

test('where one side has no result nothing is decided', () => {
  const { found, undecided } = compared(
    [
      [0, '.'],
      [30, 'x'],
      [60, '.'],
    ],
    [
      [1, '.'],
      [59, '.'],
    ],
  );
  assert.deepEqual(found, []);
  // What fails has no neighbour at all.
  assert.equal(undecided, 1);
});

test('results at the same place are compared where there are any', () => {
  const theirs: Run[] = [
    [1, 'x', 'us'],
    [1, '.', 'eu'],
  ];
  const ours: Run[] = [
    [0, '.', 'us'],
    [0, 'x', 'eu'],
    [5, '.', 'us'],
    [5, 'x', 'eu'],
  ];
  const { found } = compared(theirs, ours);
  assert.deepEqual(found, ['THEIRS 1-1 1 brief']);
});

test('one that goes on in the next window is the same, and counts its new results', () => {
  const ours: Run[] = [0, 5, 10, 15, 20, 25].map((at) => [at, '.']);
  const theirs: Run[] = [
    [3, '.'],
    [8, 'x'],
    [13, 'x'],
    [18, 'x'],
    [23, '.'],
  ];
  assert.deepEqual(compared(theirs, ours, 0, 11).found, ['THEIRS 8-8 1 brief']);
  assert.deepEqual(compared(theirs, ours, 11, 24).found, ['THEIRS 8-18 2 continues']);
});

test('the usual gap is that of one place', () => {
  const runs = seen(
    [0, 10, 20, 30].flatMap((at): Run[] => [
      [at, '.', 'eu'],
      [at + 1, '.', 'us'],
    ]),
  );
  assert.equal(usualGapMs(runs), 10 * minute);
  assert.equal(usualGapMs(runs.slice(0, 2)), null);
});

test('20 of 20 seeded differences are found in both directions, and none where there is none', () => {
  fc.assert(
    fc.property(
      fc.record({
        gaps: fc.record({ THEIRS: fc.constantFrom(1, 5, 10), OURS: fc.constantFrom(1, 5, 10) }),
        offsets: fc.record({ THEIRS: fc.nat({ max: 59 }), OURS: fc.nat({ max: 59 }) }),
        // Outages that both must see last longer than the longer gap.
        outages: fc.array(fc.integer({ min: 11, max: 60 }), { minLength: 3, maxLength: 6 }),
        sides: fc.array(fc.constantFrom<Side[]>('THEIRS', 'OURS'), {
          ...{ minLength: 20, maxLength: 20 },
        }),
        lengths: fc.array(fc.integer({ min: 11, max: 40 }), { minLength: 20, maxLength: 20 }),
        windows: fc.integer({ min: 60, max: 360 }),
      }),
      ({ gaps, offsets, outages, sides, lengths, windows }) => {
        const isDown: Record<Side, [from: number, to: number][]> = { THEIRS: [], OURS: [] };
        let at = 60;
        for (const length of outages) {
          for (const side of ['THEIRS', 'OURS'] as const) isDown[side].push([at, at + length]);
          at += length + 60;
        }
        for (const [index, side] of sides.entries()) {
          const length = lengths[index] ?? 11;
          isDown[side].push([at, at + length]);
          at += length + 60;
        }
        const runsOf = (side: Side): Seen[] => {
          const runs: Run[] = [];
          for (let time = offsets[side] / 60; time < at + 60; time += gaps[side]) {
            runs.push([
              time,
              isDown[side].some(([from, to]) => time >= from && time < to) ? 'x' : '.',
            ]);
          }
          return seen(runs);
        };
        const reach = reachOf([gaps.THEIRS * minute, gaps.OURS * minute]);
        const given = { THEIRS: runsOf('THEIRS'), OURS: runsOf('OURS') };
        const found: string[] = [];
        // As it is read: window by window.
        for (let from = 0; from < at; from += windows) {
          const window = { from: from * minute, to: Math.min(at, from + windows) * minute };
          const { differences } = compareVerdicts(given, window, reach);
          for (const { side, continues } of differences) if (!continues) found.push(side);
        }
        assert.deepEqual(found.sort(), sides.toSorted());
      },
    ),
    { numRuns: tries(1_000) },
  );
});
