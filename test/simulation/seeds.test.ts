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

/** Played a second time below. What is met else, the seeds that found something meet. */
const twice = 24;

test('stories of the simulation end as they should, those of seeds that found something too, and each time alike', (t) => {
  const first = simulate(...(isLong ? ['--seeds', '500'] : ['--only', String(twice)]));
  assert.deepEqual(first.failing, []);
  // A fresh one, which only reports.
  const fresh = testSeed();
  const again = simulate('--only', `${fresh},${twice}`, '--found');
  const isFresh = ({ seed, cases }: Report['failing'][number]) => seed === fresh && cases === null;
  for (const { wrong } of again.failing.filter(isFresh))
    t.diagnostic(`npm run simulate -- --replay ${fresh}: ${wrong.slice(0, 3).join('; ')}`);
  assert.deepEqual(
    again.failing.filter((each) => !isFresh(each)),
    [],
  );
  assert.equal(again.seeds, found.length + 2);
  assert.notEqual(first.traces[twice], undefined);
  assert.equal(again.traces[twice], first.traces[twice]);
  t.diagnostic(`${Math.round((first.cpuMs + again.cpuMs) / 1_000)} s of CPU in worlds`);
});

test('no step of a clock hides an outage, and no agent that ends drops a slot', inLongTier, () => {
  const { failing } = simulate('--case', 'clock,drain', '--seeds', '200');
  assert.deepEqual(failing, []);
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
