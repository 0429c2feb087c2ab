import assert from 'node:assert/strict';
import test from 'node:test';
import {
  type Doubt,
  judgeDoubt,
  type SignOfLife,
  outageOf,
} from '../../../../control-plane/replicas/decide/absence.ts';

const second = 1_000;
const now = 1_000_000;

/** Signs of life by their age; `stopped` ended in order. */
function signs(alive: number[], stopped: number[] = []): SignOfLife[] {
  return [
    ...alive.map((ageMs) => ({ aliveAt: now - ageMs, isStopped: false })),
    ...stopped.map((ageMs) => ({ aliveAt: now - ageMs, isStopped: true })),
  ];
}

const judge = (doubt: Doubt, others: SignOfLife[]) => judgeDoubt(doubt, others, now, 2 * second);
const start: Doubt = { since: null, cause: 'down' };
const stopped = (agoMs: number): Doubt => ({ since: now - agoMs, cause: 'stopped' });

test('only the first replica after a time without any records it', () => {
  for (const [others, lostMs, isColdStart] of [
    [signs([]), null, true],
    [signs([second]), null, false],
    [signs([9 * second, 3600 * second]), null, false],
    [signs([11 * second, 3600 * second]), 11 * second, true],
    [signs([], [3 * second]), 3 * second, true],
    [signs([second], [3 * second]), null, false],
  ] as const) {
    const { absence, ...verdict } = judge(start, others);
    assert.equal(verdict.isColdStart, isColdStart);
    assert.equal(absence === null ? null : absence.to - absence.from, lostMs);
  }
});

test('a replica that stood still lost no time while another one lived', () => {
  for (const [agoMs, others, lostMs] of [
    [40 * second, signs([second]), null],
    [40 * second, signs([5 * second]), null],
    [40 * second, signs([20 * second]), 20 * second],
    [40 * second, signs([60 * second]), 40 * second],
    [40 * second, signs([], [2 * second]), 2 * second],
    [3 * second, signs([]), 3 * second],
    [second, signs([]), null],
    [3 * second, signs([4 * second]), null],
  ] as const) {
    const { absence, isColdStart } = judge(stopped(agoMs), others);
    assert.equal(absence === null ? null : absence.to - absence.from, lostMs);
    assert.equal(isColdStart, false);
  }
});

test('a replica is silent from its last sign of life, for as long as it gets requests', () => {
  const aliveAt = 0;
  for (const [isStopped, nextSignAt, to] of [
    [false, 2 * second, null],
    [false, 5 * second, 5 * second],
    [false, 600 * second, 60 * second],
    [true, 600 * second, null],
  ] as const) {
    const outage = outageOf({ aliveAt, isStopped }, nextSignAt);
    assert.deepEqual(outage, to === null ? null : { from: 0, to });
  }
});
