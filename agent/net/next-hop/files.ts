/** Next hops from /proc and /sys, without perl: IPv4, and the main table only. */
import { existsSync, readFileSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { join } from 'node:path';
import type { NextHop, NextHops, NeighbourState } from './next-hop.ts';

/** An IPv4 address of /proc/net/route: hexadecimal, least significant byte first. */
function fromHex(hex: string): number[] {
  return [6, 4, 2, 0].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
}

/** The flag of `unreachable` and `prohibit` routes. */
const rejects = 0x200;

export interface Ipv4Route {
  readonly device: string;
  /** Null for an on-link route. */
  readonly gateway: string | null;
  readonly isReject: boolean;
}

/** The most specific route of /proc/net/route to an IPv4 address; the first of equal ones. */
export function ipv4RouteTo(table: string, address: string): Ipv4Route | null {
  const bytes = address.split('.').map(Number);
  let best: { length: number; metric: number; route: Ipv4Route } | null = null;
  for (const line of table.split('\n').slice(1)) {
    const [device, target, gateway, flags, , , metricText, mask] = line.trim().split(/\s+/);
    if (device === undefined || target === undefined || gateway === undefined) continue;
    if (mask === undefined) continue;
    const [wanted, bits] = [fromHex(target), fromHex(mask)];
    const isMatch = bits.every((bit, index) => ((bytes[index] ?? 0) & bit) === wanted[index]);
    if (!isMatch) continue;
    const length = bits.reduce((sum, bit) => sum + bit.toString(2).replaceAll('0', '').length, 0);
    const metric = Number(metricText);
    if (
      best !== null &&
      (length < best.length || (length === best.length && metric >= best.metric))
    )
      continue;
    const hop = fromHex(gateway).join('.');
    const isReject = (Number.parseInt(flags ?? '0', 16) & rejects) !== 0;
    best = { length, metric, route: { device, gateway: hop === '0.0.0.0' ? null : hop, isReject } };
  }
  return best?.route ?? null;
}

/** The state of a neighbour in /proc/net/arp, which only distinguishes complete entries from others. */
export function stateInArp(table: string, device: string, address: string): NeighbourState {
  for (const line of table.split('\n').slice(1)) {
    const [neighbour, , flags, , , through] = line.trim().split(/\s+/);
    if (neighbour !== address || through !== device) continue;
    return Number(flags) === 0 ? 'incomplete' : 'reachable';
  }
  return null;
}

export class NextHopsFromFiles implements NextHops {
  readonly #root: string;

  constructor(root = '/') {
    this.#root = root;
  }

  #read(path: string): string | null {
    try {
      return readFileSync(join(this.#root, path), 'utf8');
    } catch {
      return null;
    }
  }

  #observe(address: string): NextHop | null {
    const table = this.#read('proc/net/route');
    if (!isIPv4(address) || table === null) return null;
    if (address.startsWith('127.')) return { kind: 'here' };
    const route = ipv4RouteTo(table, address);
    // Another routing table may have a route, or state that there is none.
    if (route === null || route.isReject) return null;
    const { device, gateway } = route;
    const hasCarrier = this.#read(`sys/class/net/${device}/carrier`)?.trim() !== '0';
    // Behind a bridge or a virtual cable the target may be the only host, unless the default route
    // leaves by it.
    const isOwn =
      existsSync(join(this.#root, `sys/class/net/${device}/device`)) ||
      ipv4RouteTo(table, '192.0.2.1')?.device === device;
    const flags = Number(this.#read(`sys/class/net/${device}/flags`) ?? '1');
    const arp = this.#read('proc/net/arp') ?? '';
    return {
      ...{ kind: 'hop', device, isUp: (flags & 1) !== 0 },
      hasCarrier,
      ...(!hasCarrier && gateway === null && !isOwn && { mayEndAtTarget: true }),
      gateway:
        gateway === null ? null : { address: gateway, state: stateInArp(arp, device, gateway) },
    };
  }

  to(address: string): Promise<NextHop | null> {
    return Promise.resolve(this.#observe(address));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}
