// Own process: it starts many programs.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import test from 'node:test';
import { promisify } from 'node:util';
import type { Report } from '../../proof/report.ts';
import { agent } from '../support/agent-command.ts';
import { controlPlaneProgram } from '../support/programs.ts';
import { inLongTier, isLong, testSeed } from '../support/random.ts';
import { temporaryFolder } from '../support/system.ts';

const run = promisify(execFile);

/** What only real processes, sockets and disks show; the simulation plays the others in its tests, and the long tier all. */
const cases = [
  ...['killed-agent', 'control-plane', 'suspension', 'damage'],
  ...(isLong
    ? ['fencing', 'connection', 'proxy', 'receiver', 'rolling-update', 'full-disk', 'starvation']
    : []),
];
const rounds = isLong ? 50 : 2;

test(`${rounds} kills, stops, cuts and damages of each kind lose, double and misjudge nothing, and the report says so`, async (t) => {
  using folder = temporaryFolder();
  const seed = isLong ? 1 + (testSeed() % 1_000_000) : 1;
  t.diagnostic(`seed ${seed}`);
  const out = join(folder.path, 'report');
  const chosen = cases.flatMap((name) => ['--case', name]);
  const length = ['--short', '--rounds', String(rounds), '--seed', String(seed)];
  const args = ['proof', ...chosen, ...length, '--out', out, '--json'];
  await run(process.execPath, [controlPlaneProgram, ...args]).catch((error: unknown) => {
    // The report says more than the exit status.
    t.diagnostic(String(error));
  });
  const report = JSON.parse(readFileSync(join(out, 'proof.json'), 'utf8')) as Report;
  const { findings } = report.tally;
  assert.deepEqual(
    Object.entries(findings).filter(([, found]) => found.length > 0),
    [],
  );
  assert.ok(report.isPassed, JSON.stringify(report.cases));
  for (const each of report.cases) assert.ok(each.rounds >= rounds, JSON.stringify(each));
  // A disturbance that hits nothing proves nothing.
  const { slots, retries, sentAgain, alerts, messages } = report.tally;
  // Few kills need not fall between a commit and its answer; simulated ones do.
  const hits = { slots, retries, alerts, messages, ...(isLong && { sentAgain }) };
  for (const [what, count] of Object.entries(hits)) assert.ok(count > 0, `${what}: ${count}`);
  assert.match(readFileSync(join(out, 'proof.md'), 'utf8'), /every line is zero/);
});

test('a proof that is ended leaves no program and no file', async () => {
  using folder = temporaryFolder();
  const child = spawn(
    process.execPath,
    [
      resolve(controlPlaneProgram),
      'proof',
      '--short',
      '--case',
      'suspension',
      '--case',
      'killed-agent',
    ],
    {
      env: { ...process.env, HOME: folder.path, TMPDIR: folder.path },
      stdio: ['ignore', 'ignore', 'pipe'],
      cwd: folder.path,
    },
  );
  for await (const line of createInterface({ input: child.stderr })) {
    if (line.includes('being played')) child.kill('SIGTERM');
    if (line.includes('removed their files')) break;
  }
  if (child.exitCode === null) await once(child, 'exit');
  assert.equal(child.exitCode, 128 + 15);
  const left = globSync('/proc/*/environ').filter((file) => {
    try {
      return readFileSync(file, 'utf8').includes(`HOME=${folder.path}\0`);
    } catch {
      return false;
    }
  });
  assert.deepEqual(left, []);
  assert.deepEqual(
    readdirSync(folder.path).filter((name) => name.startsWith('monitor-')),
    [],
  );
});

test('the proof says which option it cannot use', async () => {
  const { code, error } = await agent(['proof', '--case', 'thunder']);
  assert.equal(code, 2);
  assert.match(error, /--case: there is no "thunder"; there are killed-agent, /);
});

test('without the other program the proof says what to install', async () => {
  const { code, error } = await agent(['proof', '--control-plane', '/nowhere/control-plane.js']);
  assert.equal(code, 2);
  assert.match(error, /--control-plane: there is no \/nowhere/);
});

test(
  'the proof finds a result that is acknowledged too early, a doubled alert, and a verdict that ignores a stop',
  inLongTier,
  async () => {
    const names = ['early-answer', 'alert-twice', 'suspension-ignored'];
    const { stdout } = await run(process.execPath, ['scripts/proof-breaks.ts', ...names]);
    assert.match(stdout, /3 of 3 breaks found/);
  },
);
