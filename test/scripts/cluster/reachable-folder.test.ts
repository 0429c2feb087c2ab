import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { reachableFolder } from '../../../scripts/cluster/reachable-folder.ts';

test('programs of other users get a folder that they can reach, and that of this user where they can', (t) => {
  const folder = mkdtempSync(join(reachableFolder('/tmp'), 'reachable-'));
  t.after(() => {
    rmSync(folder, { recursive: true });
  });
  const within = join(folder, 'within');
  mkdirSync(within, { mode: 0o755 });
  for (const [outer, inner, isOwn] of [
    [0o755, 0o755, true],
    [0o711, 0o1777, true],
    [0o755, 0o700, false],
    [0o700, 0o755, false],
  ] as const) {
    chmodSync(folder, outer);
    chmodSync(within, inner);
    assert.equal(
      reachableFolder(within) === within,
      isOwn,
      `${outer.toString(8)} ${inner.toString(8)}`,
    );
  }
  assert.notEqual(reachableFolder(join(folder, 'gone')), join(folder, 'gone'));
});
