/** Where an environment is put, and servers that stand in for the control plane. */
import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { Ground } from './environment.ts';
import type { Office, Place } from './office.ts';

/** The agent runs in a host of its own, and is told this address of the control plane. */
export async function placed(
  ground: Ground,
  url: string,
  options?: Parameters<Office['place']>[0],
): Promise<Place> {
  if (ground.office === null) throw new Error('this environment needs the lab');
  const place = await ground.office.place(options);
  ground.before.push(...place.host.prefix);
  ground.settings['CONTROL_PLANE_URL'] = url;
  // Plain http beyond loopback is warned of.
  if (url.startsWith('http:')) ground.expected.add('settings');
  return place;
}

/** The server listens on a free port of loopback as the control plane, until the ground is left. */
export async function listening(
  ground: Ground,
  server: Server,
  { scheme = 'http', host = '127.0.0.1' } = {},
): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ground.stack.defer(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  ground.settings['CONTROL_PLANE_URL'] = `${scheme}://${host}:${port}`;
  return port;
}
