/**
 * Echo requests to hosts that answer when a timer of their own says so, which no kernel does: each request goes out as
 * a datagram of UDP with the same bytes, and comes back as its reply. Sockets, stamps and reading are those of ICMP.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { systemClock } from '@monitor/shared/clock.ts';
import type { IcmpTransport } from '../../agent/net/icmp/icmp.ts';
import { openIcmp } from '../../agent/net/icmp/open-icmp.ts';
import { echoReply } from '../../agent/net/icmp/packet.ts';
import { realLibc } from './faulty-libc.ts';

const icmp = 1;
const udp = 17;

/** A host that answers each echo request after `wait` has called back. Gives its port. */
export async function slowEchoHost(wait: (answer: () => void) => void): Promise<number> {
  const socket = createSocket('udp4', (request, { port, address }) => {
    const reply = Buffer.from(request).fill(echoReply[4], 0, 1);
    wait(() => {
      socket.send(reply, port, address);
    });
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return socket.address().port;
}

/** Sends to `127.0.0.<n>` what the n-th of these ports is to get. */
export function slowEchoTransport(ports: readonly number[]): IcmpTransport {
  const real = realLibc();
  const libc = {
    ...real,
    socket: (domain: number, type: number, protocol: number) =>
      real.socket(domain, type, protocol === icmp ? udp : protocol),
    sendto: ((descriptor, bytes, length, flags, to, toLength) => {
      const there = to === null ? null : Buffer.from(to);
      there?.writeUInt16BE(ports[(there[7] ?? 0) - 1] ?? 0, 2);
      there?.writeUInt8(1, 7);
      return real.sendto(descriptor, bytes, length, flags, there, toLength);
    }) satisfies typeof real.sendto,
  };
  const opened = openIcmp({ PATH: '/nowhere' }, systemClock, { libc });
  if (opened.icmp === null) throw new Error(opened.problem);
  return opened.icmp;
}
