import assert from 'node:assert/strict';
import test from 'node:test';
import { within, WithoutCpuError } from '../../shared/time-limit.ts';

/** The CPU time that the work uses, as the kernel would count it. */
function counted(usedMs: number): () => number {
  const readings = [1_000];
  return () => readings.pop() ?? 1_000 + usedMs;
}
const forever = (): never => {
  for (;;);
};
const isLate = (error: Error): boolean =>
  error.message === 'late' && !(error instanceof WithoutCpuError);

test('work in its limit gives its value, and what it used', () => {
  const ended = within(60_000, 'late', () => 'found', counted(59_000));
  assert.deepEqual(ended, { value: 'found', usedMs: 59_000 });
  const { usedMs } = within(60_000, 'late', () => 'found');
  assert.ok(usedMs >= 0 && usedMs < 60_000, `${usedMs} ms`);
});

test('work beyond its limit is late, stopped or ended', () => {
  assert.throws(() => within(60_000, 'late', () => 'found', counted(60_001)), isLate);
  assert.throws(() => within(20, 'late', forever, counted(21)), isLate);
  assert.throws(() => within(0, 'late', () => 'found'), isLate);
});

test('work that got no CPU is not late', () => {
  assert.throws(() => within(20, 'late', forever, counted(19)), WithoutCpuError);
});

test('an error of the work is its own', () => {
  const fail = (): never => {
    throw new TypeError('no');
  };
  assert.throws(() => within(60_000, 'late', fail), { name: 'TypeError', message: 'no' });
});
