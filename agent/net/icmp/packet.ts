/** Encodes, verifies and decodes ICMP echo packets (RFC 792, RFC 4443). */

/** Bytes after the ICMP header: what `ping` sends. */
export const payloadBytes = 56;
export const tokenBytes = 16;
const headerBytes = 8;
const ipv6HeaderBytes = 40;

const echoRequest = { 4: 8, 6: 128 } as const;
export const echoReply = { 4: 0, 6: 129 } as const;
/** Types of messages that a request did not arrive: unreachable and time exceeded. */
export const errorTypes: Readonly<Record<4 | 6, readonly [number, number]>> = {
  4: [3, 11],
  6: [1, 3],
};

export type Version = 4 | 6;

/** The Internet checksum (RFC 1071). */
function checksum(packet: Buffer): number {
  let sum = 0;
  for (let at = 0; at + 1 < packet.length; at += 2) sum += packet.readUInt16BE(at);
  if (packet.length % 2 === 1) sum += (packet[packet.length - 1] ?? 0) << 8;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

/**
 * An echo request. The token identifies packets of this process, whatever the kernel does to the
 * identifier.
 */
export function encodeEcho(
  version: Version,
  identifier: number,
  sequence: number,
  token: Buffer,
): Buffer {
  const packet = Buffer.alloc(headerBytes + payloadBytes, 0x2e);
  packet.writeUInt8(echoRequest[version], 0);
  packet.writeUInt8(0, 1);
  packet.writeUInt16BE(0, 2);
  packet.writeUInt16BE(identifier, 4);
  packet.writeUInt16BE(sequence, 6);
  token.copy(packet, headerBytes);
  // The kernel computes the checksum of ICMPv6, which covers unknown addresses.
  if (version === 4) packet.writeUInt16BE(checksum(packet), 2);
  return packet;
}

export interface ReceivedEcho {
  type: number;
  code: number;
  sequence: number;
  /** Token of the request, from the reply or from the packet inside an error. */
  token: string;
  isReply: boolean;
}

/** Token and sequence number of a request or reply, by its ICMP header; undefined for what is too short. */
export function identifyRequest(packet: Buffer): { token: string; sequence: number } | undefined {
  if (packet.length < headerBytes + tokenBytes) return undefined;
  return {
    token: packet.toString('latin1', headerBytes, headerBytes + tokenBytes),
    sequence: packet.readUInt16BE(6),
  };
}

/** What an IPv4 header is in front of; nothing where there is none. */
export function withoutIpHeader(packet: Buffer): Buffer {
  return packet.subarray(((packet[0] ?? 0) & 0x0f) * 4);
}

/** Decodes an echo reply or an error about an echo request; undefined for other packets. */
export function decodeEcho(version: Version, packet: Buffer): ReceivedEcho | undefined {
  if (packet.length < headerBytes) return undefined;
  const [type, code] = [packet.readUInt8(0), packet.readUInt8(1)];
  const isReply = type === echoReply[version];
  if (!isReply && !errorTypes[version].includes(type)) return undefined;
  const original = packet.subarray(headerBytes);
  const named = isReply
    ? packet
    : version === 4
      ? withoutIpHeader(original)
      : original.subarray(ipv6HeaderBytes);
  const request = identifyRequest(named);
  return request === undefined ? undefined : { type, code, ...request, isReply };
}
