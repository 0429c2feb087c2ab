import { networkInterfaces } from 'node:os';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';

const checkedForMs = 30_000;
let checkedAt = Number.NEGATIVE_INFINITY;
let hasIpv6 = true;

/** True when some interface of this machine has an IPv6 address; looked at every half minute. */
function isIpv6Enabled(): boolean {
  const now = performance.now();
  if (now - checkedAt > checkedForMs) {
    checkedAt = now;
    hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
      addresses?.some(({ family }) => family === 'IPv6'),
    );
  }
  return hasIpv6;
}

/** The family to use: the wanted one, but IPv4 where IPv6 is switched off on this machine. */
export function usableFamily(wanted: IpFamily, log: (message: string) => void): IpFamily {
  if (wanted === 'IPv4' || isIpv6Enabled()) return wanted;
  log('IPv6 is disabled on this machine, falling back to IPv4');
  return 'IPv4';
}
