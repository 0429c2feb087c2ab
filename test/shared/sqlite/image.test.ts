import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { pageSizeOf, readLog } from '@monitor/shared/sqlite/image.ts';
import { temporaryFolder } from '../../support/system.ts';

const pageBytes = 4_096;
const headerBytes = 32;
const frameHeaderBytes = 24;
const frameBytes = frameHeaderBytes + pageBytes;

/** A log of so many commits, each of several pages. */
function logOf(commits: number): Buffer {
  using folder = temporaryFolder();
  const file = join(folder.path, 'a.db');
  using db = new DatabaseSync(file);
  db.exec('pragma journal_mode = wal');
  db.exec('create table texts (content text) strict');
  for (let commit = 1; commit < commits; commit += 1) {
    db.prepare('insert into texts values (?)').run('a'.repeat(3 * pageBytes));
  }
  return readFileSync(`${file}-wal`);
}

const frameAt = (index: number): number => headerBytes + index * frameBytes;

/** Numbers of the frames that end a commit. */
function endsOf(log: Buffer): number[] {
  const count = Math.floor((log.length - headerBytes) / frameBytes);
  return Array.from({ length: count }, (_, index) => index).filter(
    (index) => log.readUInt32BE(frameAt(index) + 4) !== 0,
  );
}

const bytesOf = (bytes: Buffer) => ({
  size: bytes.length,
  read: (offset: number, length: number) => bytes.subarray(offset, offset + length),
});

function read(log: Buffer): [commits: number, ignored: number, damagedFrames: number] {
  const { commits, ignoredCommits, damagedFrames } = readLog(bytesOf(log), pageBytes);
  return [commits, ignoredCommits, damagedFrames];
}

/** As a loss of power leaves it: the head of a frame is on disk, and not all of its page. */
function tear(log: Buffer, frame: number): void {
  log.fill(0, frameAt(frame) + 1_000, frameAt(frame + 1));
}

test('the last commit, of which not every page came to the disk, is no damage', () => {
  const log = logOf(6);
  const ends = endsOf(log);
  assert.deepEqual(read(log), [6, 0, 0]);
  tear(log, (ends.at(-2) ?? 0) + 1);
  assert.deepEqual(read(log), [5, 0, 1]);
  // Its first frame has nothing of its own at all.
  log.fill(0, frameAt((ends.at(-2) ?? 0) + 1), frameAt((ends.at(-2) ?? 0) + 2));
  assert.deepEqual(read(log), [5, 0, 2]);
});

test('a commit that was on disk before the log went on is missed', () => {
  const whole = logOf(6);
  const ends = endsOf(whole);
  const before = Buffer.from(whole);
  tear(before, (ends.at(-3) ?? 0) + 1);
  assert.deepEqual(read(before), [4, 2, 1]);
  // The end of a commit is what is damaged: the one behind it was begun after it.
  const end = Buffer.from(whole);
  tear(end, ends.at(-2) ?? 0);
  assert.deepEqual(read(end), [4, 1, 1]);
  // The next one had begun.
  const begun = Buffer.from(whole.subarray(0, frameAt((ends.at(-2) ?? 0) + 3)));
  tear(begun, (ends.at(-3) ?? 0) + 1);
  assert.deepEqual(read(begun), [4, 1, 1]);
});

test('a frame is whole when only the stored checksum before it is damaged', () => {
  const log = logOf(6);
  const ends = endsOf(log);
  const frame = (ends.at(-3) ?? 0) + 1;
  const flipChecksum = (at: number): void => {
    log.writeUInt8(log.readUInt8(at) ^ 1, at);
  };
  flipChecksum(frameAt(frame) + 22);
  assert.deepEqual(read(log), [4, 2, 1]);
  flipChecksum(frameAt(frame + 1) + 17);
  assert.deepEqual(read(log), [4, 2, 2]);
  // A log whose head lost its own checksum.
  const headless = logOf(6);
  headless.writeUInt8(headless.readUInt8(26) ^ 1, 26);
  assert.deepEqual(read(headless), [0, 6, 0]);
});

test('a file without its header has the page size that its log says', () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'a.db');
  using db = new DatabaseSync(file);
  db.exec('pragma page_size = 1024; pragma journal_mode = wal; create table texts (content text)');
  const [whole, log] = [readFileSync(file), readFileSync(`${file}-wal`)].map(bytesOf);
  const empty = bytesOf(Buffer.alloc(0));
  assert.ok(whole !== undefined && log !== undefined);
  assert.equal(pageSizeOf(whole, null), 1_024);
  assert.equal(pageSizeOf(empty, log), 1_024);
  assert.equal(pageSizeOf(empty, null), 4_096);
});
