import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { pino } from 'pino';
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import { Damages } from '../../../agent/damage.ts';
import { Secret } from '../../../agent/secret.ts';
import { Cipher } from '../../../agent/worker/cipher.ts';
import { ScheduleCache, type CachedSchedule } from '../../../agent/worker/schedule-cache.ts';
import { assignedCheck } from '../../support/plain.ts';
import { temporaryFolder } from '../../support/system.ts';

const logger = pino({ level: 'silent' });
const head = { location: 'here', epoch: 1, idKey: 'key', resultKeys: [] };
const [first, second, third] = ['check 0', 'check 1', 'check 2'].map((name) =>
  assignedCheck({ name }),
) as [AssignedCheck, AssignedCheck, AssignedCheck];
const checks = [first, second, third];

function open(folder: string, key = 'pl_1'): ScheduleCache {
  return new ScheduleCache(folder, new Secret(key), logger, new Damages(Date.now, logger));
}

const namesOf = (schedule: CachedSchedule | null) =>
  schedule === null ? null : schedule.checks.map(({ name }) => name).sort();

test('what was appended is read after a restart, with the newest head', () => {
  using folder = temporaryFolder();
  const cache = open(folder.path);
  assert.equal(open(folder.path).load(0), null);
  assert.equal(cache.append({ ...head, checks, removals: [] }), false, 'nothing to append to');
  cache.save({ ...head, checks });
  const changed = { ...first, name: 'renamed' };
  const added = assignedCheck({ name: 'added' });
  assert.ok(cache.append({ ...head, epoch: 2, checks: [changed, added], removals: [second.id] }));
  assert.ok(cache.append({ ...head, epoch: 3, checks: [], removals: [third.id] }));
  const loaded = open(folder.path).load(0);
  assert.deepEqual(namesOf(loaded), ['added', 'renamed']);
  assert.deepEqual(loaded, { ...head, epoch: 3, checks: loaded?.checks });
  assert.equal(open(folder.path, 'pl_2').load(0), null, 'another key reads nothing');
});

test('an entry that is torn anywhere, or zeros, leaves what was before it', () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'schedule.bin');
  const cache = open(folder.path);
  cache.save({ ...head, checks });
  const before = readFileSync(file);
  cache.append({ ...head, checks: [], removals: [first.id] });
  const after = readFileSync(file);
  for (let length = before.length; length < after.length; length += 1) {
    writeFileSync(file, after.subarray(0, length));
    assert.deepEqual(namesOf(open(folder.path).load(0)), ['check 0', 'check 1', 'check 2']);
  }
  writeFileSync(file, after);
  appendFileSync(file, Buffer.alloc(100));
  assert.deepEqual(namesOf(open(folder.path).load(0)), ['check 1', 'check 2']);
  // A process that starts on such a file writes it anew before it appends.
  assert.equal(open(folder.path).append({ ...head, checks, removals: [] }), false);
  writeFileSync(file, before.subarray(0, before.length - 1));
  assert.equal(open(folder.path).load(0), null, 'the first entry is needed');
});

test('the file of the build before is read', () => {
  using folder = temporaryFolder();
  const cipher = new Cipher(new Secret('pl_1'), 'schedule cache v1');
  const content = cipher.encrypt(JSON.stringify({ ...head, checks }));
  writeFileSync(join(folder.path, 'schedule.bin'), content);
  assert.deepEqual(open(folder.path).load(0), { ...head, checks });
  assert.equal(open(folder.path, 'pl_2').load(0), null);
});

test('a file of many changes is written anew, and does not grow without bounds', () => {
  using folder = temporaryFolder();
  const cache = open(folder.path);
  cache.save({ ...head, checks });
  let rewrites = 0;
  for (let change = 0; change < 300; change += 1) {
    const renamed = { ...first, name: `name ${change}`, type: 'x'.repeat(1_000) };
    if (cache.append({ ...head, checks: [renamed], removals: [] })) continue;
    rewrites += 1;
    cache.save({ ...head, checks: [renamed, second, third] });
  }
  assert.ok(rewrites > 2 && rewrites < 50, `${rewrites} rewrites`);
  assert.ok(statSync(join(folder.path, 'schedule.bin')).size < 150_000);
  assert.deepEqual(namesOf(open(folder.path).load(0)), ['check 1', 'check 2', 'name 299']);
});

test('a change is no schedule: where the file was deleted, none is read until it is whole again', () => {
  using folder = temporaryFolder();
  const cache = open(folder.path);
  cache.save({ ...head, checks });
  rmSync(join(folder.path, 'schedule.bin'));
  const change = { ...head, checks: [first], removals: [] };
  cache.append(change);
  assert.equal(open(folder.path).load(0), null);
  assert.equal(cache.append(change), false);
});

test('after a write that failed, the next one is whole', () => {
  using folder = temporaryFolder();
  const cache = open(folder.path);
  cache.save({ ...head, checks });
  rmSync(folder.path, { recursive: true });
  cache.append({ ...head, checks: [], removals: [first.id] });
  assert.equal(cache.append({ ...head, checks: [], removals: [second.id] }), false);
});
