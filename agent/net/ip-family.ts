import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import { bareHost } from './url-address.ts';

export const otherFamily = (family: IpFamily): IpFamily => (family === 'IPv6' ? 'IPv4' : 'IPv6');

const checkedForMs = 30_000;
let checkedAt = Number.NEGATIVE_INFINITY;
let enabled: ReadonlySet<IpFamily> = new Set();

/**
 * The usable address families, checked every half minute. IPv6 is usable when an interface has an
 * IPv6 address, even if it is only the loopback; IPv4, whose loopback always exists, when another
 * interface has an address.
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
 * The family to use for a host: the requested one, or the other when it is disabled on this
 * machine. An IP address keeps its family.
 */
export function usableFamily(
  wanted: IpFamily,
  host: string,
  log: (message: string, level: 'WARN') => void,
): IpFamily {
  const isAddress = isIP(bareHost(host)) !== 0;
  if (isAddress || enabledFamilies().has(wanted)) return wanted;
  const other = otherFamily(wanted);
  log(`${wanted} is disabled on this machine, falling back to ${other}`, 'WARN');
  return other;
}
