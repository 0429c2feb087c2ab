import { isIPv6 } from 'node:net';
import type { Request } from 'express';

/** The network that an address of IPv6 is in: its first four groups. */
function networkOf(address: string): string {
  const [head = '', tail] = address.split('%')[0]?.split('::') ?? [];
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  // The dotted end of an address stands for two groups.
  const groups = first.length + last.length + (last.at(-1)?.includes('.') === true ? 1 : 0);
  const between = tail === undefined ? [] : Array.from({ length: 8 - groups }, () => '0');
  return [...first, ...between, ...last]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}

/**
 * Who asks, as far as trusted proxies tell; visitors behind others are one. Whoever has one address of
 * IPv6 has 2^64 of them: their network is the visitor.
 */
export function visitorOf({ ip }: Pick<Request, 'ip'>): string {
  if (ip === undefined) return 'unknown';
  // Some proxies name the port too, which is another for each connection.
  const plain = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)(?::\d+)?$/i.exec(ip);
  if (plain !== null) return plain[1] ?? ip;
  return isIPv6(ip) ? `${networkOf(ip)}::/64` : ip;
}

/**
 * True when the visitor came by HTTPS. A trusted proxy says how; without one, the public address does,
 * since anybody can send the header of a proxy.
 */
export function isSecure(request: Request, publicUrl: string): boolean {
  const trusts = request.app.get('trust proxy fn') as (address: string, hop: number) => boolean;
  const forwarded = request.get('x-forwarded-proto');
  return forwarded !== undefined && trusts(request.socket.remoteAddress ?? '', 0)
    ? forwarded.split(',')[0]?.trim().toLowerCase() === 'https'
    : publicUrl.startsWith('https:');
}
