/** Texts for ICMP messages other than "time exceeded". */
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';

/** Destination unreachable: RFC 792 and RFC 1812, and RFC 4443 for IPv6. Probes get no other types. */
const unreachableType: Record<IpFamily, number> = { IPv4: 3, IPv6: 1 };
const timeExceededType: Record<IpFamily, number> = { IPv4: 11, IPv6: 3 };

const administratively = 'administratively prohibited';

/** Current codes; obsolete ones (RFC 6633, RFC 1812) are shown by number. */
const reasons: Record<IpFamily, Readonly<Record<number, string>>> = {
  IPv4: {
    0: 'network unreachable',
    1: 'host unreachable',
    3: 'port unreachable',
    4: 'packet too big',
    9: administratively,
    10: administratively,
    13: administratively,
  },
  IPv6: {
    0: 'no route to the target',
    1: administratively,
    3: 'host unreachable',
    4: 'port unreachable',
    5: 'source address refused by policy',
    6: 'route rejected',
  },
};

/** True for a message that ends the trace: its sender does not forward to the target. */
export function isUnreachable(family: IpFamily, type: number): boolean {
  return type === unreachableType[family];
}

/** A short text, or null for "time exceeded", the normal answer of a hop. */
export function icmpNote(family: IpFamily, type: number, code: number): string | null {
  if (type === timeExceededType[family]) return code === 0 ? null : 'reassembly time exceeded';
  if (!isUnreachable(family, type)) return `ICMP type ${type} code ${code}`;
  return reasons[family][code] ?? `unreachable, code ${code}`;
}
