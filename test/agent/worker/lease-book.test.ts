import assert from 'node:assert/strict';
import test from 'node:test';
import { LeaseBook } from '../../../agent/worker/lease-book.ts';

test('a job that is assigned again while it is held is not started twice', () => {
  const book = new LeaseBook();
  assert.equal(book.hold('job', 'run'), true);
  assert.equal(book.hold('job', 'run'), false);
  book.release('job');
  assert.equal(book.hold('job', 'run'), true);
});

test('leases are renewed from the first attempt to the last, and lost ones name their runs', () => {
  const book = new LeaseBook();
  book.hold('job-1', 'run-1');
  book.hold('job-2', 'run-2');
  book.hold('job-3', 'run-3');
  assert.deepEqual(book.jobIds, ['job-1', 'job-2', 'job-3']);
  book.release('job-1');
  assert.deepEqual(book.lose(['job-1', 'job-2']), ['run-2']);
  assert.deepEqual(book.jobIds, ['job-3']);
  assert.deepEqual(book.lose(['job-2']), []);
});
