import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import test from 'node:test';
import { makeTemporaryFolder } from '../../../agent/temporary-folder.ts';
import { makeTemporaryFolder as makeForOperator } from '../../../control-plane/db/temporary-folder.ts';
import { surroundings } from '../../../proof/program.ts';
import { agentProgram } from '../../support/programs.ts';
import { temporaryFolder } from '../../support/system.ts';

/** Root may write anywhere but here. */
const nowhere = existsSync('/proc/self') ? '/proc/self' : '/dev/null';

async function withTemporaryFiles<T>(folder: string, work: () => T | Promise<T>): Promise<T> {
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = folder;
  try {
    return await work();
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
}

test('where no temporary files can be made, both programs name the folder and the setting', async () => {
  const says = /temporary files can be made in \/.* \(E\w+\): set TMPDIR to a folder/;
  await withTemporaryFiles(nowhere, async () => {
    await assert.rejects(makeTemporaryFolder('a-'), says);
    assert.throws(() => makeForOperator('a-'), says);
  });
});

test('run watches a target without a place for temporary files', () => {
  using home = temporaryFolder();
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [agentProgram, 'run', 'tcp://127.0.0.1:9'],
    { env: { ...surroundings(), HOME: home.path, TMPDIR: nowhere }, encoding: 'utf8' },
  );
  assert.doesNotMatch(stderr, /unexpected|mkdtemp/);
  assert.match(stdout, /refused/);
  assert.equal(status, 1, stderr);
});
