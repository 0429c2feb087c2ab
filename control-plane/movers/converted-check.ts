/** Checks of simple targets, as every format makes them. */
import { hostAndPort } from '@monitor/shared/contract/checks/check-type.ts';
import type { StartTls } from '@monitor/shared/contract/checks/ssl.ts';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import { assertion } from './decide/assertion.ts';
import { runBased } from './decide/retries.ts';
import { assertionsFor, type CodeAssertions, type CodeRange } from './decide/status-codes.ts';
import { ref, type CommonFields, type Entry, type Plan, type Ref, type Resource } from './plan.ts';
import { lookUp, textOf, type Fields } from './source-object.ts';

/** What an object of a source becomes, without the fields that all checks have. */
export interface ConvertedCheck {
  checkType: string;
  fields: Record<string, unknown>;
  /** The server whose certificate decides too; absent without TLS. */
  server?: TlsServer;
}

const ceilings = { URL: 30_000, API: 30_000, SSL: 30_000, TCP: 5_000, DNS: 5_000, GRPC: 60_000 };
/** The longest response time of a type, in milliseconds; null where there is no limit. */
export const ceilingOf = (checkType: string): number | null => lookUp(ceilings, checkType) ?? null;

interface CheckSettings extends CommonFields {
  /** Seconds between runs there. */
  seconds: number;
  /** In seconds; 0 for none. */
  timeout: number;
  /** The field of the timeout, where the source gives it. */
  timeoutField?: string | null;
  retryStrategy?: Record<string, unknown> | null;
  alertSettings?: unknown;
  /** Where it runs, unless that is where all checks of the import run. */
  locations?: Record<string, unknown>;
}

/** Handshakes are a minute apart at least. */
export const minSeconds = (checkType: string): number => (checkType === 'SSL' ? 60 : 0);

/** Adds a check; gives its fields. */
export function addCheck(
  plan: Plan,
  entry: Entry,
  logicalId: string,
  made: ConvertedCheck,
  settings: CheckSettings,
): Resource['payload'] {
  const { seconds, timeout, timeoutField, retryStrategy, alertSettings, locations } = settings;
  const { checkType, fields } = made;
  const ceiling = ceilingOf(checkType);
  const ofTime = `\`${timeoutField ?? ''}\`: these checks have their own time limit`;
  entry.notCarried(ceiling === null && Boolean(timeoutField) && ofTime);
  const payload = {
    checkType,
    ...plan.checkFields(entry, settings),
    ...(checkType === 'HEARTBEAT'
      ? {}
      : {
          ...(locations ?? plan.scheduledFields()),
          ...entry.frequency(seconds, minSeconds(checkType)).fields,
          retryStrategy: retryStrategy ?? null,
          ...entry.timeLimits(timeout, ceiling),
        }),
    ...(alertSettings === undefined ? {} : { alertSettings }),
    ...fields,
  };
  plan.add('check', logicalId, payload, entry);
  return payload;
}

/** Assertions for accepted status codes; `what` says in the report which they are. */
export function acceptedCodes(
  entry: Entry,
  ranges: readonly CodeRange[],
  what: string,
): CodeAssertions['assertions'] {
  const { assertions, passesNow } = assertionsFor(ranges);
  entry.approximate(
    passesNow !== null &&
      `${what} ${what.endsWith('.') ? 'Every' : 'every'} registered code between them is refused; unassigned ones such as ${passesNow} now pass`,
  );
  return assertions;
}

/** Host and port of `host:port` with or without a scheme; the port is null when it is missing. */
export function addressOf(text: string): { host: string; port: number | null } | null {
  const found = hostAndPort(`tcp://${text.trim().replace(/^[a-z]+:\/\//i, '')}`, 'tcp', 0);
  if (found === null || /\s/.test(found.host)) return null;
  return { host: found.host, port: found.port === 0 ? null : found.port };
}

/** An address as names and messages may have it. */
export const withoutLogin = (address: string, instead = ''): string =>
  address.replace(/^([a-z]+:\/\/)?[^/@\s]*@/i, `$1${instead}`);

