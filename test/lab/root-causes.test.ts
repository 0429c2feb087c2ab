/**
 * Causes named from what real runs record: `node test/lab/root-causes.test.ts` prints the confusion matrix. Set
 * TEST_SEED for another noise.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { labProblem } from '../support/network-lab.ts';
import { testSeed } from '../support/random.ts';
import { checks, faults, locations, matrixText, runLab, sumOf } from './root-causes/matrix.ts';
import { recordFaults } from './root-causes/record-faults.ts';

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

test('faults are named by class and place, and no target is blamed for what is not its own', async () => {
  assert.equal(labProblem(), null);
  const recordings = await recordFaults();
  const seed = testSeed();
  const seeds = Array.from({ length: 8 }, (_each, index) => seed + index);
  const began = process.cpuUsage();
  const outcomes = runLab(recordings, seeds);
  const { user } = process.cpuUsage(began);
  const sum = sumOf(outcomes);
  const minutes = Object.keys(faults).length * seeds.length;
  console.log(matrixText(outcomes));
  console.log(
    `TEST_SEED=${seed}: ${Object.keys(faults).length} faults x ${checks.length} checks x ${locations.length} locations x ${seeds.length} seeds`,
  );
  console.log(
    `${sum.all} causes, ${sum.unknown} not enough to tell; of the others ${percent(sum.rightClass)} right at the class, ${percent(sum.rightPlace)} at the place; ${sum.accused.length} targets wrongly accused; ${(user / 1_000 / minutes).toFixed(1)} ms of CPU a minute`,
  );
  for (const { fault, seed: noise, expected, found, sentence } of outcomes) {
    if (found !== expected && found !== 'unknown') {
      console.log(`${fault} (${noise}): ${expected} was named ${found}: ${sentence}`);
    }
  }
  assert.ok(Object.keys(faults).length >= 40);
  assert.deepEqual(sum.accused, []);
  assert.ok(sum.rightClass >= 0.95, `${percent(sum.rightClass)} right at the class`);
  assert.ok(sum.rightPlace >= 0.85, `${percent(sum.rightPlace)} right at the place`);
  assert.ok(sum.unknown / sum.all <= 0.15, `${sum.unknown} of ${sum.all} not enough to tell`);
});
