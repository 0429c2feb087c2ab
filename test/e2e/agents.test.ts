import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import test from 'node:test';
import type { Program } from '../../proof/program.ts';
import { System, temporaryFolder } from '../support/system.ts';

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
