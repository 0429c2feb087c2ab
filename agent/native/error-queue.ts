/** What the kernel says beside a packet or a failed one: when it came in, and which router refused it. */
import { AF_INET, AF_INET6, SOL_SOCKET, readTimespec, type ControlMessage } from './sockets.ts';

export const SO_TIMESTAMPNS = 35;
const SOL_IP = 0;
const SOL_IPV6 = 41;
const IP_RECVERR = 11;
const IPV6_RECVERR = 25;
const IP_RECVTTL = 12;
const IP_TTL = 2;
const IPV6_RECVHOPLIMIT = 51;
const IPV6_HOPLIMIT = 52;
const originIcmp: ReadonlySet<number> = new Set([2, 3]);

/** Options and numbers of a family that differ. `hops` sets how many hops a packet may travel. */
export const ipOptions = {
  4: {
    level: SOL_IP,
    domain: AF_INET,
    receiveErrors: IP_RECVERR,
    receiveHops: IP_RECVTTL,
    hops: 2,
  },
  6: {
    level: SOL_IPV6,
    domain: AF_INET6,
    receiveErrors: IPV6_RECVERR,
    receiveHops: IPV6_RECVHOPLIMIT,
    hops: 16,
  },
} as const;

/** When the kernel received a packet, in milliseconds of the epoch; null without a stamp. */
export function stampOf(control: readonly ControlMessage[]): number | null {
  const found = control.find(
    ({ level, type, data }) => level === SOL_SOCKET && type === SO_TIMESTAMPNS && data.length >= 16,
  );
  return found === undefined ? null : readTimespec(found.data);
}

/** The hop limit of a received packet; null when the kernel did not say. */
export function hopLimitOf(control: readonly ControlMessage[]): number | null {
  const found = control.find(
    ({ level, type, data }) =>
      data.length >= 4 &&
      ((level === SOL_IP && type === IP_TTL) || (level === SOL_IPV6 && type === IPV6_HOPLIMIT)),
  );
  return found?.data.readInt32LE(0) ?? null;
}

/** An ICMP message about a packet of a socket. */
export interface IcmpError {
  /** The bytes of the address of its sender. */
  readonly from: Buffer;
  /** The interface that a link-local address belongs to; 0 for others. */
  readonly scope: number;
  readonly type: number;
  readonly code: number;
}

const offenderAt = 16;

/** The ICMP message in an entry of an error queue; null for what is none. The address is a copy. */
export function icmpErrorOf(control: readonly ControlMessage[]): IcmpError | null {
  for (const { level, type, data } of control) {
    const isFour = level === SOL_IP && type === IP_RECVERR;
    if (!isFour && !(level === SOL_IPV6 && type === IPV6_RECVERR)) continue;
    const [addressAt, size] = isFour ? [20, 4] : [24, 16];
    if (data.length < addressAt + size || !originIcmp.has(data.readUInt8(4))) continue;
    if (data.readUInt16LE(offenderAt) !== (isFour ? AF_INET : AF_INET6)) continue;
    return {
      from: Buffer.from(data.subarray(addressAt, addressAt + size)),
      scope: !isFour && data.length >= 44 ? data.readUInt32LE(40) : 0,
      type: data.readUInt8(5),
      code: data.readUInt8(6),
    };
  }
  return null;
}
