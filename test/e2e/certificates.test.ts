import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { callApi } from '../../proof/api.ts';
import { selfSigned } from '../support/certificates.ts';
import { makeKeys, openAgent, openControlPlane } from '../support/in-process.ts';
import { scaledClock } from '../support/scaled-clock.ts';
import { tcpServer, tlsServer } from '../support/servers.ts';
import { eventually, queryDatabase, temporaryFolder } from '../support/system.ts';

/** A minute of the system in a real second. */
const factor = 60;
const location = 'eu-central-1';

interface Wire {
  id: string;
  sslDaysRemaining: number | null;
}

test('an agent sees the certificate of a check once an hour, also over its restart', async () => {
  using folder = temporaryFolder();
  const clock = scaledClock(factor);
  await using target = await tcpServer(() => undefined);
  await using secure = await tlsServer(await selfSigned({ host: 'localhost', validForDays: 5.5 }));
  await using controlPlane = await openControlPlane(folder.path, clock);
  const { apiKey, locationKeys } = await makeKeys(controlPlane, [location]);
  const api = { baseUrl: controlPlane.url, apiKey };
  const start = () =>
    openAgent(join(folder.path, 'agent'), controlPlane.url, locationKeys[0] ?? '', clock);
  const seen = () =>
    queryDatabase<{ measured_at: number; problem: string }>(
      join(folder.path, 'control-plane.db'),
      'select measured_at, problem from check_certificates',
    );
  const until = async (isDone: () => Promise<boolean> | boolean): Promise<void> => {
    await eventually(isDone, () => JSON.stringify(seen()));
  };

  const first = await start();
  await first.ready;
  const { id } = await callApi<Wire>(api, 'POST', '/v1/checks/tcp', {
    name: 'mail',
    frequency: 10,
    locations: [location],
    request: { hostname: '127.0.0.1', port: target.port },
    sslCheckDomain: `localhost:${secure.port}`,
  });
  const days = async () =>
    (await callApi<Wire | null>(api, 'GET', `/v1/check-statuses/${id}`))?.sslDaysRemaining ?? null;
  await until(async () => (await days()) !== null);
  assert.equal(await days(), 5);
  assert.deepEqual(
    seen().map(({ problem }) => problem),
    ['self-signed'],
  );
  assert.equal(secure.handshakes, 1);
  const before = seen()[0]?.measured_at ?? 0;
  await first.drain();
  await first[Symbol.asyncDispose]();

  await using second = await start();
  await second.ready;
  // What is new is looked at within half a minute, but a restart is no reason to look again.
  await new Promise((resolve) => setTimeout(resolve, (2 * 60_000) / factor));
  assert.equal(secure.handshakes, 1);
  assert.equal(seen()[0]?.measured_at, before);
});
