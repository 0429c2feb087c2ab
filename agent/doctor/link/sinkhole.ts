/**
 * Names that are led to nowhere: DNS filters answer so for what they block. Such an answer looks like
 * an address, and connections to it reach this machine itself or nothing at all.
 */
import { isIPv4 } from 'node:net';
import { fail, warn, type Finding } from '../finding.ts';
import type { NameFacts } from './names.ts';

/** The unspecified address, which no server can have. */
export function isUnspecified(address: string): boolean {
  return /^(::ffff:)?0\.0\.0\.0$|^::$/.test(address);
}

/** A loopback or unspecified address. */
export function isSinkhole(address: string): boolean {
  const plain = address.replace(/^::ffff:/i, '');
  return isUnspecified(address) || address === '::1' || (isIPv4(plain) && plain.startsWith('127.'));
}

/** Whether all that a name is said to have leads to nowhere or back here. */
export function isAllSinkhole(addresses: readonly string[]): boolean {
  return addresses.length > 0 && addresses.every(isSinkhole);
}

export interface SinkholeFacts extends Pick<NameFacts, 'host' | 'os' | 'servers' | 'hostsFile'> {
  /** `the control plane` or `the proxy`. */
  whose: string;
  /** Something takes connections at one of the addresses; null where that was not asked. */
  isOpen: boolean | null;
  /** What takes them accepts the key of this agent: it is the control plane, wherever that may be. */
  isAccepted: boolean;
}

/**
 * Explains a name that resolves to this machine or to the unspecified address; nothing where that is
 * intended.
 */
export function judgeSinkhole(facts: SinkholeFacts): Finding[] {
  const { host, os, servers, hostsFile, whose, isOpen, isAccepted } = facts;
  if (isAccepted) return [];
  if (/^(.+\.)?localhost\.?$/i.test(host) || !isAllSinkhole(os.addresses)) return [];
  const is = `${host}, the name of ${whose}, is ${os.addresses.slice(0, 4).join(', ')} here`;
  const isNobody = os.addresses.every(isUnspecified);
  if (hostsFile.length > 0) {
    if (!isNobody) return [];
    return fail(
      `${is}, by a line of /etc/hosts: that is no address of any server; lines like it block names`,
      `remove the line with ${host} from /etc/hosts`,
    );
  }
  const by = servers.filter(({ addresses }) => isAllSinkhole(addresses));
  // The operating system has another source, as for its own host name.
  if (by.length === 0 && !isNobody) return [];
  const said = by.map(({ server, addresses }) => `${server}: ${addresses.join(', ')}`).join('; ');
  const what = `${is}${said === '' ? '' : ` (${said})`}`;
  const filter = 'a DNS filter (sinkhole) answers so for names it blocks';
  const keeper = by.map(({ server }) => ` ${server}`).join(',');
  const allow = `ask the keeper of the DNS server${keeper} to exempt ${host} from its filter`;
  if (isNobody) {
    return fail(
      `${what}: that is no address of any server; ${filter}`,
      `${allow}, or use a DNS server that knows its true address`,
    );
  }
  return isOpen === false
    ? fail(
        `${what}: that is this machine itself, and nothing listens here; ${filter}`,
        `${allow}; if ${whose} is on this machine, start it`,
      )
    : warn(
        `${what}: that is this machine itself; ${filter}`,
        `if ${whose} is not on this machine, ${allow}`,
      );
}
