/** A proxy of the location that goes away: the agent cannot measure, which says nothing about a target. */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { between, type ProofCase } from '../case.ts';
import { open } from '../lane.ts';

interface Proxy extends AsyncDisposable {
  url: string;
  close(): Promise<void>;
  openAgain(): Promise<void>;
}

/** Passes requests on to the http address that they name. */
async function openProxy(): Promise<Proxy> {
  const server = createServer((incoming, response) => {
    const { method, url = '', headers } = incoming;
    const outgoing = request(url, { method, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    incoming.pipe(outgoing);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return {
    url: `http://127.0.0.1:${port}`,
    close,
    openAgain: async () => {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    [Symbol.asyncDispose]: close,
  };
}

export const proxy: ProofCase = {
  name: 'proxy',
  plays: 'the proxy of a location goes away, so that its agent cannot measure',
  async join(world) {
    const server = world.owns(await openProxy());
    const lane = await world.makeLane('proxy', { location: { proxyUrl: server.url } });
    await world.addUsualSubjects(lane);
    return async ({ random, isShort, pause, note }) => {
      await pause(between(random, 1_000, isShort ? 4_000 : 30_000));
      note('proxy of a location that is away');
      const disturbance = open(lane.disturbed);
      await server.close();
      await pause(between(random, isShort ? 6_000 : 10_000, isShort ? 12_000 : 60_000));
      await server.openAgain();
      disturbance.close();
    };
  },
};
