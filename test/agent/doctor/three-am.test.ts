/** Each known fault is made by a row or proved by a test. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { rows } from '../../../proof/cases/diagnosis.ts';
import { environments } from './environments/environments.ts';
import { proved, threeAm } from './three-am.ts';

test('the faults of 3 a.m. are covered by rows and tests', () => {
  const made = [...rows, ...Object.values(environments).flat()].flatMap(({ from }) => from ?? []);
  for (const [, file, name] of proved) {
    assert.ok(readFileSync(`test/${file}.test.ts`, 'utf8').includes(name), name);
  }
  const covered = new Set([...made, ...proved.flatMap(([faults]) => faults.split(' '))]);
  assert.deepEqual([...covered].sort(), Object.keys(threeAm).sort());
});
