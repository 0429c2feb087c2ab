/** What `monitor-agent traceroute` was pointed at. */
import { isIP, isIPv6 } from 'node:net';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import { AgentError } from '../errors.ts';

export interface TracerouteTarget {
  readonly host: string;
  readonly port: number | null;
  /** What a literal address is; null for a name. */
  readonly family: IpFamily | null;
}

const usualPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

function bad(argument: string, problem: string): AgentError {
  return new AgentError(
    'CONFIG_INVALID',
    `"${argument}" cannot be traced: ${problem}; give host, host:port, [IPv6 address]:port or a URL`,
  );
}

function fromUrl(argument: string): { host: string; port: number | null } {
  const url = URL.parse(argument);
  if (url === null || url.hostname === '') throw bad(argument, 'it is not a URL');
  const port = url.port === '' ? (usualPorts[url.protocol] ?? null) : Number(url.port);
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port };
}

function fromHost(argument: string): { host: string; port: number | null } {
  if (isIPv6(argument)) return { host: argument, port: null };
  const [, bracketed, plain, digits] =
    /^(?:\[([^\]]+)\]|([^:/\s[\]]+))(?::(\d+))?$/.exec(argument) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined) throw bad(argument, 'it is not a host');
  if (bracketed !== undefined && !isIPv6(bracketed)) {
    throw bad(argument, `${bracketed} is not an IPv6 address`);
  }
  return { host, port: digits === undefined ? null : Number(digits) };
}

/** A target from the command line. Throws CONFIG_INVALID that names what is wrong. */
export function tracerouteTarget(argument: string): TracerouteTarget {
  const { host, port } = /^[a-z]+:\/\//i.test(argument) ? fromUrl(argument) : fromHost(argument);
  if (port !== null && (port < 1 || port > 65_535)) throw bad(argument, `there is no port ${port}`);
  const version = isIP(host);
  return { host, port, family: version === 0 ? null : version === 6 ? 'IPv6' : 'IPv4' };
}
