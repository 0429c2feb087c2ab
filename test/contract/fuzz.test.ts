// Own process: it sends thousands of requests.
/** A fixed share of `npm run fuzz`, so that CI plays the same requests every time; all with `TEST_LONG=1`. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { allRoutes } from '@monitor/shared/contract/index.ts';
import { fuzz } from '../../scripts/fuzz/run.ts';
import { startTestControlPlane } from '../support/control-plane.ts';
import { isLong } from '../support/random.ts';

const count = isLong ? 20_000 : 4_800;
const seed = 4;
/** Of so few requests some operations get none that can succeed: which they are, chance decides. */
const maxNeverAccepted = isLong ? 0 : 20;

/** Operations that cannot succeed here: there is no language model. */
const neverAccepted = new Set(['analyseErrorGroup', 'getRootCauseAnalysis']);

test('random requests are answered by the contract, and nothing breaks', async (t) => {
  await using cp = await startTestControlPlane({
    requestsPerMinute: 0,
    // Passkeys belong to a host name.
    settings: { PUBLIC_URL: 'http://localhost' },
  });
  const report = await fuzz(cp, { count, seed });
  t.diagnostic(
    `seed ${seed}: ${report.requests} requests in ${report.seconds.toFixed(1)} s, ${report.readBack} read back`,
  );
  assert.equal([...report.failures.values()].join('\n\n'), '');
  assert.equal(report.requests, count);
  // A generator that only ever makes what is refused would find nothing.
  const accepted = allRoutes.filter(({ operationId, status }) =>
    report.answers.get(operationId)?.has(status),
  );
  const expected = allRoutes.filter(({ operationId }) => !neverAccepted.has(operationId));
  const never = expected.filter((route) => !accepted.includes(route));
  const names = never.map(({ operationId }) => operationId).join(', ');
  assert.ok(never.length <= maxNeverAccepted, `operations that never succeeded: ${names}`);
  assert.ok(report.readBack >= count / 40, `only ${report.readBack} were read back`);
});