/** Host and port of an address. */
export function placeFor(entry: Entry, text: string, defaultPort: number | null = null): Place {
  const address = addressOf(text);
  const port = address?.port ?? defaultPort;
  if (address !== null && port !== null) return { hostname: address.host, port };
  const shown = withoutLogin(text, '…@');
  return entry.nothing(`\`${shown}\` is not a host${defaultPort === null ? ' with a port' : ''}`);
}

/** An address of IPv6 is reached over IPv6, whatever the source says. */
export function familyFor(host: string, wanted: IpFamily): IpFamily {
  return host.includes(':') ? 'IPv6' : wanted;
}

interface Place {
  hostname: string;
  port: number;
}

export function tcpCheck(
  place: Place,
  ipFamily: IpFamily,
  more: { startTls?: StartTls; data?: string; assertions?: readonly unknown[] } = {},
): ConvertedCheck {
  const reach = { ...place, ipFamily: familyFor(place.hostname, ipFamily) };
  return { checkType: 'TCP', fields: { request: { ...reach, assertions: [], ...more } } };
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
    fields: {
      degradedPacketLossThreshold: null,
      maxPacketLossThreshold: 100,
      request: { hostname, ipFamily: familyFor(hostname, ipFamily), pingCount, assertions },
    },
  };
}

/** A server that speaks TLS. */
export interface TlsServer extends Place {
  /** Null for the host name. */
  serverName: string | null;
  skipChainValidation: boolean;
  /** The protocol in which TLS begins; absent where it begins at once. */
  startTls?: StartTls;
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
  const where = { property: 'daysUntilExpiry' };
  const isOutdated = assertion('CERTIFICATE', 'GREATER_THAN', (days ?? 0) - 1, where);
  return {
    checkType: 'SSL',
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
  entry: Entry,
  logicalId: string,
  { server, days, ...common }: { server: TlsServer; days: number } & CommonFields,
): Ref {
  plan.say(
    'CHANGED',
    'SSL checks for conditions and rules about certificates also fail when the handshake, the name or the chain is not as it should be.',
  );
  const made = sslCheck(server, 'IPv4', days);
  const payload = addCheck(plan, entry, logicalId, made, {
    ...{ ...common, seconds: certificateFrequency * 60, timeout: ceilings.SSL / 1000 },
    alertSettings: runBased(1),
  });
  // It is switched off with its source, not for what keeps another check of it from running.
  payload['activated'] = common.active;
  return ref(logicalId);
}

/** A call by the health checking protocol, or of a method. */
export function grpcCheck(
  { hostname, port }: Place,
  grpcConfig: Record<string, unknown>,
  settings: { skipSSL: boolean; ipFamily: IpFamily; assertions: readonly unknown[] },
): ConvertedCheck {
  const { skipSSL, ipFamily, assertions } = settings;
  const server = { hostname, port, serverName: null, skipChainValidation: skipSSL };
  return {
    checkType: 'GRPC',
    fields: {
      request: {
        ...{ url: hostname, port, ipFamily: familyFor(hostname, ipFamily), skipSSL },
        ...{ grpcConfig, assertions },
      },
    },
    ...(grpcConfig['tls'] === true ? { server } : {}),
  };
}

/** Credentials by name, each in a variable. */
export const secretPairs = (entry: Entry, what: string, given: Readonly<Record<string, unknown>>) =>
  Object.entries(given).map(([key, value]) => ({
    ...{ key, value: entry.secret(`${what} ${key}`, textOf(value)) },
  }));

/** Why a check that signs in with a certificate is switched off. */
export const needsClientCertificate = (fields: string, more = ''): string =>
  `needs a client certificate (${fields})${more}. Store it for the host first: it then counts for all checks of that host`;

/** A job that pings: period and grace in seconds. */
export const heartbeat = (period: number, grace: number, more: Fields = {}): ConvertedCheck => ({
  checkType: 'HEARTBEAT',
  fields: {
    heartbeat: { period, periodUnit: 'seconds', grace, graceUnit: 'seconds', ...more },
  },
});

export const dnsCheck = (request: Fields): ConvertedCheck => ({
  checkType: 'DNS',
  fields: { request },
});
