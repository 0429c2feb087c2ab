import assert from 'node:assert/strict';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { keepFilesIn } from '../../../../agent/commands/run/kept-files.ts';
import { temporaryFolder } from '../../../support/system.ts';

test('a folder that cannot be made is an error at once, also where the kernel makes the folders', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'file');
  writeFileSync(file, '');
  for (const [path, code] of [
    ['/proc/x', 'ENOENT'],
    ['/proc/self/x/y', 'ENOENT'],
    [file, 'ENOTDIR'],
    [join(file, 'below'), 'ENOTDIR'],
  ] as const) {
    await assert.rejects(keepFilesIn(path), {
      code: 'CONFIG_INVALID',
      message: `files cannot be kept in ${path} (${code}); name a folder that this user may write to`,
    });
  }
});

test('a folder is made with those above it, and one that is there is used', async () => {
  using folder = temporaryFolder();
  const there = join(folder.path, 'there');
  mkdirSync(there);
  for (const path of [there, join(there, 'a/b')]) {
    await using _files = await keepFilesIn(path);
    assert.ok(statSync(path).isDirectory());
  }
});
