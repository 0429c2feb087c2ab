/** Which way packets to an address would leave this machine. Nothing is sent. */
import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { codeOf } from '../../net/failure.ts';
import type { Machine } from '../machine.ts';

export interface RouteFacts {
  address: string;
  /** The address packets would come from; null where there is no way out. */
  source: string | null;
  /** ENETUNREACH, EHOSTUNREACH, EACCES …; null where there is a way. */
  code: string | null;
  /** Where it is known: through which device, and by which gateway. */
  via: string | null;
}

/** IPv4 of /proc/net/route: hexadecimal, least significant byte first. */
function fromHex(hex: string): number[] {
  return [6, 4, 2, 0].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
}

/** The most specific route of /proc/net/route to an IPv4 address, as `eth0 by 10.0.0.1`. */
export function ipv4RouteTo(table: string, address: string): string | null {
  const bytes = address.split('.').map(Number);
  let best: { length: number; text: string } | null = null;
  for (const line of table.split('\n').slice(1)) {
    const [device, target, gateway, , , , , mask] = line.trim().split(/\s+/);
    if (device === undefined || target === undefined || gateway === undefined) continue;
    if (mask === undefined) continue;
    const [wanted, bits] = [fromHex(target), fromHex(mask)];
    const isMatch = bits.every((bit, index) => ((bytes[index] ?? 0) & bit) === wanted[index]);
    if (!isMatch) continue;
    const length = bits.reduce((sum, bit) => sum + bit.toString(2).replaceAll('0', '').length, 0);
    if (best !== null && length <= best.length) continue;
    const hop = fromHex(gateway).join('.');
    best = { length, text: hop === '0.0.0.0' ? device : `${device} by ${hop}` };
  }
  return best?.text ?? null;
}

/** Connects a UDP socket: the kernel chooses route and source address, and says so when it cannot. */
export async function observeRoute(
  address: string,
  port: number,
  machine: Machine,
): Promise<RouteFacts> {
  const via =
    isIPv6(address) || address.startsWith('127.')
      ? null
      : ipv4RouteTo(machine.read('/proc/net/route') ?? '', address);
  const socket = createSocket({ type: isIPv6(address) ? 'udp6' : 'udp4' });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.connect(port, address, (error?: Error) => {
        if (error) reject(error);
        else resolve();
      });
    });
    return { address, source: socket.address().address, code: null, via };
  } catch (error) {
    return { address, source: null, code: codeOf(error), via };
  } finally {
    socket.close();
  }
}
