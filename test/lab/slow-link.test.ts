/** A modem far away: 64 kbit/s each way and two seconds there and back. In real time. */
import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import test from 'node:test';
import { systemClock } from '@monitor/shared/clock.ts';
import { ControlPlaneClient } from '../../agent/link/control-plane-client.ts';
import { createDispatcher } from '../../agent/link/dispatcher.ts';
import { Secret } from '../../agent/secret.ts';
import { callApi } from '../../proof/api.ts';
import { FaultProxy } from '../../proof/fault-proxy.ts';
import { makeKeys, openAgent, openControlPlane } from '../support/in-process.ts';
import { eventually, openTarget, queryDatabase, temporaryFolder } from '../support/system.ts';

const modem = { kind: 'bandwidth', bytesPerSecond: 8_000, delayMs: 1_000 } as const;
const location = 'eu-central-1';

/** Takes bodies and answers 204 when all of one is there. */
async function receiverOfFiles() {
  let last = Buffer.alloc(0);
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      last = Buffer.concat(chunks);
      response.writeHead(204).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    last: () => last,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

test('over it an agent checks in and delivers its results, without a failed call', async (t) => {
  using folder = temporaryFolder();
  await using target = await openTarget();
  await using controlPlane = await openControlPlane(folder.path, systemClock);
  const { apiKey, locationKeys } = await makeKeys(controlPlane, [location]);
  await using link = await FaultProxy.start(Number(new URL(controlPlane.url).port));
  await link.fail(modem);
  for (let index = 0; index < 20; index += 1) {
    await callApi({ baseUrl: controlPlane.url, apiKey }, 'POST', '/v1/checks/url', {
      ...{ name: `check ${index}`, frequency: 0, frequencyOffset: 10, doubleCheck: false },
      locations: [location],
      request: { url: `${target.url}/ok/${index}` },
    });
  }
  await using agent = await openAgent(
    join(folder.path, 'agent'),
    link.url,
    locationKeys[0] ?? '',
    systemClock,
  );
  await agent.ready;
  const file = join(folder.path, 'control-plane.db');
  const stored = () =>
    queryDatabase<{ n: number }>(file, 'select count(*) as n from check_results')[0]?.n ?? 0;
  await eventually(
    () => stored() >= 100,
    () => `${stored()} results arrived`,
  );
  const metrics = await (await fetch(`http://127.0.0.1:${agent.healthPort}/metrics`)).text();
  t.diagnostic(`${stored()} results; ${/^monitor_agent_check_ins_total.*$/m.exec(metrics)?.[0]}`);
  assert.doesNotMatch(metrics, /check_ins_total\{outcome="(?!answered)/);
  assert.doesNotMatch(metrics, /submit_failures_total\{/);
});

test('over it files that vanish into buffers get through, after the first without another try', async (t) => {
  using folder = temporaryFolder();
  const content = randomBytes(300_000);
  const path = join(folder.path, 'file');
  writeFileSync(path, content);
  await using receiver = await receiverOfFiles();
  await using link = await FaultProxy.start(receiver.port);
  await link.fail(modem);
  const dispatcher = createDispatcher({});
  const client = new ControlPlaneClient({
    ...{ baseUrl: link.url, apiKey: new Secret('pl_key'), dispatcher },
    ...{ agentId: randomUUID(), version: 'test' },
  });
  const digest = createHash('sha256').update(content).digest('base64');
  const upload = async (): Promise<number> => {
    const file = { name: 'a.bin', path, digest, size: content.length, isCompressed: false };
    const { signal } = new AbortController();
    for (let tries = 1; ; tries += 1) {
      try {
        await client.uploadArtifact({ resultId: randomUUID(), ...file }, signal);
        return tries;
      } catch (error) {
        if (tries === 4) throw error;
      }
    }
  };
  const tries = [await upload(), await upload()];
  t.diagnostic(`tries: ${tries.join(', then ')}`);
  assert.equal(tries[1], 1);
  assert.deepEqual(receiver.last(), content);
  await dispatcher.destroy();
});
