import { ok, warn, type Finding } from '../finding.ts';
import type { Machine } from '../machine.ts';
import type { Check } from '../step.ts';

export interface Ipv6Facts {
  /** The kernel has it at all. */
  isBuiltIn: boolean;
  /** Names of sysctls that switch it off. */
  switchedOffBy: readonly string[];
  /** Addresses that are more than local. */
  addresses: number;
  hasWay: boolean;
}

export function judgeIpv6({ isBuiltIn, switchedOffBy, addresses, hasWay }: Ipv6Facts): Finding[] {
  const only = 'only checks of IPv6 targets are affected';
  if (!isBuiltIn) {
    return warn(
      'this kernel was started without IPv6',
      `remove ipv6.disable=1 from its command line; ${only}`,
    );
  }
  if (switchedOffBy.length > 0 && addresses === 0) {
    return warn(
      `switched off by ${switchedOffBy.map((name) => `${name}=1`).join(', ')}`,
      `set it to 0 (docker --sysctl, sysctl -w) if there are IPv6 targets; ${only}`,
    );
  }
  if (addresses === 0)
    return ok('this machine has no IPv6 address: checks of IPv6 targets cannot run here');
  if (!hasWay) {
    return warn(
      'this machine has an IPv6 address and no route out: names with AAAA records fail, or wait, until IPv4 is tried',
      `add a default route (ip -6 route add default via GATEWAY), or remove the address; ${only}`,
    );
  }
  return ok('an address and a way out');
}

/** Whether /proc/net/ipv6_route leads beyond this network: a default route, or one by a gateway. */
export function hasIpv6Way(machine: Machine): boolean {
  return (machine.read('/proc/net/ipv6_route') ?? '').split('\n').some((line) => {
    const [target, length, , , gateway, , , , flags, device] = line.trim().split(/\s+/);
    // RTF_REJECT: a route that says no.
    const isReject = (Number.parseInt(flags ?? '0', 16) & 0x200) !== 0;
    if (target === undefined || device === 'lo' || isReject) return false;
    return length === '00' || /[1-9a-f]/.test(gateway ?? '');
  });
}

const sysctls = ['all', 'default', 'eth0'];

export const checkIpv6: Check = ({ machine }) => {
  const interfaces = machine.read('/proc/net/if_inet6');
  const switchedOffBy = sysctls
    .filter((name) => machine.read(`/proc/sys/net/ipv6/conf/${name}/disable_ipv6`)?.trim() === '1')
    .map((name) => `net.ipv6.conf.${name}.disable_ipv6`);
  const addresses = (interfaces ?? '')
    .split('\n')
    .filter((line) => line.split(/\s+/)[3] === '00' && !line.startsWith('fe80'));
  return judgeIpv6({
    isBuiltIn: machine.stat('/proc/sys/net/ipv6') !== null,
    switchedOffBy,
    addresses: addresses.length,
    hasWay: hasIpv6Way(machine),
  });
};
