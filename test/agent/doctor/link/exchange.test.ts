/** Round trips: what is lost, and what is refused. Keys: which are sent. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { Agent } from 'undici';
import { systemClock } from '@monitor/shared/clock.ts';
import {
  observeCalls,
  observeCheckIn,
  observeRoundTrip,
} from '../../../../agent/doctor/link/exchange.ts';
import { locationKey } from '../../../support/fake-control-plane.ts';
import { httpServer } from '../../../support/servers.ts';

test('who cuts the connection at a large request has seen it: nothing vanished', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', () => socket.resetAndDestroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const dispatcher = new Agent();
  try {
    const trip = (size: 'small' | 'large') =>
      observeRoundTrip(`http://127.0.0.1:${port}`, dispatcher, systemClock, size);
    assert.equal(typeof (await trip('large')), 'number');
    assert.equal(await trip('small'), null);
  } finally {
    await dispatcher.destroy();
    server.close();
  }
});

test('a round trip is given up in time also while it still connects', async () => {
  // As one does that tries dead addresses, one after the other.
  const dispatcher = new Agent({ connect: () => undefined });
  assert.equal(
    await observeRoundTrip('http://127.0.0.1:1', dispatcher, systemClock, 'small'),
    null,
  );
  dispatcher.destroy().catch(() => undefined);
});

test('a key that could be right is sent with each call, and what cannot be one with none', async () => {
  const sent: (string | undefined)[] = [];
  await using server = await httpServer((request, response) => {
    sent.push(request.headers.authorization);
    response.writeHead(401).end();
  });
  const dispatcher = new Agent();
  const rows: [string | null, string | undefined][] = [
    [locationKey, `Bearer ${locationKey}`],
    [locationKey.slice(0, -1), undefined],
    [`${locationKey}0`, undefined],
    ['abc123', undefined],
    [null, undefined],
  ];
  for (const [key, wanted] of rows) {
    await observeCheckIn(server.url, key, dispatcher, systemClock);
    await observeCalls(server.url, { key, dispatcher, clock: systemClock, holdMs: null });
    assert.deepEqual(sent.splice(0), [wanted, wanted, wanted]);
  }
  await dispatcher.destroy();
});
