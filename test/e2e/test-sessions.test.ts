/** A test session outlives the process that serves it: no result is lost, and its client gets all of them. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { connectToBroker, topicsOf } from '../support/result-client.ts';
import { eventually, openTarget, System, temporaryFolder } from '../support/system.ts';

const checks = 60;
const reconnectMs = 100;

interface Started {
  testSessionId: string;
  sequenceIds: Record<string, string>;
}

test('a control plane that is killed in the middle of a session loses none of its results', async () => {
  using folder = temporaryFolder();
  await using target = await openTarget();
  await using system = await System.start(folder.path);
  const key = await system.makeLocation('office');
  // One at a time, so that the kill finds some that ran and some that did not.
  await using agent = system.startAgent('office', key, { UPTIME_CONCURRENCY: '1' });
  await agent.log('checked in');
  await using client = await connectToBroker(system.baseUrl, system, reconnectMs);
  const suiteId = randomUUID();
  await client.mqtt.subscribeAsync(topicsOf(system.accountId, suiteId));
  const { testSessionId, sequenceIds } = await system.api<Started>(
    'POST',
    '/v1/test-sessions/run',
    {
      ...{ name: 'shop', runLocation: 'office' },
      checkRunJobs: Array.from({ length: checks }, (_, index) => ({
        ...{ checkType: 'URL', logicalId: `c${index}`, name: `Shop ${index}` },
        ...{ request: { url: `${target.url}/ok` } },
        sourceInfo: { checkRunSuiteId: suiteId },
      })),
    },
  );
  await eventually(
    () => (target.visits.get('/ok') ?? 0) > 3,
    () => 'the first runs',
  );
  await system.controlPlane.kill9();
  await system.restartControlPlane();
  await eventually(
    () => new Set(client.messages.filter(isFinal).map((one) => one.sequenceId)).size === checks,
    () => `the ends of ${checks} checks; there are ${client.messages.filter(isFinal).length}`,
  );
  assert.deepEqual(
    new Set(client.messages.filter(isFinal).map((one) => one.sequenceId)),
    new Set(Object.values(sequenceIds)),
  );
  const session = await system.api<{ status: string; results: { status: string }[] }>(
    'GET',
    `/v1/test-sessions/${testSessionId}`,
  );
  assert.equal(session.status, 'PASSED');
  assert.equal(session.results.length, checks);
});

function isFinal({ kind, body }: { kind: string; body: { resultType?: string } }): boolean {
  return kind === 'result' && body.resultType === 'FINAL';
}
