import { isIPv6 } from 'node:net';
import { fail, ok, warn, type Finding } from '../finding.ts';
import type { RouteFacts } from '../link/routes.ts';
import type { Check } from '../step.ts';

const reasons: Readonly<Record<string, { what: string; fix: string }>> = {
  ENETUNREACH: {
    what: 'there is no route to it',
    fix: 'add a default route (ip route add default via GATEWAY), or see why the interface has none',
  },
  EHOSTUNREACH: {
    what: 'the route to it says "unreachable"',
    fix: 'remove that route (ip route get … shows it), or correct it',
  },
  EINVAL: {
    what: 'the route to it is a black hole',
    fix: 'remove that route (ip route get … shows it)',
  },
  EACCES: {
    what: 'the route to it, or a rule of this machine, forbids it',
    fix: 'remove the "prohibit" route or the rule (ip route get …, nft list ruleset)',
  },
  EPERM: {
    what: 'a firewall of this machine forbids it',
    fix: 'allow it (nft list ruleset, iptables -S OUTPUT)',
  },
  EAFNOSUPPORT: {
    what: 'this address family is switched off here',
    fix: 'switch IPv6 on, or give the name an IPv4 address',
  },
  EADDRNOTAVAIL: {
    what: 'this machine has no address of this family',
    fix: 'give the interface an address; see the line "ipv6"',
  },
};

/** One way is enough; addresses without one are reported only where there is none at all. */
export function judgeRoute(routes: readonly RouteFacts[], isIpv6Off: boolean): Finding[] {
  if (routes.length === 0) return ok('no address to reach');
  const open = routes.filter(({ code, dead }) => code === null && dead === null);
  const closed = routes.filter(({ code, dead }) => code !== null || dead !== null);
  if (open.length > 0) {
    const ways = open.map(
      ({ address, source, via }) =>
        `to ${address} from ${source ?? '?'}${via === null ? '' : ` through ${via}`}`,
    );
    const without = closed.map(({ address }) => `none to ${address}`);
    return ok([...ways, ...without].join('; '));
  }
  return closed.flatMap(({ address, code, dead }) => {
    if (dead !== null) return fail(`${address}: ${dead.what}`, dead.fix);
    const { what, fix } = reasons[code ?? ''] ?? {
      what: `no way (${code ?? '?'})`,
      fix: 'see ip route get',
    };
    const isSwitchedOff = isIPv6(address) && isIpv6Off;
    return fail(
      `${address}: ${what} (${code ?? '?'})${isSwitchedOff ? '; IPv6 is switched off by net.ipv6.conf.all.disable_ipv6=1' : ''}`,
      isSwitchedOff
        ? 'switch IPv6 on, or give the name an IPv4 address (A record)'
        : fix.replace('…', address),
    );
  });
}

/** What is lost where the kernel cannot be asked for next hops, and why. */
export function judgeNextHops(problem: string | null): Finding[] {
  if (problem === null) return [];
  return warn(
    `the next hop of a target is unknown: ${problem}`,
    'see the reason; until then a dead gateway or link of this machine counts as a failure of the target',
  );
}

export const checkRoute: Check = async ({ link, machine, network }) => [
  ...judgeRoute(
    await link.routes(),
    machine.read('/proc/sys/net/ipv6/conf/all/disable_ipv6')?.trim() === '1',
  ),
  ...judgeNextHops(network.nextHops.problem),
];
