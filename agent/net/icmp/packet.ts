/** Encodes, verifies and decodes ICMP echo packets (RFC 792, RFC 4443). */
import { isIPv4 } from 'node:net';

/** Bytes after the ICMP header: what `ping` sends. */
export const payloadBytes = 56;
export const tokenBytes = 16;
const headerBytes = 8;

const echoRequest = { 4: 8, 6: 128 } as const;
const echoReply = { 4: 0, 6: 129 } as const;
const errors = { 4: [3, 11], 6: [1, 3] } as const;

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
  token: string | null;
  isReply: boolean;
}

/** Decodes an echo reply or an error about an echo request; undefined for other packets. */
export function decodeEcho(version: Version, packet: Buffer): ReceivedEcho | undefined {
  if (packet.length < headerBytes) return undefined;
  const type = packet.readUInt8(0);
  const code = packet.readUInt8(1);
  if (type === echoReply[version]) {
    if (packet.length < headerBytes + tokenBytes) return undefined;
    const token = packet.toString('latin1', headerBytes, headerBytes + tokenBytes);
    return { type, code, sequence: packet.readUInt16BE(6), token, isReply: true };
  }
  if (!(errors[version] as readonly number[]).includes(type)) return undefined;
  const original = packet.subarray(headerBytes);
  const ipHeader = version === 4 ? ((original[0] ?? 0) & 0x0f) * 4 : 40;
  if (original.length < ipHeader + headerBytes) return undefined;
  const request = original.subarray(ipHeader);
  const hasToken = request.length >= headerBytes + tokenBytes;
  return {
    type,
    code,
    sequence: request.readUInt16BE(6),
    token: hasToken ? request.toString('latin1', headerBytes, headerBytes + tokenBytes) : null,
    isReply: false,
  };
}

/** Token and sequence number of a request that `encodeEcho` made. */
export function identifyRequest(request: Buffer): { token: string; sequence: number } {
  return {
    token: request.toString('latin1', headerBytes, headerBytes + tokenBytes),
    sequence: request.readUInt16BE(6),
  };
}

/** An address as its 4 or 16 bytes. */
export function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const plain = address.replace(/%.*$/, '');
  const [head = '', tail] = plain.split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const left = groups(head);
  const right = tail === undefined ? [] : groups(tail);
  const zeros = Array.from<string>({ length: 8 - left.length - right.length }).fill('0');
  const bytes = Buffer.alloc(16);
  [...left, ...(tail === undefined ? [] : zeros), ...right].forEach((group, index) => {
    bytes.writeUInt16BE(Number.parseInt(group, 16), index * 2);
  });
  return bytes;
}
