/** Makes an environment, runs the real command in it, and compares what it says first. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import type { StepFinding, Report } from '../../../../agent/doctor/finding.ts';
import { exitCodes } from '../../../../agent/exit-codes.ts';
import { labProblem } from '../../../support/network-lab.ts';
import { Ground, type Environment } from './environment.ts';
import type { Office } from './office.ts';

/** Why an environment cannot be made on this machine; null where it can. */
export function whyNot({ needs }: Environment): string | null {
  if (needs === 'nothing') return process.platform === 'linux' ? null : 'needs Linux';
  return labProblem();
}

function assertPackages({ packages = {} }: Environment): void {
  for (const [program, debian] of Object.entries(packages)) {
    const found = spawnSync('sh', ['-c', 'command -v "$0"', program]);
    assert.equal(found.status, 0, `install the package ${debian}`);
  }
}

/** What the exit code has to be, by what was found. */
function exitCodeFor({ ok, findings }: Report): number {
  if (ok) return exitCodes.ok;
  // With settings that cannot be used nothing else can be looked at.
  const isUnusable = findings.every(
    ({ id, verdict }) => verdict === 'skip' || id === 'versions' || id === 'settings',
  );
  return isUnusable ? exitCodes.error : exitCodes.failed;
}

/**
 * The cause is the first that is said, no other step claims to be the cause, what to do is said of
 * everything that is not well, and the exit code agrees. Gives what it says of the cause, and a text
 * that shows everything.
 */
function assertOneCause(
  report: Report,
  exitCode: number,
  first: Environment['first'],
  expected: ReadonlySet<string>,
): { said: StepFinding | undefined; shown: string } {
  const bad = report.findings.filter(({ verdict }) => verdict === 'warn' || verdict === 'fail');
  const shown = JSON.stringify(bad, null, 1);
  const unexpected = bad.filter(({ id, verdict }) => verdict === 'fail' || !expected.has(id));
  const said = unexpected[0];
  const found = said === undefined ? null : { id: said.id, verdict: said.verdict };
  assert.deepEqual(found, first, shown);
  const others = bad.filter(({ id, verdict }) => verdict === 'fail' && id !== first?.id);
  assert.deepEqual(others, [], 'only one step names a cause');
  assert.equal(report.ok, first?.verdict !== 'fail');
  assert.equal(exitCode, exitCodeFor(report), shown);
  for (const { id, verdict, fix } of report.findings) {
    const hasFix = verdict === 'warn' || verdict === 'fail';
    assert.equal(fix !== null && fix !== '', hasFix, `${id}: what to do is said of problems alone`);
  }
  return { said, shown };
}

/** Tries an environment; where the machine has nothing else to do, within `limitMs`. */
export async function tryEnvironment(
  environment: Environment,
  office: Office | null,
  { options = [], limitMs = Infinity }: { options?: readonly string[]; limitMs?: number } = {},
): Promise<void> {
  const { first, evidence, fix, agent } = environment;
  assertPackages(environment);
  await using ground = await Ground.open(office);
  await environment.make(ground);
  const { report, exitCode } = await ground.doctor(options);
  const { said, shown } = assertOneCause(report, exitCode, first, ground.expected);
  assert.ok(report.durationMs <= limitMs, `it took ${report.durationMs} ms`);
  for (const words of evidence) assert.ok(said?.evidence.includes(words), `${words}\n${shown}`);
  for (const words of fix) assert.ok(said?.fix?.includes(words), `${words}\n${shown}`);
  if (agent !== undefined) await ground.agentSays(agent);
}
