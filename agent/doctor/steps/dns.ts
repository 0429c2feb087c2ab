import { isIPv6 } from 'node:net';
import { fail, ok, warn, type Finding } from '../finding.ts';
import type { NextHopProblem } from '../../net/next-hop/assert-reachable.ts';
import type { NameFacts, ServerAnswer } from '../link/names.ts';
import { isAllSinkhole, judgeSinkhole } from '../link/sinkhole.ts';
import type { Check } from '../step.ts';
import { readAnswer } from './control-plane.ts';

/** What the resolver of this machine could have said and did not. */
const slowMs = 1_500;

export interface DnsFacts extends NameFacts {
  /** `the control plane` or `the proxy`. */
  whose: string;
  setting: string;
  /** IPv6 can leave this machine; only asked where there is nothing else. */
  hasIpv6: boolean;
  /** Why no server can be reached, where it is this machine or its gateway; only asked where none answers. */
  deadWay: NextHopProblem | null;
  /** Something takes connections there; only asked where the addresses are of this machine. */
  isOpen: boolean | null;
  /** What takes them accepts the key of this agent. */
  isAccepted: boolean;
}

function shown({ server, durationMs, addresses, returnCode, failure }: ServerAnswer): string {
  if (returnCode === null) return `${server}: ${shortFailure(failure ?? 'no answer')}`;
  const said =
    addresses.length > 0
      ? addresses.join(', ')
      : returnCode === 'NOERROR'
        ? 'no address'
        : returnCode;
  const but = failure === null ? '' : `, but asked for AAAA it ${shortFailure(failure)}`;
  return `${server}: ${said} (${durationMs} ms)${but}`;
}

/** `the name server 10.0.0.1:53 did not answer in 2500 ms (TIMEOUT)` without what stands before it already. */
function shortFailure(text: string): string {
  return text
    .replace(/^the name server \S+ /, '')
    .replace(/^this machine could not.*\((\w+)\).*$/, 'cannot be reached ($1)');
}

const isKnown = ({ addresses }: ServerAnswer): boolean => addresses.length > 0;

function judgeFailure(facts: DnsFacts): Finding[] {
  const { host, servers, whose, setting, search, hasResolvConf, os, deadWay } = facts;
  const list = servers.map(shown).join('; ');
  const what = `${host}, the name of ${whose}, has no address`;
  if (!hasResolvConf || servers.length === 0) {
    return fail(
      `${what}: /etc/resolv.conf ${hasResolvConf ? 'names no server' : 'is missing, or cannot be read'}`,
      'put the address of a DNS server there ("nameserver 10.0.0.2"; docker --dns, dnsPolicy of Kubernetes)',
    );
  }
  const silent = servers.filter(({ returnCode }) => returnCode === null);
  if (silent.length === servers.length) {
    if (deadWay !== null) return fail(`${what}: ${deadWay.what}; ${list}`, deadWay.fix);
    return fail(
      `${what}: no name server of /etc/resolv.conf answers: ${list}`,
      'let UDP and TCP port 53 to these servers through the firewall, or name others in /etc/resolv.conf (docker --dns, dnsPolicy of Kubernetes)',
      silent.some(({ failure }) => /TIMEOUT/.test(failure ?? '')) ? 'TIMEOUT' : '',
    );
  }
  if (servers.some(isKnown)) {
    return fail(
      `the operating system finds no address for ${host} (${os.code ?? 'no answer'}), although there is one: ${list}`,
      'make the server that knows the name the first or only one in /etc/resolv.conf; the C library does not ask the next one after a "no"; see also "hosts" in /etc/nsswitch.conf',
      os.code ?? '',
    );
  }
  if (servers.some(({ returnCode }) => returnCode === 'SERVFAIL' || returnCode === 'REFUSED')) {
    return fail(
      `${what}: ${list}`,
      'the DNS server cannot, or may not, find it: look at its forwarding, at DNSSEC, and at who may ask it',
    );
  }
  if (servers.some(({ returnCode }) => returnCode === 'NOERROR')) {
    return fail(
      `${what}: the name exists, without an A or AAAA record: ${list}`,
      `give it an address in the DNS, or correct ${setting}`,
    );
  }
  const domains = search.length > 0 ? `; search domains: ${search.join(', ')}` : '';
  return fail(
    `${what}: it does not exist for the DNS here: ${list}${domains}`,
    `correct ${setting}, or use the DNS server of the network in which the name is known (split DNS)`,
  );
}

