// Own process: it starts processes that play minutes of virtual time.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import test from 'node:test';
import { found, ofLongTier } from '../../simulation/found.ts';
import { inLongTier, isLong, testSeed } from '../support/random.ts';

const command = join(import.meta.dirname, '..', '..', 'simulation', 'main.ts');

interface Report {
  seeds: number;
  failing: { seed: number; cases: string[] | null; wrong: string[] }[];
  traces: Record<string, string>;
  cpuMs: number;
}

function simulate(...args: string[]): Report {
  const { stdout, stderr } = spawnSync(process.execPath, [command, '--json', ...args], {
    encoding: 'utf8',
    maxBuffer: 100_000_000,
  });
  assert.notEqual(stdout, '', stderr);
  return JSON.parse(stdout) as Report;
}

/** Played by two processes. */
const [twice = assert.fail()] = found.filter(({ cases }) => cases.join() === 'clock');

test('stories of seeds that found something end as they should, and each time alike', (t) => {
  const first = simulate('--only', String(twice.seed), '--case', twice.cases.join());
  const again = simulate('--seeds', '0', '--found', isLong ? 'all' : 'few');
  assert.deepEqual([first.failing, again.failing], [[], []]);
  assert.equal(again.seeds, found.length - (isLong ? 0 : ofLongTier.length));
  assert.notEqual(first.traces[twice.seed], undefined);
  assert.equal(again.traces[twice.seed], first.traces[twice.seed]);
  t.diagnostic(`${Math.round((first.cpuMs + again.cpuMs) / 1_000)} s of CPU in worlds`);
});

test('stories of many seeds end as they should', inLongTier, (t) => {
  assert.deepEqual(simulate('--seeds', '500').failing, []);
  // A fresh one only reports.
  const fresh = testSeed();
  for (const { wrong } of simulate('--only', String(fresh)).failing)
    t.diagnostic(`npm run simulate -- --replay ${fresh}: ${wrong.slice(0, 3).join('; ')}`);
});

test('no step of a clock hides an outage, and no agent that ends drops a slot', inLongTier, () => {
  const { failing } = simulate('--case', 'clock,drain', '--seeds', '200');
  assert.deepEqual(failing, []);
});

test('a fault that is put in on purpose is found', () => {
  const { status, stdout } = spawnSync(
    process.execPath,
    [command, '--break', 'alert-every-run', '--seeds', '3', '--case', 'targets'],
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, stdout);
  assert.match(stdout, /^found {2}alert-every-run/);
});
