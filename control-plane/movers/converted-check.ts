/** Checks of simple targets, as every format makes them. */
import { hostAndPort } from '@monitor/shared/contract/checks/check-type.ts';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';

/** What an object of a source becomes, without the fields that all checks have. */
export interface ConvertedCheck {
  checkType: string;
  /** The longest response time of its type, in milliseconds; null where there is no limit. */
  ceiling: number | null;
  fields: Record<string, unknown>;
}

/** Longest response times per check type, in milliseconds. */
export const ceilings = { HTTP: 30_000, TCP: 5_000, DNS: 5_000 } as const;

/** Host and port of `host:port` with or without a scheme; the port is null when it is missing. */
export function addressOf(text: string): { host: string; port: number | null } | null {
  const found = hostAndPort(`tcp://${text.trim().replace(/^[a-z]+:\/\//i, '')}`, 'tcp', 0);
  if (found === null || /\s/.test(found.host)) return null;
  return { host: found.host, port: found.port === 0 ? null : found.port };
}

/** An address of IPv6 is reached over IPv6, whatever the source says. */
export function familyFor(host: string, wanted: IpFamily): IpFamily {
  return host.includes(':') ? 'IPv6' : wanted;
}

export function tcpCheck(request: {
  hostname: string;
  port: number;
  data?: string;
  ipFamily: IpFamily;
  assertions: readonly unknown[];
}): ConvertedCheck {
  const ipFamily = familyFor(request.hostname, request.ipFamily);
  return {
    checkType: 'TCP',
    ceiling: ceilings.TCP,
    fields: { request: { ...request, ipFamily } },
  };
}

/** One reply is enough to be up. */
export function icmpCheck(
  hostname: string,
  ipFamily: IpFamily,
  assertions: readonly unknown[] = [],
  pingCount = 1,
): ConvertedCheck {
  return {
    checkType: 'ICMP',
    ceiling: null,
    fields: {
      degradedPacketLossThreshold: null,
      maxPacketLossThreshold: 100,
      request: { hostname, ipFamily: familyFor(hostname, ipFamily), pingCount, assertions },
    },
  };
}

export function dnsCheck(request: Record<string, unknown>): ConvertedCheck {
  return { checkType: 'DNS', ceiling: ceilings.DNS, fields: { request } };
}
