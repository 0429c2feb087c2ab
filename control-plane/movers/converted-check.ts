/** Checks of simple targets, as every format makes them. */
import { hostAndPort } from '@monitor/shared/contract/checks/check-type.ts';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import { runBased } from './decide/retries.ts';
import type { CommonFields, Entry, Plan, Ref } from './plan.ts';

/** What an object of a source becomes, without the fields that all checks have. */
export interface ConvertedCheck {
  checkType: string;
  /** The longest response time of its type, in milliseconds; null where there is no limit. */
  ceiling: number | null;
  fields: Record<string, unknown>;
  /** The server whose certificate decides too; absent without TLS. */
  server?: TlsServer;
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

/** A server that speaks TLS. */
export interface TlsServer {
  hostname: string;
  port: number;
  /** Null for the host name. */
  serverName: string | null;
  skipChainValidation: boolean;
}

/** The server of an https address; null for another. */
export function tlsServerOf(
  url: string,
  settings: Pick<TlsServer, 'serverName' | 'skipChainValidation'>,
): TlsServer | null {
  if (!/^https:/i.test(url) || !URL.canParse(url)) return null;
  const { hostname, port } = new URL(url);
  return { hostname, port: Number(port || 443), ...settings };
}

/** Fails some days before the certificate expires; without days, when it is not valid. */
export function sslCheck(
  server: TlsServer,
  ipFamily: IpFamily,
  days: number | null,
  assertions: readonly unknown[] = [],
): ConvertedCheck {
  const isOutdated = {
    ...{ source: 'CERTIFICATE', property: 'daysUntilExpiry', comparison: 'GREATER_THAN' },
    target: String((days ?? 0) - 1),
  };
  return {
    checkType: 'SSL',
    ceiling: ceilings.HTTP,
    fields: {
      request: {
        sslConfig: {
          ...server,
          ipFamily: familyFor(server.hostname, ipFamily),
          alertDaysBeforeExpiry: Math.min(365, days ?? 1),
          securityBaseline: { enabled: false },
        },
        assertions: days === null ? assertions : [...assertions, isOutdated],
      },
    },
  };
}

/** Minutes between the runs of an SSL check that is added. */
const certificateFrequency = 10;

/** What becomes of a condition or a rule about the certificate of `whose` server. */
export const certificateCheckText = (whose: 'the' | 'each', days: number): string =>
  `an SSL check of ${whose} server, every ${certificateFrequency} min, fails ${days} ${days === 1 ? 'day' : 'days'} before`;

/** An SSL check beside others of its server. */
export function addCertificateCheck(
  plan: Plan,
  logicalId: string,
  { server, days, ...common }: { server: TlsServer; days: number } & CommonFields,
  entry: Entry,
): Ref {
  plan.say(
    'CHANGED',
    'SSL checks for conditions and rules about certificates also fail when the handshake, the name or the chain is not as it should be.',
  );
  return plan.add('check', logicalId, {
    checkType: 'SSL',
    ...plan.checkFields(entry, common),
    activated: common.active,
    ...{ ...plan.scheduledFields(), frequency: certificateFrequency, retryStrategy: null },
    ...{ alertSettings: runBased(1), degradedResponseTime: null, maxResponseTime: ceilings.HTTP },
    ...sslCheck(server, 'IPv4', days).fields,
  });
}

export function dnsCheck(request: Record<string, unknown>): ConvertedCheck {
  return { checkType: 'DNS', ceiling: ceilings.DNS, fields: { request } };
}
