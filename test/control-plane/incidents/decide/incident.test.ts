import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  asOf,
  duration,
  inOrder,
  lastUpdateStatus,
  type IncidentStatus,
  type TimelineUpdate,
} from '../../../../control-plane/incidents/decide/incident.ts';
import { tries } from '../../../support/random.ts';

const now = 1_000;

/** Updates as they were written, one after the other. */
function written(...updates: [publicAt: number, status: IncidentStatus][]): TimelineUpdate[] {
  return updates.map(([publicAt, status], index) => ({ seq: index + 1, publicAt, status }));
}

test('an incident lasts until it was resolved, or until now', () => {
  const rows: [string, TimelineUpdate[], IncidentStatus | undefined, number | null][] = [
    ['without updates there is nothing to tell', [], undefined, null],
    ['it goes on', written([100, 'INVESTIGATING']), 'INVESTIGATING', 900],
    ['it was resolved', written([100, 'INVESTIGATING'], [300, 'RESOLVED']), 'RESOLVED', 200],
    [
      'resolved again',
      written([100, 'INVESTIGATING'], [300, 'RESOLVED'], [700, 'RESOLVED']),
      'RESOLVED',
      200,
    ],
    [
      're-opened',
      written([100, 'INVESTIGATING'], [300, 'RESOLVED'], [400, 'MONITORING']),
      'MONITORING',
      900,
    ],
    [
      're-opened and resolved, twice over',
      written(
        [100, 'INVESTIGATING'],
        [300, 'RESOLVED'],
        [400, 'IDENTIFIED'],
        [500, 'RESOLVED'],
        [600, 'RESOLVED'],
      ),
      'RESOLVED',
      400,
    ],
    ['resolved from the first', written([100, 'RESOLVED'], [300, 'RESOLVED']), 'RESOLVED', 0],
    [
      'written in another order than public',
      written([300, 'RESOLVED'], [100, 'INVESTIGATING']),
      'RESOLVED',
      200,
    ],
    [
      'at the same instant the later written counts',
      written([100, 'RESOLVED'], [100, 'MONITORING']),
      'MONITORING',
      900,
    ],
    ['announced for later', written([2_000, 'INVESTIGATING']), 'INVESTIGATING', 0],
  ];
  for (const [name, updates, status, expected] of rows) {
    assert.equal(lastUpdateStatus(updates), status, name);
    assert.equal(duration(updates, now), expected, name);
  }
});

/** Walks through the updates as a reader of the page would, keeping in mind since when it is closed. */
function modelOf(updates: readonly TimelineUpdate[], until: number) {
  const remaining = [...updates];
  let startedAt: number | null = null;
  let closedAt: number | null = null;
  let status: IncidentStatus | undefined;
  while (remaining.length > 0) {
    let oldest = 0;
    for (const [index, each] of remaining.entries()) {
      const best = remaining[oldest];
      if (best === undefined) continue;
      const isOlder = each.publicAt < best.publicAt;
      const isSame = each.publicAt === best.publicAt;
      if (isOlder || (isSame && each.seq < best.seq)) oldest = index;
    }
    const [update] = remaining.splice(oldest, 1);
    if (update === undefined) break;
    startedAt ??= update.publicAt;
    status = update.status;
    if (status !== 'RESOLVED') closedAt = null;
    else closedAt ??= update.publicAt;
  }
  const lasted = startedAt === null ? null : Math.max(0, (closedAt ?? until) - startedAt);
  return { status, lasted };
}

const updatesArbitrary = fc
  .array(
    fc.record({
      publicAt: fc.integer({ min: 0, max: 12 }),
      status: fc.constantFrom<IncidentStatus>(
        'INVESTIGATING',
        'IDENTIFIED',
        'MONITORING',
        'RESOLVED',
        'RESOLVED',
      ),
    }),
    { maxLength: 12 },
  )
  .map((updates) => updates.map((update, index) => ({ ...update, seq: index + 1 })));

test('any sequence of updates agrees with a reader who follows them one by one', () => {
  fc.assert(
    fc.property(updatesArbitrary, fc.integer({ min: 0, max: 20 }), (updates, until) => {
      const { status, lasted } = modelOf(updates, until);
      assert.equal(lastUpdateStatus(updates), status);
      assert.equal(duration(updates, until), lasted);
    }),
    { numRuns: tries(2_000) },
  );
});

test('the order in which rows are read does not matter', () => {
  const shuffled = updatesArbitrary.chain((updates) =>
    fc.tuple(
      fc.constant(updates),
      fc.shuffledSubarray(updates, { minLength: updates.length, maxLength: updates.length }),
    ),
  );
  fc.assert(
    fc.property(shuffled, ([updates, other]) => {
      assert.deepEqual(inOrder(other), inOrder(updates));
      assert.equal(duration(other, 20), duration(updates, 20));
    }),
  );
});

test('as of an instant counts what is public by then, or else what comes first', () => {
  const updates = written([300, 'RESOLVED'], [100, 'INVESTIGATING'], [200, 'MONITORING']);
  const statusesAt = (at: number) => asOf(updates, at).map(({ status }) => status);
  assert.deepEqual(statusesAt(99), ['INVESTIGATING']);
  assert.deepEqual(statusesAt(100), ['INVESTIGATING']);
  assert.deepEqual(statusesAt(299), ['INVESTIGATING', 'MONITORING']);
  assert.deepEqual(statusesAt(300), ['INVESTIGATING', 'MONITORING', 'RESOLVED']);
  assert.deepEqual(asOf([], 100), []);
});
