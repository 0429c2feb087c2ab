import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';

const checkedForMs = 30_000;
let checkedAt = Number.NEGATIVE_INFINITY;
let enabled: ReadonlySet<IpFamily> = new Set();

/**
 * The families this machine can use at all, looked at every half minute: IPv6 where an interface has
 * an address of it, if only its own loopback; IPv4, whose loopback is always there, where another has.
 */
function enabledFamilies(): ReadonlySet<IpFamily> {
  const now = performance.now();
  if (now - checkedAt > checkedForMs) {
    checkedAt = now;
    const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
    const hasIpv4 = all.some(({ family, internal }) => family === 'IPv4' && !internal);
    const hasIpv6 = all.some(({ family }) => family === 'IPv6');
    const isIpv6Only = all.some(({ family, internal }) => family === 'IPv6' && !internal);
    enabled = new Set<IpFamily>([
      ...(hasIpv4 || !isIpv6Only ? (['IPv4'] as const) : []),
      ...(hasIpv6 ? (['IPv6'] as const) : []),
    ]);
  }
  return enabled;
}

/**
 * The family to use for a host: the wanted one, but the other where that is switched off on this
 * machine. An address is of the family it is.
 */
export function usableFamily(
  wanted: IpFamily,
  host: string,
  log: (message: string) => void,
): IpFamily {
  const isAddress = isIP(host.replace(/^\[|\]$/g, '')) !== 0;
  if (isAddress || enabledFamilies().has(wanted)) return wanted;
  const other = wanted === 'IPv4' ? 'IPv6' : 'IPv4';
  log(`${wanted} is disabled on this machine, falling back to ${other}`);
  return other;
}
