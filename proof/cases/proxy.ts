/** A proxy of the location that goes away: the agent cannot measure, which says nothing about a target. */
import { createServer, request } from 'node:http';
import { between, type ProofCase } from '../case.ts';
import { FaultProxy } from '../fault-proxy.ts';
import { open } from '../lane.ts';
import { listen } from '../listen.ts';

/** Passes requests on to the http address that they name. */
const openProxy = () =>
  listen(
    createServer((incoming, response) => {
      const { method, url = '', headers } = incoming;
      const outgoing = request(url, { method, headers, agent: false }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      outgoing.on('error', () => response.destroy());
      incoming.pipe(outgoing);
    }),
  );

export const proxy: ProofCase = {
  name: 'proxy',
  plays: 'the proxy of a location goes away, so that its agent cannot measure',
  async join(world) {
    const { port } = world.owns(await openProxy());
    const link = world.owns(await FaultProxy.start(port));
    const lane = await world.makeLane('proxy', { location: { proxyUrl: link.url } });
    await world.addUsualSubjects(lane);
    return async ({ random, isShort, pause, note }) => {
      await pause(between(random, 1_000, isShort ? 4_000 : 30_000));
      note('proxy of a location that is away');
      const disturbance = open(lane.disturbed);
      await link.fail({ kind: 'down' });
      await pause(between(random, isShort ? 6_000 : 10_000, isShort ? 12_000 : 60_000));
      await link.heal();
      disturbance.close();
    };
  },
};
