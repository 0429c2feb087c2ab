/** Which address of a target is probed: of the preferred family, or of the other where that is allowed. */
import { isIP } from 'node:net';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import type { Clock } from '@monitor/shared/clock.ts';
import { resolveByOs, type Address } from '../net/dns/resolve.ts';
import { reportAddress, type ProbeReport } from './report.ts';
import { bareHost } from '../net/url-address.ts';

interface Addressing {
  preferred_ip_protocol: 'ip4' | 'ip6';
  ip_protocol_fallback: boolean;
}

const otherFamily = { IPv4: 'IPv6', IPv6: 'IPv4' } as const satisfies Record<IpFamily, IpFamily>;

/** Null when the target has no address that may be used. Throws when no resolver can be asked. */
export async function chooseAddress(
  host: string,
  { preferred_ip_protocol: preferred, ip_protocol_fallback: mayFallBack }: Addressing,
  clock: Clock,
  report: ProbeReport,
): Promise<{ address: Address | null; lookupMs: number }> {
  const begunAt = clock.monotonic();
  const bare = bareHost(host);
  const wanted: IpFamily = preferred === 'ip6' ? 'IPv6' : 'IPv4';
  const literal = { 0: null, 4: 'IPv4', 6: 'IPv6' }[isIP(bare)] as IpFamily | null;
  const families =
    literal === null || literal === wanted || !mayFallBack
      ? [wanted, ...(mayFallBack && literal === null ? [otherFamily[wanted]] : [])]
      : [literal];
  let address: Address | null = null;
  for (const family of families) {
    const resolution = await resolveByOs(bare, family);
    if ('address' in resolution) {
      ({ address } = resolution);
      break;
    }
    report.note(`no ${family} address: ${resolution.failure.message}`);
  }
  const lookupMs = clock.monotonic() - begunAt;
  reportAddress(report, address, lookupMs);
  if (address !== null) report.note(`target is at ${address.address}`);
  return { address, lookupMs };
}