function sameAddresses(one: readonly string[], other: readonly string[]): boolean {
  return one.some((address) => other.includes(address));
}

/** How the name of the link's first hop becomes addresses, and what threatens that. */
export function judgeDns(facts: DnsFacts): Finding[] {
  const { host, isAddress, os, servers, hostsFile, hasIpv6, setting } = facts;
  if (isAddress) return ok(`${host} is an address: no name has to be resolved`);
  if (os.addresses.length === 0) return judgeFailure(facts);
  const sinkhole = judgeSinkhole(facts);
  if (sinkhole.length > 0) return sinkhole;
  const evidence = `${host} is ${os.addresses.slice(0, 4).join(', ')} (${os.durationMs} ms)`;
  if (!hasIpv6 && os.addresses.every(isIPv6)) {
    return fail(
      `${evidence}: IPv6 only, and this machine has no way out over IPv6`,
      `give ${host} an IPv4 address (A record), or this machine IPv6`,
    );
  }
  const list = servers.map(shown).join('; ');
  const findings: Finding[] = [];
  if (hostsFile.length > 0) {
    const differs = servers.some(
      (one) => isKnown(one) && !sameAddresses(one.addresses, os.addresses),
    );
    return differs
      ? warn(
          `${evidence}, from /etc/hosts; the DNS says otherwise: ${list}`,
          'remove the line from /etc/hosts if it is out of date',
        )
      : ok(`${evidence}, from /etc/hosts`);
  }
  const dead = servers.filter(({ returnCode }) => returnCode === null);
  if (dead.length > 0) {
    findings.push(
      ...warn(
        `${evidence}, but a server of /etc/resolv.conf does not answer: ${dead.map(shown).join('; ')}`,
        'remove it from /etc/resolv.conf, or let port 53 to it through: each lookup that asks it waits for seconds',
      ),
    );
  }
  const ignorant = servers.filter((one) => one.returnCode !== null && !isKnown(one));
  if (ignorant.length > 0 && servers.some(isKnown)) {
    findings.push(
      ...warn(
        `${evidence}, but not every server of /etc/resolv.conf knows it: ${list}`,
        'list only servers that know the same names: which one is asked changes when one is slow',
      ),
    );
  }
  const filters = servers.filter(({ addresses }) => isAllSinkhole(addresses));
  if (filters.length > 0 && !isAllSinkhole(os.addresses)) {
    findings.push(
      ...warn(
        `${evidence}, but a server of /etc/resolv.conf leads the name to nowhere, as DNS filters (sinkholes) do: ${filters.map(shown).join('; ')}`,
        `ask its keeper to exempt ${host}, or take it out of /etc/resolv.conf: which server is asked changes when one is slow`,
      ),
    );
  }
  if (findings.length > 0) return findings;
  if (ignorant.length > 0 && servers.length > 0 && !host.endsWith('localhost')) {
    return ok(
      `${evidence}, by the operating system alone (search domain, mDNS or another source); the DNS does not know this name`,
    );
  }
  if (os.durationMs > slowMs) {
    return warn(
      `${evidence}: that is slow; ${list}`,
      `look at the DNS servers; ${setting} may also hold an address`,
    );
  }
  return ok(servers.length > 0 ? `${evidence}; ${list}` : evidence);
}

export const checkDns: Check = async ({ link }) => {
  const { proxy, hop } = link.destination;
  const names = await link.names();
  const isSilent = !names.isAddress && names.servers.every(({ returnCode }) => returnCode === null);
  const { addresses } = names.os;
  const isIpv6Only = addresses.length > 0 && addresses.every(isIPv6);
  const isHere = !names.isAddress && isAllSinkhole(addresses);
  const isOpen = isHere
    ? (await link.connections()).some(({ durationMs }) => durationMs !== null)
    : null;
  const isAccepted = isOpen === true && readAnswer(await link.checkIn()).kind === 'accepted';
  return judgeDns({
    ...{ ...names, isOpen, isAccepted },
    whose: hop.whose,
    setting: proxy === null ? 'CONTROL_PLANE_URL' : 'the proxy setting',
    hasIpv6: !isIpv6Only || (await link.routes()).some(({ code }) => code === null),
    deadWay: isSilent ? await link.deadWayToResolvers() : null,
  });
};
