// Own process: it starts processes that play minutes of virtual time.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import test from 'node:test';
import { found } from '../../simulation/found.ts';
import { inLongTier, isLong, testSeed } from '../support/random.ts';

const command = join(import.meta.dirname, '..', '..', 'simulation', 'main.ts');

interface Report {
  seeds: number;
  failing: { seed: number; wrong: string[] }[];
  traces: Record<string, string>;
}

function simulate(...args: string[]): Report {
  const { stdout, stderr } = spawnSync(process.execPath, [command, '--json', ...args], {
    encoding: 'utf8',
    maxBuffer: 100_000_000,
  });
  assert.notEqual(stdout, '', stderr);
  return JSON.parse(stdout) as Report;
}

const seeds = isLong ? '500' : '6';

test(`${seeds} stories of the simulation end as they should, and a seed repeats its story`, () => {
  const first = simulate('--seeds', seeds);
  assert.equal(first.seeds, Number(seeds));
  assert.deepEqual(first.failing, []);
  const again = simulate('--seeds', '1');
  assert.deepEqual(again.traces, { 1: first.traces[1] });
});

for (const { seed, cases, cause } of found) {
  const from = ['--seeds', '1', '--from', String(seed)];
  const ofCases = cases === null ? [] : ['--case', cases.join()];
  test(`seed ${seed}${cases === null ? '' : ` of ${cases.join()}`} finds no more that ${cause}`, () => {
    assert.deepEqual(simulate(...from, ...ofCases).failing, []);
  });
}

test('no step of a clock hides an outage, and no agent that ends drops a slot', inLongTier, () => {
  const { failing } = simulate('--case', 'clock,drain', '--seeds', '200');
  assert.deepEqual(failing, []);
});

test('a fresh story is played, which only reports', (t) => {
  const seed = testSeed();
  const { failing } = simulate('--seeds', '1', '--from', String(seed));
  for (const { wrong } of failing)
    t.diagnostic(`npm run simulate -- --replay ${seed}: ${wrong.slice(0, 3).join('; ')}`);
});

test('a fault that is put in on purpose is found', () => {
  const { status, stdout } = spawnSync(
    process.execPath,
    [command, '--break', 'alert-every-run', '--seeds', '3'],
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, stdout);
  assert.match(stdout, /^found {2}alert-every-run/);
});
