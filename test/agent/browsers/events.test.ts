// Own process: it changes the environment of the process.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../support/system.ts';

test('a secret that a script assigns is reported however many were reported before', () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'events.jsonl');
  process.env['MONITOR_EVENTS'] = file;
  const { emit } = createRequire(import.meta.url)('../../../agent/browsers/inside/events.cjs') as {
    emit(event: object): void;
  };
  const text = 'x'.repeat(1_000_000);
  for (let count = 0; count < 20; count += 1) emit({ type: 'output', text });
  emit({ type: 'secret', value: 'assigned late' });
  emit({ type: 'end', status: 'passed' });
  delete process.env['MONITOR_EVENTS'];
  const told = readFileSync(file, 'utf8');
  assert.ok(told.length < 13_000_000);
  assert.match(told, /\{"type":"secret","value":"assigned late"\}\n\{"type":"end"/);
});
