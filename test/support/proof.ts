/** Cases of the proof, played on the programs of this repository. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { prove, type Proof } from '../../proof/run.ts';
import { agentProgram, controlPlaneProgram } from './programs.ts';
import { isLong, testSeed } from './random.ts';

/** Plays so many faults of each case, and asserts that every line of the report is zero. */
export async function play(
  context: TestContext,
  only: readonly string[],
  rounds: number,
  databaseUrl: string | null = null,
): Promise<Proof> {
  const seed = isLong ? 1 + (testSeed() % 1_000_000) : 1;
  context.diagnostic(`seed ${seed}`);
  const say: string[] = [];
  const proof = await prove({
    ...{ programs: { agent: agentProgram, controlPlane: controlPlaneProgram }, seed, only, rounds },
    ...{ isShort: true, databaseUrl, playMs: Infinity, signal: context.signal },
    say: (line) => say.push(line),
  });
  const found = Object.entries(proof.tally.findings).filter(([, texts]) => texts.length > 0);
  assert.deepEqual(found, [], say.join('\n'));
  assert.deepEqual(proof.notRun, []);
  for (const each of proof.cases) assert.ok(each.rounds >= rounds, JSON.stringify(each));
  return proof;
}
