/** Each known fault is made by a row or proved by a test, or says why not. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { rows } from '../../../proof/cases/diagnosis.ts';
import { environments } from './environments/environments.ts';
import { threeAm } from './three-am.ts';

test('the faults of 3 a.m. are covered by rows and tests', (context) => {
  const made = [...rows, ...Object.values(environments).flat()].flatMap(({ from }) => from ?? []);
  const unknown = made.filter((id) => threeAm[id] === undefined);
  assert.deepEqual(unknown, []);
  const bare: string[] = [];
  for (const [id, { tests = [], uncovered }] of Object.entries(threeAm)) {
    for (const [file, name] of tests) assert.ok(readFileSync(file, 'utf8').includes(name), name);
    const isCovered = made.includes(id) || tests.length > 0;
    assert.equal(isCovered, uncovered === undefined, `${id} is covered or says why not`);
    if (!isCovered) bare.push(`${id}, ${uncovered ?? ''}`);
  }
  const all = Object.keys(threeAm).length;
  const ofRows = new Set(made).size;
  context.diagnostic(`${all - bare.length} of ${all} faults are covered, ${ofRows} by rows`);
  for (const text of bare) context.diagnostic(`not covered: ${text}`);
});
