import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { Acknowledgement } from '../../../agent/link/acknowledgement.ts';
import { temporaryFolder } from '../../support/system.ts';

const newestIn = (directory: string): string | null => {
  using acknowledgement = new Acknowledgement(directory);
  return acknowledgement.newest;
};

test('the newest mark is known after a kill, whatever the length of the one before', () => {
  using folder = temporaryFolder();
  assert.equal(newestIn(folder.path), null);
  using acknowledgement = new Acknowledgement(folder.path);
  for (const mark of ['1.abcdef', '2.a', '3.abc', '3.abc']) {
    acknowledgement.keep(mark);
    assert.equal(acknowledgement.newest, mark);
    assert.equal(newestIn(folder.path), mark);
  }
});

test('the mark of an older agent is read, and one that is none is ignored', () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'acknowledged');
  writeFileSync(file, '7.abc');
  assert.equal(newestIn(folder.path), '7.abc');
  writeFileSync(file, '7.\u0000bc');
  assert.equal(newestIn(folder.path), null);
});
