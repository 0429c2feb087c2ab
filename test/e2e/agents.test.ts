import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import test from 'node:test';
import { assertNothingDoubled, unfinishedSlots } from '../support/accounting.ts';
import type { Program } from '../../proof/program.ts';
import { eventually, openTarget, slotsUntil, System, temporaryFolder } from '../support/system.ts';

async function probe(port: number, path: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  await response.text();
  return response.status;
}

async function healthPortOf(agent: Program): Promise<number> {
  return Number((await agent.log('agent has started'))['healthPort']);
}

test('an agent alone: its data directory is its own, SIGTERM lets its run finish, a second one ends it at once', async (t) => {
  using folder = temporaryFolder();
  await using system = await System.start(folder.path);
  const key = await system.makeLocation('here');
  let agent = system.startAgent('agent', key);
  const port = await healthPortOf(agent);
  await agent.log('checked in');
  assert.equal(await probe(port, '/-/readiness'), 200);

  await t.test('two agents cannot share a data directory', async () => {
    const second = system.startAgent('agent', key);
    const { code } = await second.exited;
    assert.equal(code, 2);
    const said = second.lines.join('\n');
    assert.match(said, /another agent uses the data directory/);
    assert.ok(said.includes(join(folder.path, 'agent')));
  });

  let visit = Promise.withResolvers<() => void>();
  await using server = createServer((_request, response) => {
    visit.resolve(() => response.end('at last'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: targetPort } = server.address() as AddressInfo;
  const check = await system.createUrlCheck(`http://127.0.0.1:${targetPort}/`, {
    name: 'slow',
    privateLocations: ['here'],
  });

  await t.test('SIGTERM lets a running check finish, keeps liveness and ends with 0', async () => {
    const answer = await visit.promise;
    agent.signal('SIGTERM');
    await agent.log('draining');
    assert.equal(await probe(port, '/-/readiness'), 503);
    assert.equal(await probe(port, '/-/liveness'), 200);
    assert.equal(await probe(port, '/health'), 200);
    answer();
    assert.deepEqual(await agent.exited, { code: 0, signal: null });
    const results = await system.api<{ hasFailures: boolean }[]>(
      'GET',
      `/v1/check-results/${check.id}`,
    );
    assert.equal(results[0]?.hasFailures, false);
  });

  await t.test('a second SIGTERM ends the agent at once', async () => {
    visit = Promise.withResolvers();
    agent = system.startAgent('agent', key);
    await visit.promise;
    agent.signal('SIGTERM');
    await agent.log('draining');
    agent.signal('SIGTERM');
    assert.deepEqual(await agent.exited, { code: 143, signal: null });
  });
});

test('an agent restarted while the control plane is away follows its cached schedule', async () => {
  using folder = temporaryFolder();
  await using target = await openTarget();
  await using system = await System.start(folder.path);
  const key = await system.makeLocation('here');
  let agent = system.startAgent('agent', key);
  await agent.log('checked in');
  const check = await system.createUrlCheck(`${target.url}/ok/cached`, {
    name: 'cached',
    privateLocations: ['here'],
  });
  await eventually(
    () => system.runs().length > 0,
    () => 'the first slot has no result',
  );
  await system.controlPlane.kill9();
  const killedAt = Date.now();
  await agent.kill9();
  agent = system.startAgent('agent', key);
  await agent.log('cached schedule is being followed');
  // A busy machine may take longer for that than a slot may start late; a quiet one never does.
  const tooLate = (slot: number) => slot > killedAt - 10_000 && slot < Date.now() - 25_000;
  const excused = [...slotsUntil([check], Date.now())]
    .map((slot) => Number(slot.split('@')[1]))
    .filter(tooLate);
  const before = target.visits.get('/ok/cached') ?? 0;
  await eventually(
    () => (target.visits.get('/ok/cached') ?? 0) > before,
    () => 'no visit while the control plane is away',
  );
  await system.restartControlPlane();
  const until = Date.now();
  const unfinished = () =>
    unfinishedSlots(system.databaseFile, [check], until).filter(
      (slot) => !excused.includes(Number(slot.split('@')[1])),
    );
  await eventually(
    () => unfinished().length === 0,
    () => `slots without a FINAL: ${unfinished().join(', ')}`,
  );
  assertNothingDoubled(system.databaseFile);
});

test('doubleCheck retries a failure once, in another location, and ends the run there', async () => {
  using folder = temporaryFolder();
  await using target = await openTarget();
  await using system = await System.start(folder.path);
  const keys = [await system.makeLocation('north'), await system.makeLocation('south')];
  for (const [index, key] of keys.entries()) {
    await system.startAgent(`agent-${index}`, key).log('checked in');
  }
  await system.createUrlCheck(`${target.url}/fail`, {
    name: 'fails',
    privateLocations: ['north', 'south'],
    doubleCheck: true,
  });
  interface Row {
    result_type: string;
    run_location: string;
    attempt: number;
    check_run_id: number;
  }
  const finals = () =>
    system.query<Row>(`select * from check_results where result_type = 'FINAL' and attempt = 2`);
  await eventually(
    () => finals().length > 0,
    () => 'no FINAL of a second attempt',
  );
  const [final] = finals();
  const first = system.query<Row>(
    `select * from check_results where check_run_id = ${final?.check_run_id} and attempt = 1`,
  )[0];
  assert.equal(first?.result_type, 'ATTEMPT');
  assert.notEqual(first.run_location, final?.run_location);
  assertNothingDoubled(system.databaseFile);
});
