import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import test from 'node:test';
import { assertNothingDoubled } from '../support/accounting.ts';
import {
  eventually,
  slotsUntil,
  System,
  temporaryFolder,
  type CheckWire,
} from '../support/system.ts';

const answerAfterMs = 1_500;
const checks = 8;
/** The first two leave time to make attempts again within their slot of ten seconds; the last leaves none. */
const stopsMs = [3_000, 9_000, 22_000];
const suspended = 'the process was stopped or the machine slept, open attempts are void';

/** A healthy target that takes its time. Resolves with the next visitor. */
async function openSlowTarget() {
  let visited = Promise.withResolvers<void>();
  const server = createServer((_request, response) => {
    visited.resolve();
    setTimeout(() => response.writeHead(200).end('ok'), answerAfterMs);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    nextVisit(): Promise<void> {
      visited = Promise.withResolvers<void>();
      return visited.promise;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

test('an agent that is stopped in the middle of its runs says nothing bad about a healthy target', async () => {
  using folder = temporaryFolder();
  await using target = await openSlowTarget();
  await using system = await System.start(folder.path);
  const key = await system.makeLocation('here');
  const agent = system.startAgent('one', key);
  await agent.log('checked in');
  const made: CheckWire[] = [];
  for (let index = 0; index < checks; index += 1) {
    made.push(
      await system.createUrlCheck(`${target.url}/${index}`, {
        name: `check ${index}`,
        privateLocations: ['here'],
        // Far above what the target takes, far below what a stop takes.
        ...{ degradedResponseTime: 6_000, maxResponseTime: 7_000 },
      }),
    );
  }
  for (const [index, stopMs] of stopsMs.entries()) {
    // A run is in flight: its request has arrived, and the answer is on its way.
    await target.nextVisit();
    agent.signal('SIGSTOP');
    await pause(stopMs);
    agent.signal('SIGCONT');
    await eventually(
      () => agent.lines.filter((line) => line.includes(suspended)).length > index,
      60_000,
      () => 'the agent did not notice that it was stopped',
    );
  }
  const until = Date.now();
  const accounted = () =>
    new Set(
      system
        .runs()
        .filter(({ state }) => state !== 'RUNNING')
        .map(({ check_id: checkId, scheduled_for: slot }) => `${checkId}@${slot}`),
    );
  const missing = () => {
    const known = accounted();
    return [...slotsUntil(made, until)].filter((slot) => !known.has(slot));
  };
  await eventually(
    () => missing().length === 0,
    // The control plane itself accounts for a slot after 90 seconds.
    180_000,
    () => `slots without an end: ${missing().join(', ')}`,
  );
  const [verdicts] = system.query<{ failed: number; degraded: number; results: number }>(
    `select sum(has_failures) as failed, sum(is_degraded) as degraded, count(*) as results
     from check_results`,
  );
  assert.deepEqual([verdicts?.failed, verdicts?.degraded], [0, 0]);
  assert.ok((verdicts?.results ?? 0) >= checks);
  assertNothingDoubled(system.databaseFile);
  const reasons = new Set(
    system.runs().flatMap(({ missed_reason: reason }) => (reason === null ? [] : [reason])),
  );
  assert.ok(reasons.has('agent-suspended'), [...reasons].join(', '));
});
