/**
 * NO_PROXY as in Go, curl and most other programs. Entries are separated by commas or spaces, with
 * an optional port:
 *
 *   *                    everything
 *   example.com          the name and all names below it
 *   .example.com         names below it; `*.example.com` is the same
 *   10.0.0.1, [fd00::1]  an address, where the URL names one
 *   10.0.0.0/8           a network, where the URL names an address in it: names are not resolved for this
 */
import { BlockList, isIP } from 'node:net';

type Rule = (host: string, port: number) => boolean;

function familyOf(address: string): 'ipv4' | 'ipv6' | null {
  const version = isIP(address);
  return version === 0 ? null : version === 6 ? 'ipv6' : 'ipv4';
}

function network(address: string, prefix: string): Rule | null {
  const family = familyOf(address);
  const bits = Number(prefix);
  const most = family === 'ipv6' ? 128 : 32;
  if (family === null || !/^\d{1,3}$/.test(prefix) || bits > most) return null;
  const list = new BlockList();
  list.addSubnet(address, bits, family);
  return (host) => {
    const hostFamily = familyOf(host);
    return hostFamily !== null && list.check(host, hostFamily);
  };
}

/** `host:port`, `[v6]:port`, or either without a port; a bare IPv6 address has none. */
function withoutPort(entry: string): { host: string; port: number | null } {
  const bracketed = /^\[([^\]]+)\](?::(\d+))?$/.exec(entry);
  const plain = /^([^:]+):(\d+)$/.exec(entry);
  const [, host = entry, port] = bracketed ?? plain ?? [];
  return { host, port: port === undefined ? null : Number(port) };
}

function hostRule(host: string): Rule {
  if (host === '*') return () => true;
  const [address = '', prefix] = host.split('/');
  if (prefix !== undefined) return network(address, prefix) ?? (() => false);
  const whole = familyOf(host) === null ? null : network(host, isIP(host) === 6 ? '128' : '32');
  if (whole !== null) return whole;
  const name = host.replace(/^\*?\./, '');
  const isBelow: Rule = (asked) => asked.endsWith(`.${name}`);
  return name === host ? (asked, port) => asked === name || isBelow(asked, port) : isBelow;
}

function ruleOf(entry: string): Rule {
  const { host, port } = withoutPort(entry.toLowerCase());
  const matches = hostRule(host.replace(/(?<=[^.])\.$/, ''));
  return port === null
    ? matches
    : (asked, askedPort) => askedPort === port && matches(asked, askedPort);
}

/** Parses NO_PROXY. The returned function tells whether a host (without brackets) is reached directly. */
export function parseNoProxy(text: string): (host: string, port: number) => boolean {
  const rules = text
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .map(ruleOf);
  return (host, port) => {
    const asked = host.toLowerCase().replace(/\.$/, '');
    return rules.some((rule) => rule(asked, port));
  };
}
