import assert from 'node:assert/strict';
import test from 'node:test';
import {
  countTick,
  judgeTick,
  type Outcome,
} from '../../../../control-plane/alerting/decide/tick.ts';

const places = ['a', 'b', 'c', 'd'];

function judge(
  outcomes: readonly Outcome[],
  {
    percentage = null,
    isOver = false,
    expected = places,
  }: {
    percentage?: number | null;
    isOver?: boolean;
    expected?: string[];
  } = {},
) {
  const results = outcomes.map((outcome, index) => ({
    resultId: String(index),
    location: places[index] ?? '?',
    outcome,
    stoppedAt: index,
  }));
  return judgeTick(countTick(results, expected, percentage), isOver);
}

test('without a share one failing location is enough, and the others are not waited for', () => {
  assert.equal(judge(['failing']), 'failing');
  assert.equal(judge(['passing', 'passing', 'passing']), 'open');
  assert.equal(judge(['passing', 'passing', 'passing', 'passing']), 'passing');
  assert.equal(judge(['degraded', 'passing', 'passing']), 'open');
  assert.equal(judge(['degraded', 'passing', 'passing', 'passing']), 'degraded');
});

test('with a share so many of the locations must fail, rounded up', () => {
  assert.equal(judge(['failing'], { percentage: 50 }), 'open');
  assert.equal(judge(['failing', 'failing'], { percentage: 50 }), 'failing');
  assert.equal(judge(['failing', 'passing', 'passing', 'passing'], { percentage: 50 }), 'passing');
  assert.equal(judge(['failing', 'failing'], { percentage: 60 }), 'open');
  assert.equal(
    judge(['failing', 'degraded', 'passing', 'passing'], { percentage: 50 }),
    'degraded',
  );
  assert.equal(judge(['failing'], { percentage: 10 }), 'failing');
});

test('a location without a report in time, without an agent or with an agent error is not counted', () => {
  assert.equal(judge(['failing'], { percentage: 50, isOver: true }), 'failing');
  assert.equal(judge(['passing'], { isOver: true }), 'passing');
  assert.equal(judge(['failing', 'passing'], { percentage: 50, expected: ['a', 'b'] }), 'failing');
  assert.equal(judge(['failing', 'inconclusive', 'inconclusive'], { percentage: 50 }), 'failing');
  assert.equal(judge(['inconclusive', 'inconclusive'], { isOver: true }), 'inconclusive');
  assert.equal(judge([], { isOver: true }), 'inconclusive');
});
