import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { pino } from 'pino';
import { DataFolderWatch } from '../../../agent/status/data-folder-watch.ts';
import { temporaryFolder } from '../../support/system.ts';

test('what keeps results off the disk is in /health without a path, logged once, and gone when it is over', () => {
  using folder = temporaryFolder();
  const data = join(folder.path, 'data');
  const kept = join(folder.path, 'kept');
  mkdirSync(data);
  writeFileSync(join(data, 'outbox.db'), '');
  const said: string[] = [];
  const log = pino(
    {},
    { write: (line) => void said.push((JSON.parse(line) as { msg: string }).msg) },
  );
  const watch = new DataFolderWatch(data, log);
  assert.deepEqual(watch.remarks, {});
  const cannot = 'AGENT_DATA_DIR cannot be written, results cannot be kept';
  const again = 'AGENT_DATA_DIR can be written again';
  const steps: [() => void, string | null, string[]][] = [
    [() => undefined, null, []],
    [() => renameSync(data, kept), 'REMOVED', [cannot]],
    [() => undefined, 'REMOVED', []],
    [() => writeFileSync(data, ''), 'EEXIST', [cannot]],
    [() => (rmSync(data), renameSync(kept, data)), null, [again]],
  ];
  for (const [change, code, lines] of steps) {
    said.length = 0;
    change();
    watch.inspect();
    const expected = code === null ? {} : { data: `results cannot be kept on disk (${code})` };
    assert.deepEqual(watch.remarks, expected);
    assert.deepEqual(said, lines);
  }
});
