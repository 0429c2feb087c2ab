/** Why a route could not be traced, with advice. */
import { readFileSync } from 'node:fs';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import { AgentError } from '../../errors.ts';
import { socketErrors } from '../../native/libc.ts';

interface Target {
  readonly address: string;
  readonly family: IpFamily;
}

const sandbox =
  'a sandbox (seccomp, gVisor) forbids or does not know it; run the agent outside of it, or set TRACEROUTE=off';

const ipv6Switch = '/proc/sys/net/ipv6/conf/all/disable_ipv6';

/** Why this machine has no IPv6, if the kernel says so; null otherwise. */
function ipv6Problem(): string | null {
  let value: string;
  try {
    value = readFileSync(ipv6Switch, 'utf8').trim();
  } catch {
    return 'its kernel has no IPv6';
  }
  return value === '0' ? null : `IPv6 is switched off (net.ipv6.conf.all.disable_ipv6 is ${value})`;
}

const localReasons: Readonly<Record<string, string>> = {
  ENETUNREACH: 'it has no route',
  EHOSTUNREACH: 'its route says unreachable, or nobody at the next hop answers',
  EINVAL: 'its route is a blackhole, or the address cannot be connected to',
  EACCES: 'its route or a rule of it prohibits that',
  EPERM: 'its firewall forbids that',
  EADDRNOTAVAIL: 'it has no address of that family to send from, or no free port',
  EAFNOSUPPORT: 'its kernel does not have that address family',
  ENETDOWN: 'its interface is down',
  EMFILE: 'no file descriptor is left (ulimit -n)',
  ENFILE: 'no file descriptor is left (fs.file-max)',
  ENOBUFS: 'its kernel has no memory for the socket',
  ENOMEM: 'its kernel has no memory for the socket',
};

const sending = new Set(['socket', 'connect', 'send', 'epoll_create1', 'epoll_ctl']);

/** The error of a failed system call of a trace; `ping` is the socket of echo requests. */
export function tracerFailure(
  { address, family }: Target,
  { call, code }: { call: string; code: string },
): AgentError {
  if (call === 'interface') {
    return new AgentError(
      'CONFIG_INVALID',
      `the way to ${address} cannot be traced: there is no interface "${address.split('%')[1] ?? ''}" (${code}); "ip link" lists those that are`,
    );
  }
  if (call === 'ping') {
    return new AgentError(
      'TRACEROUTE_UNAVAILABLE',
      `the way to ${address} cannot be traced with echo requests: this process may not send any (${code}); allow its group in net.ipv4.ping_group_range, or CAP_NET_RAW, or choose TCP or UDP`,
    );
  }
  const ofHelper = call === 'socket' ? socketErrors[code] : undefined;
  if (ofHelper !== undefined) {
    return new AgentError(
      'TRACEROUTE_UNAVAILABLE',
      `the way to ${address} cannot be traced now: ${ofHelper} (${code})`,
    );
  }
  if (!sending.has(call)) {
    return new AgentError('TRACEROUTE_UNAVAILABLE', cannotReadErrors(call, code));
  }
  const ipv6 = family === 'IPv6' ? ipv6Problem() : null;
  const reason = ipv6 ?? localReasons[code] ?? 'it refused';
  const next =
    ipv6 === null
      ? `"ip route get ${address}" shows what it would do`
      : 'switch it on, or use an IPv4 address';
  return new AgentError(
    'NETWORK_UNAVAILABLE',
    `this machine sends nothing to ${address}: ${reason} (${code}); ${next}`,
  );
}

/** The error queue, which tells who sent a packet back, is not readable. */
export function cannotReadErrors(call: string, code: string): string {
  return `the way to a target cannot be traced: the error queue of a socket cannot be read here (${call}: ${code}); ${sandbox}`;
}

/** The agent was stopped during a trace. */
export function traceStopped(): AgentError {
  return new AgentError(
    'TRACEROUTE_UNAVAILABLE',
    'the way to the target was not traced to its end: the agent is stopping',
  );
}

/** A link-local address needs its interface, or the kernel refuses it. */
export function refuseWithoutScope({ address }: Target): void {
  if (!/^fe[89ab][0-9a-f]:/i.test(address) || address.includes('%')) return;
  throw new AgentError(
    'CONFIG_INVALID',
    `${address} is a link-local address and says nothing without its interface; write it as ${address}%eth0`,
  );
}
