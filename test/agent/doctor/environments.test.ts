// Own process: it starts many programs.
/** The real `monitor-agent doctor` in environments in which agents fail: it names the true cause. */
import { describe, test, after, before } from 'node:test';
import { labProblem } from '../../support/network-lab.ts';
import { isLong } from '../../support/random.ts';
import { environments } from './environments/environments.ts';
import { Office } from './environments/office.ts';
import { tryEnvironment, whyNot } from './environments/try-environment.ts';

/** Starting browsers, running code and tracing is what these are about, or takes too long for all. */
const slowSteps = new Set(['browser', 'fonts', 'runtimes', 'scripts', 'traceroute']);

let office: Office | null = null;
before(async () => {
  office = labProblem() === null ? await Office.open() : null;
});
after(async () => {
  await office?.[Symbol.asyncDispose]();
});

for (const [group, list] of Object.entries(environments)) {
  describe(`doctor, ${group}`, { concurrency: 3 }, () => {
    for (const environment of list) {
      // All of them, and with all steps, are in test/lab/doctor-environments.test.ts.
      const isOfLab = environment.packages !== undefined;
      if (environment.isSlow === true && (isOfLab || !isLong)) continue;
      const problem = whyNot(environment);
      const options = slowSteps.has(environment.first?.id ?? '') ? [] : ['--quick'];
      test(environment.name, { skip: problem ?? false }, () =>
        tryEnvironment(environment, office, { options }),
      );
    }
  });
}
