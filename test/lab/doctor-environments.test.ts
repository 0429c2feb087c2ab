/** `monitor-agent doctor` with its slow steps in every environment, each within 15 seconds, and 4 where all is well. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { environments } from '../agent/doctor/environments/environments.ts';
import { Office } from '../agent/doctor/environments/office.ts';
import { tryEnvironment } from '../agent/doctor/environments/try-environment.ts';
import { labProblem } from '../support/network-lab.ts';

const limitMs = 15_000;
const wellLimitMs = 4_000;

test('this machine can make networks', () => {
  assert.equal(labProblem(), null);
});

for (const [group, list] of Object.entries(environments)) {
  describe(`doctor, ${group}`, () => {
    for (const environment of list) {
      test(environment.name, async () => {
        await using office = environment.needs === 'lab' ? await Office.open() : null;
        const isWell = environment.first === null;
        // What only looks like a browser shows no page.
        const isOfBrowser =
          environment.first?.id === 'browser' || environment.first?.id === 'runtimes';
        const options = isOfBrowser ? [] : ['--skip', 'browser,fonts'];
        await tryEnvironment(environment, office, {
          ...{ options, limitMs: isWell ? wellLimitMs : limitMs },
        });
      });
    }
  });
}
