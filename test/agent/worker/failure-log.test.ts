import assert from 'node:assert/strict';
import test from 'node:test';
import { FailureLog } from '../../../agent/worker/failure-log.ts';
import { TestClock } from '../../support/test-clock.ts';

test('each new reason is logged within a minute, and the same one after ten, with since when and how often', () => {
  const clock = new TestClock(0);
  const log = new FailureLog(clock);
  const written: string[] = [];
  const fails = (reason: string): void => {
    const line = log.failed(reason);
    if (line !== null) written.push(`${reason} ${line.failures} ${line.forSeconds}`);
    clock.advance(10_000);
  };
  fails('502');
  for (let each = 0; each < 5; each += 1) fails('a page');
  assert.deepEqual(written, ['502 1 0'], 'less than a minute');
  fails('a page');
  assert.deepEqual(written.splice(0), ['502 1 0', 'a page 7 60']);
  for (let each = 0; each < 60; each += 1) fails('a page');
  assert.deepEqual(written.splice(0), ['a page 67 660']);
  assert.equal(log.ended(), 67);
  assert.equal(log.ended(), 0);
  fails('504');
  assert.deepEqual(written.splice(0), ['504 1 0'], 'another reason of another outage, at once');
});

test('what comes and goes for one reason is logged once a minute', () => {
  const clock = new TestClock(0);
  const log = new FailureLog(clock);
  let lines = 0;
  for (let each = 0; each < 60; each += 1) {
    if (log.failed('504') !== null) lines += 1;
    clock.advance(5_000);
    log.ended();
    clock.advance(5_000);
  }
  assert.equal(lines, 10);
});
