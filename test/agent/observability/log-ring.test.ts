import assert from 'node:assert/strict';
import test from 'node:test';
import { LogRing } from '../../../agent/observability/log-ring.ts';

test('everything is passed on, and the last lines are remembered', () => {
  const passed: string[] = [];
  const ring = new LogRing();
  const destination = ring.before({ write: (line: string) => passed.push(line) });
  for (let index = 0; index < 10_000; index += 1) destination.write(`line ${index}\n`);
  assert.equal(passed.length, 10_000);
  const lines = ring.text().trimEnd().split('\n');
  assert.equal(lines.at(-1), 'line 9999');
  assert.equal(lines.length, 2_000);
  assert.equal(lines[0], 'line 8000');
});

test('long lines do not fill the memory', () => {
  const ring = new LogRing();
  const destination = ring.before({ write: () => undefined });
  const line = `${'x'.repeat(99_999)}\n`;
  for (let index = 0; index < 200; index += 1) destination.write(line);
  assert.ok(ring.text().length <= 1_100_000, String(ring.text().length));
  assert.ok(ring.text().length >= line.length);
});
