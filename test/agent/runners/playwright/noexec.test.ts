/** A work folder from which no program may be started. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import test from 'node:test';
import { assertStartsPrograms } from '../../../../agent/runners/playwright/run-playwright.ts';
import { temporaryFolder } from '../../../support/system.ts';

const skip = process.getuid?.() !== 0 && 'only root may mount';

test(
  'a work folder mounted with noexec is an agent error, and one that allows programs is none',
  { skip },
  async () => {
    using folder = temporaryFolder();
    await assertStartsPrograms(folder.path);
    assert.deepEqual(readdirSync(folder.path), []);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'noexec', 'runs', folder.path]);
    try {
      await assert.rejects(assertStartsPrograms(folder.path), {
        code: 'SCRIPTING_UNAVAILABLE',
        message: /is mounted with noexec.*AGENT_WORK_DIR/,
      });
      assert.deepEqual(readdirSync(folder.path), []);
    } finally {
      execFileSync('umount', [folder.path]);
    }
  },
);
