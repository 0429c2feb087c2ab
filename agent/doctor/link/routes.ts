/** Which way packets to an address leave this machine, and whether its next hop is alive. */
import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { codeOf } from '../../net/failure.ts';
import {
  nextHopProblem,
  settledNextHop,
  type NextHopProblem,
  type NextHopTools,
} from '../../net/next-hop/assert-reachable.ts';
import type { NextHop } from '../../net/next-hop/next-hop.ts';

export interface RouteFacts {
  address: string;
  /** The address packets would come from; null where there is no way out. */
  source: string | null;
  /** ENETUNREACH, EHOSTUNREACH, EACCES …; null where there is a way. */
  code: string | null;
  /** Where it is known: through which device, and by which gateway. */
  via: string | null;
  /** Why no packet leaves by this route although it exists; null when unknown. */
  dead: NextHopProblem | null;
}

function viaOf(hop: NextHop | null): string | null {
  if (hop?.kind !== 'hop') return null;
  return hop.gateway === null ? hop.device : `${hop.device} by ${hop.gateway.address}`;
}

/** One empty datagram, for which the kernel has to find the gateway. */
async function prod(socket: Socket): Promise<void> {
  await new Promise<void>((resolve) => {
    // What becomes of it is not asked.
    socket.on('error', () => undefined);
    socket.send('', () => resolve());
  });
}

/**
 * Connects a UDP socket: the kernel chooses route and source address, and says so when it cannot. Then
 * sends an empty datagram, so that the kernel has to find out whether the gateway is there.
 */
export async function observeRoute(
  address: string,
  port: number,
  tools: NextHopTools,
): Promise<RouteFacts> {
  const socket = createSocket({ type: isIPv6(address) ? 'udp6' : 'udp4' });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.connect(port, address, (error?: Error) => {
        if (error) reject(error);
        else resolve();
      });
    });
    const source = socket.address().address;
    await prod(socket);
    const hop = await settledNextHop(address, tools);
    const dead = hop === null ? null : nextHopProblem(hop, address);
    return { address, source, code: null, via: viaOf(hop), dead };
  } catch (error) {
    return { address, source: null, code: codeOf(error), via: null, dead: null };
  } finally {
    socket.close();
  }
}
