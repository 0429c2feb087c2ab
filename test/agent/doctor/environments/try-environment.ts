/** Makes an environment, runs the real command in it, and compares what it says first. */
import assert from 'node:assert/strict';
import { labProblem } from '../../../support/network-lab.ts';
import { firstFinding, Ground, type Environment } from './environment.ts';
import type { Office } from './office.ts';

const limitMs = 15_000;

/** Why an environment cannot be made on this machine; null where it can. */
export function whyNot({ needs }: Environment): string | null {
  if (needs === 'nothing') return process.platform === 'linux' ? null : 'needs Linux';
  return labProblem();
}

export async function tryEnvironment(
  environment: Environment,
  office: Office | null,
  options: readonly string[] = [],
): Promise<void> {
  const { first, evidence, fix } = environment;
  await using ground = await Ground.open(office);
  await environment.make(ground);
  const { report, exitCode } = await ground.doctor(options);
  const said = firstFinding(report, ground.expected);
  const shown = JSON.stringify(
    report.findings.filter(({ verdict }) => verdict !== 'ok'),
    null,
    1,
  );
  assert.ok(report.durationMs <= limitMs, `it took ${report.durationMs} ms`);
  if (first === null) {
    assert.equal(said, null, shown);
    assert.equal(exitCode, 0);
    return;
  }
  assert.deepEqual({ id: said?.id, verdict: said?.verdict }, first, shown);
  assert.equal(report.ok, first.verdict === 'warn');
  for (const words of evidence) assert.ok(said?.evidence.includes(words), `${words}\n${shown}`);
  for (const words of fix) assert.ok(said?.fix?.includes(words), `${words}\n${shown}`);
}
