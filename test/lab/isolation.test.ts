/** Every hostile program in every way of keeping runs apart, in every context of the agent. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { findOfSystem } from '../../agent/system/find-program.ts';

test('hostile programs leave nothing and see nothing, by bubblewrap and by util-linux', (t) => {
  assert.ok(findOfSystem('bwrap') !== null, 'bubblewrap is missing: apt-get install bubblewrap');
  const { status, stdout } = spawnSync(
    process.execPath,
    ['--test', '--test-timeout=600000', 'test/agent/script-host/hostile.test.ts'],
    // A test that runs tests must not be taken for one of theirs.
    { encoding: 'utf8', env: { ...process.env, TEST_LONG: '1', NODE_TEST_CONTEXT: undefined } },
  );
  t.diagnostic(stdout.slice(-400));
  assert.equal(status, 0, stdout);
});
