import { isIPv6 } from 'node:net';
import type { Request } from 'express';

/** The /64 network of an IPv6 address: its first four groups. */
function networkOf(address: string): string {
  const [head = '', tail] = address.split('%')[0]?.split('::') ?? [];
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  // A dotted suffix stands for two groups.
  const groups = first.length + last.length + (last.at(-1)?.includes('.') === true ? 1 : 0);
  const between = tail === undefined ? [] : Array.from({ length: 8 - groups }, () => '0');
  return [...first, ...between, ...last]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}

/**
 * The client address for rate limits. Behind an untrusted proxy all clients share one. For IPv6 it
 * is the /64 network, because a client owns all of its addresses.
 */
export function visitorOf({ ip }: Pick<Request, 'ip'>): string {
  if (ip === undefined) return 'unknown';
  // Some proxies add the port, which differs for each connection.
  const plain = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)(?::\d+)?$/i.exec(ip);
  if (plain !== null) return plain[1] ?? ip;
  return isIPv6(ip) ? `${networkOf(ip)}::/64` : ip;
}

/**
 * True when the client used HTTPS. A trusted proxy says so in a header; otherwise the public URL
 * decides, because anybody can send that header.
 */
export function isSecure(request: Request, publicUrl: string): boolean {
  const trusts = request.app.get('trust proxy fn') as (address: string, hop: number) => boolean;
  const forwarded = request.get('x-forwarded-proto');
  return forwarded !== undefined && trusts(request.socket.remoteAddress ?? '', 0)
    ? forwarded.split(',')[0]?.trim().toLowerCase() === 'https'
    : publicUrl.startsWith('https:');
}
