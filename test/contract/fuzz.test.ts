/** A fixed share of `npm run fuzz`, so that CI plays the same requests every time; all with `TEST_LONG=1`. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import test from 'node:test';
import { cannotSucceed, fuzz } from '../../scripts/fuzz/run.ts';
import { startTestControlPlane } from '../support/control-plane.ts';
import { isLong } from '../support/random.ts';

/** All calls as the contract means them, which come first, and about as many random ones after them. */
const steps = isLong ? 400 : 120;
const count = isLong ? 20_000 : 12 * steps;
const seed = 7;
test('random requests are answered by the contract, and nothing breaks', async (t) => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const report = await fuzz(cp, { count, seed, steps });
  t.diagnostic(
    `seed ${seed}: ${report.requests} requests in ${report.seconds.toFixed(1)} s, ${report.readBack} read back`,
  );
  assert.equal([...report.failures.values()].join('\n\n'), '');
  assert.equal(report.requests, count);
  // A generator that only ever makes what is refused would find nothing.
  assert.deepEqual(report.neverAccepted, []);
  for (const why of Object.values(cannotSucceed)) {
    const [file] = /^test\/\S+/.exec(why) ?? [];
    assert.ok(file === undefined || existsSync(file), why);
  }
  assert.deepEqual([report.clients > 0, report.commands > 0], [true, true]);
  assert.ok(report.readBack >= count / 40, `only ${report.readBack} were read back`);
});
