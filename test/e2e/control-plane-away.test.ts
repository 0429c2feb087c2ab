/** Two agents in two locations, and a control plane that is killed: people hear of it once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, System, temporaryFolder } from '../support/system.ts';
import { httpServer } from '../support/servers.ts';

test('agents say that the control plane is away, once a channel, and that it is back', async () => {
  using folder = temporaryFolder();
  const heard: string[] = [];
  await using receiver = await httpServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      heard.push(
        `${request.url ?? ''} ${/(do not reach|reach[^"]*again)/.exec(body)?.[0] ?? body}`,
      );
      response.end('ok');
    });
  });
  await using system = await System.start(folder.path, { AWAY_AFTER_SECONDS: '10' });
  const url = `${receiver.url}/hook`;
  await system.api('POST', '/v1/alert-channels', {
    ...{ type: 'WEBHOOK', config: { name: 'ops', url, method: 'POST' }, sentByAgents: true },
  });
  await system.api('POST', '/v1/alert-channels', {
    ...{ type: 'SLACK', config: { url: `${receiver.url}/slack` }, sentByAgents: true },
  });
  const keys = {
    berlin: await system.makeLocation('berlin'),
    lisbon: await system.makeLocation('lisbon'),
  };
  const agents = [
    system.startAgent('first', keys.berlin),
    system.startAgent('second', keys.lisbon),
  ];
  for (const agent of agents) {
    const port = String((await agent.log('agent has started'))['healthPort']);
    const remarks = async (): Promise<string> =>
      (await fetch(`http://127.0.0.1:${port}/health`)).text();
    const isArmed = async () => (await remarks()).includes('channels: 2, other agents: 1');
    await eventually(isArmed, () => 'an agent knows of channels and of the others');
  }

  await system.controlPlane.kill9();
  await eventually(
    () => heard.length >= 2,
    () => 'people hear of it',
  );
  // All of them have asked around by now.
  for (const agent of agents) await agent.log('the control plane is away');
  assert.deepEqual(heard.sort(), ['/hook do not reach', '/slack do not reach']);

  await system.restartControlPlane();
  await eventually(
    () => heard.length >= 4,
    () => 'people hear that it is back',
  );
  assert.deepEqual(heard.slice(2).sort(), [
    '/hook reach the control plane again',
    '/slack reach the control plane again',
  ]);
  for (const agent of agents) await agent.stop();
  assert.equal(heard.length, 4);
});
