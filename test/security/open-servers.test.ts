// PostgreSQL in the long tier: it asks servers before any statement; metrics.test.ts and read-pool.test.ts run
// those of a start on both.
// Own process: it waits for half-open connections to be cut off.
/** Every port: two Host headers are refused, and requests that never end do not stay. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import test from 'node:test';
import { Registry } from 'prom-client';
import { serveProbes } from '../../agent/status/probes.ts';
import { startTestControlPlane } from '../support/control-plane.ts';

const upgrade =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: mqtt\r\n';

async function ask(port: number, path: string, headers: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`GET ${path} HTTP/1.1\r\n${headers}\r\n`);
  let text = '';
  socket.on('data', (chunk) => {
    text += String(chunk);
    // An upgrade that is taken leaves the connection open.
    if (text.includes('\r\n\r\n')) socket.end();
  });
  await once(socket, 'close');
  socket.destroy();
  return text;
}

const probes = (host = '127.0.0.1') =>
  serveProbes({ notReady: () => null, notAlive: () => null }, new Registry(), host, 0);

test('a health address that the machine does not have is an error, and never every address', async () => {
  await assert.rejects(probes('192.0.2.1'), /set AGENT_HEALTH_HOST to an address of this machine/);
});

test('two Host headers are refused on every port, an upgrade too; one is answered', async () => {
  await using cp = await startTestControlPlane({ settings: { METRICS_PORT: '0' } });
  await using health = await probes();
  const { metricsPort } = cp.controlPlane;
  const doors: [port: number, path: string, more: string, status: number][] = [
    [Number(new URL(cp.url).port), '/-/readiness', '', 200],
    [Number(new URL(cp.url).port), '/', upgrade, 101],
    [metricsPort ?? 0, '/metrics', '', 200],
    [health.port, '/health', '', 200],
  ];
  for (const [port, path, more, status] of doors) {
    const one = await ask(port, path, `Host: a.example\r\n${more}`);
    assert.match(one, new RegExp(`^HTTP/1.1 ${status} `), path);
    for (const second of ['Host: b.example', 'hOST: a.example']) {
      const two = await ask(port, path, `Host: a.example\r\n${second}\r\n${more}`);
      assert.match(two, /^HTTP\/1.1 400 [^]*"keys":\["host"\]/, path);
    }
  }
});

test('600 half-open requests at the health port are cut off long before 20 seconds, while it answers', async () => {
  await using health = await probes();
  // Slower by far than what is promised, and as slow as this machine.
  const reference = createServer({ headersTimeout: 12_000, connectionsCheckingInterval: 500 });
  reference.listen(0, '127.0.0.1');
  await once(reference, 'listening');
  const halfOpen = async (port: number): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    await once(socket, 'connect');
    socket.write('GET /health HTTP/1.1\r\nHost: a');
    // Read, or the end of the connection is never seen.
    socket.resume();
    return socket;
  };
  const sockets = await Promise.all(Array.from({ length: 600 }, () => halfOpen(health.port)));
  const last = await halfOpen((reference.address() as AddressInfo).port);
  const closed = Promise.all(
    sockets.map(async (socket) => socket.closed || (await once(socket, 'close'))),
  );
  const answer = await fetch(`http://127.0.0.1:${health.port}/health`);
  assert.equal(answer.status, 200);
  const first = await Promise.race([
    closed.then(() => 'those of the health port'),
    once(last, 'close').then(() => 'the slow one'),
  ]);
  assert.equal(first, 'those of the health port');
  await once(last, 'close');
  reference.close();
});
