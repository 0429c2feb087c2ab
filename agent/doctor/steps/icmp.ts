import { AgentError } from '../../errors.ts';
import { openLibc } from '../../native/libc.ts';
import type { IcmpTransport } from '../../net/icmp/icmp.ts';
import { fail, ok, warn, type Finding } from '../finding.ts';
import { hasCapability, hasSeccompFilter, netRaw } from '../limits.ts';
import type { Machine } from '../machine.ts';
import type { Check } from '../step.ts';

export interface IcmpFacts {
  way: IcmpTransport['way'] | null;
  /** Whether an echo to this machine itself came back; null where it was not tried. */
  echo: { v4: boolean | null; v6: boolean | null };
  /** Why none could be sent at all; null where it could. */
  problem: string | null;
  /** net.ipv4.ping_group_range; null where it is not known. */
  range: { from: number; to: number } | null;
  groups: readonly number[];
  /** CAP_NET_RAW in the effective set. */
  hasNetRaw: boolean | null;
  /** Why this process can open no sockets itself; null where it can. */
  callProblem: string | null;
  hasSeccompFilter: boolean;
  ping: 'works' | 'missing' | 'forbidden' | 'broken';
}

const only = 'only ICMP monitors are affected';

function isInRange({ range, groups }: IcmpFacts): boolean {
  return range !== null && groups.some((group) => group >= range.from && group <= range.to);
}

/** Most containers have a filter: it is the reason where a socket is allowed by all else. */
function isFiltered(facts: IcmpFacts): boolean {
  const { way, hasNetRaw, callProblem, hasSeccompFilter } = facts;
  const isAllowed = isInRange(facts) || hasNetRaw === true;
  const isClosed = way === null || way === 'ping';
  return hasSeccompFilter && callProblem === null && isAllowed && isClosed;
}

/** One sentence for each of the three ways. */
function ways(facts: IcmpFacts): string[] {
  const { range, groups, hasNetRaw, ping, way } = facts;
  const shown = range === null ? 'unknown' : `${range.from} ${range.to}`;
  const filter = isFiltered(facts) ? 'a seccomp filter is set, and forbids it' : null;
  const problem = facts.callProblem ?? filter;
  const but = problem === null ? '' : `, but ${problem}`;
  const datagram = isInRange(facts)
    ? `datagram socket: allowed (net.ipv4.ping_group_range "${shown}")${way === 'datagram' ? '' : but}`
    : `datagram socket: net.ipv4.ping_group_range "${shown}" has none of the groups ${groups.join(', ')}`;
  const raw =
    hasNetRaw === true
      ? `raw socket: allowed (CAP_NET_RAW)${way === 'raw' ? '' : but}`
      : way === 'raw'
        ? 'raw socket: opened by the helper of the image'
        : 'raw socket: no CAP_NET_RAW';
  const program = {
    works: 'ping program: works',
    missing: 'ping program: not installed',
    forbidden:
      'ping program: may not be executed: it carries the file capability cap_net_raw, which this container is not allowed to have',
    broken: 'ping program: is there, and does not work',
  }[ping];
  return [datagram, raw, program];
}

const name = {
  datagram: 'an unprivileged ICMP socket',
  raw: 'a raw socket',
  ping: 'the ping program, at the cost of a process each',
};

/** Which way echo requests take, and for each way that is closed, why. */
export function judgeIcmp(facts: IcmpFacts): Finding[] {
  const { way, echo, ping, callProblem, problem } = facts;
  const each = ways(facts).join('; ');
  const open =
    'set the sysctl net.ipv4.ping_group_range to "0 2147483647" (docker --sysctl, securityContext.sysctls of Kubernetes; no right is needed then), or grant CAP_NET_RAW';
  if (way === null || (way === 'ping' && ping !== 'works')) {
    const filter = isFiltered(facts)
      ? 'let the seccomp profile allow socket() for ICMP (docker --security-opt seccomp=FILE, seccompProfile of Kubernetes); '
      : '';
    const calls = callProblem === null ? filter : 'install the agent with its optional packages; ';
    const program =
      ping === 'forbidden' ? '; or remove the file capability: setcap -r "$(command -v ping)"' : '';
    return fail(`echo requests cannot be sent: ${each}`, `${calls}${open}${program}; ${only}`);
  }
  if (problem !== null) {
    return fail(
      `echo requests cannot be sent now: ${problem}; ${each}`,
      `see whether this machine has CPU and processes left, and run doctor again; ${only}`,
    );
  }
  if (echo.v4 === false) {
    return fail(
      `echo requests go out by ${name[way]}, and not even this machine answers: ${each}`,
      `see the firewall of this machine and net.ipv4.icmp_echo_ignore_all; ${only}`,
    );
  }
  const evidence = `echo requests go out by ${name[way]}; ${each}`;
  if (way === 'ping') return warn(evidence, callProblem ?? `for less CPU ${open}`);
  const v6 = echo.v6 === true ? '; IPv6 too' : '';
  return ok(`${evidence}${v6}`);
}

/** Two numbers, as the kernel writes them. */
export function parseRange(text: string | null): { from: number; to: number } | null {
  const [from, to] = (text ?? '').trim().split(/\s+/).map(Number);
  return from === undefined || to === undefined || Number.isNaN(from) ? null : { from, to };
}

async function echoesBack(
  icmp: IcmpTransport,
  address: string,
  family: 'IPv4' | 'IPv6',
  signal: AbortSignal,
): Promise<boolean | string> {
  const request = { address, family, count: 2, intervalMs: 100, timeoutMs: 2_500, signal };
  try {
    const replies = await icmp.echo(request);
    return replies.some(({ success }) => success);
  } catch (error) {
    const isOurs = error instanceof AgentError && error.code === 'ICMP_UNAVAILABLE';
    return isOurs ? error.message : false;
  }
}

async function lookAtPing(machine: Machine): Promise<IcmpFacts['ping']> {
  const isThere = ['/usr/bin/ping', '/bin/ping'].some((path) => machine.stat(path) !== null);
  if (!isThere) return 'missing';
  const ended = await machine.run('ping', ['-c', '1', '-W', '1', '127.0.0.1'], {
    timeoutMs: 3_000,
  });
  if (ended.problem === 'EPERM') return 'forbidden';
  if (ended.problem !== null) return ended.problem === 'ENOENT' ? 'missing' : 'broken';
  return ended.exitCode === 0 ? 'works' : 'broken';
}

export const checkIcmp: Check = async ({ machine, network }, signal) => {
  const { icmp: transport } = network;
  const hasIpv6 = machine.read('/proc/net/if_inet6') !== null;
  const ping = lookAtPing(machine);
  const opened = openLibc();
  let problem: string | null = null;
  const echo = async (address: string, family: 'IPv4' | 'IPv6'): Promise<boolean | null> => {
    const came = transport === null ? null : await echoesBack(transport, address, family, signal);
    if (typeof came !== 'string') return came;
    if (family === 'IPv4') problem = came;
    return false;
  };
  return judgeIcmp({
    way: transport?.way ?? null,
    echo: {
      v4: await echo('127.0.0.1', 'IPv4'),
      v6: hasIpv6 ? await echo('::1', 'IPv6') : null,
    },
    problem,
    range: parseRange(machine.read('/proc/sys/net/ipv4/ping_group_range')),
    groups: [...new Set([process.getegid?.() ?? 0, ...(process.getgroups?.() ?? [])])],
    hasSeccompFilter: hasSeccompFilter(machine),
    hasNetRaw: hasCapability(machine, 'CapEff', netRaw),
    callProblem: opened.libc === null ? opened.problem : null,
    ping: await ping,
  });
};
