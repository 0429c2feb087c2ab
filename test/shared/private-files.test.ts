import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeFolders } from '@monitor/shared/private-files.ts';

test('folders are made one in the other, and where none can be made it is said at once', () => {
  const root = mkdtempSync(join(tmpdir(), 'folders-'));
  mkdirSync(join(root, 'a'));
  assert.equal(makeFolders(join(root, 'a')), undefined);
  assert.equal(makeFolders(join(root, 'a', 'b', 'c')), join(root, 'a', 'b'));
  assert.equal(statSync(join(root, 'a', 'b', 'c')).mode & 0o777, 0o700);
  rmSync(root, { recursive: true });
  if (process.platform !== 'linux') return;
  assert.throws(() => makeFolders('/proc/no/such'), { code: 'ENOENT', path: '/proc/no' });
});
