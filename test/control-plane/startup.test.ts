import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import test from 'node:test';
import { pino } from 'pino';
import { startControlPlane } from '../../control-plane/app/compose.ts';
import { readConfig } from '../../control-plane/core/config.ts';
import { freePort } from '../../proof/program.ts';
import { temporaryFolder } from '../support/system.ts';

/** Connects in the very moment that somebody listens. */
async function firstConnection(port: number): Promise<Socket> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    if (isOpen) return socket;
  }
}

test('a request that arrives while the control plane still starts is answered', async () => {
  using folder = temporaryFolder();
  for (let round = 0; round < 5; round += 1) {
    const port = await freePort();
    const config = readConfig({
      PORT: String(port),
      DATABASE_FILE: join(folder.path, `${round}.db`),
    });
    const starting = startControlPlane({ config, logger: pino({ level: 'silent' }) });
    const socket = await firstConnection(port);
    socket.write('GET /openapi.json HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
    await using _controlPlane = await starting;
    const [answer] = (await once(socket, 'data', { signal: AbortSignal.timeout(60_000) })) as [
      Buffer,
    ];
    assert.match(answer.toString('latin1'), /^HTTP\/1\.1 200 /);
    socket.destroy();
  }
});

test('a control plane that cannot start listens no more', async () => {
  const port = await freePort();
  const config = readConfig({
    PORT: String(port),
    DATABASE_FILE: ':memory:',
    ARTIFACTS_DIR: '/dev/null/artifacts',
  });
  await assert.rejects(startControlPlane({ config, logger: pino({ level: 'silent' }) }));
  const socket = connect(port, '127.0.0.1');
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
  assert.equal(error.code, 'ECONNREFUSED');
});
