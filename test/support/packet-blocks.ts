/** Blocks of a ring of packets, as the kernel writes them. */
import { addressBytes } from '../../agent/native/sockets.ts';

export interface Sent {
  from: string;
  fromPort: number;
  to: string;
  toPort: number;
  /** Milliseconds of the epoch. */
  at: number;
  device?: number;
  /** Makes packets of one flow differ. */
  sequence?: number;
  /** Bytes of options of IPv4. */
  options?: number;
  originalLength?: number;
}

/** An IP and a TCP header. */
export function tcpPacket({ from, fromPort, to, toPort, sequence = 0, options = 0 }: Sent): Buffer {
  const [source, target] = [addressBytes(from), addressBytes(to)];
  const isSix = source.length === 16;
  const header = Buffer.alloc(isSix ? 40 : 20 + options);
  header[0] = isSix ? 0x60 : 0x40 | (header.length / 4);
  header[isSix ? 6 : 9] = 6;
  Buffer.concat([source, target]).copy(header, isSix ? 8 : 12);
  const segment = Buffer.alloc(20);
  segment.writeUInt16BE(fromPort, 0);
  segment.writeUInt16BE(toPort, 2);
  segment.writeUInt32BE(sequence, 4);
  segment[12] = 0x50;
  return Buffer.concat([header, segment]);
}

/** An error of ICMP from a router about a packet. */
export function icmpError(router: string, about: Sent): Buffer {
  const quoted = tcpPacket(about);
  const packet = tcpPacket({ ...about, from: router, to: about.from });
  const isSix = addressBytes(router).length === 16;
  packet[isSix ? 6 : 9] = isSix ? 58 : 1;
  const message = Buffer.from([isSix ? 1 : 3, 1, 0, 0, 0, 0, 0, 0]);
  return Buffer.concat([packet.subarray(0, isSix ? 40 : 20), message, quoted]);
}

function entry(bytes: Buffer, { at, device = 1, originalLength = bytes.length }: Sent): Buffer {
  const packetAt = 80;
  const head = Buffer.alloc(packetAt);
  head.writeUInt32LE((packetAt + bytes.length + 15) & ~15, 0);
  head.writeUInt32LE(Math.floor(at / 1_000), 4);
  head.writeUInt32LE(Math.round((at % 1_000) * 1e6), 8);
  head.writeUInt32LE(bytes.length, 12);
  head.writeUInt32LE(originalLength, 16);
  head.writeUInt16LE(packetAt, 24);
  head.writeInt32LE(device, 52);
  const padded = Buffer.alloc(head.readUInt32LE(0));
  head.copy(padded);
  bytes.copy(padded, packetAt);
  return padded;
}

/** A closed block of TCP packets; one with `bytes` stands as these. */
export function packetBlock(packets: readonly (Sent & { bytes?: Buffer })[], size = 0): Buffer {
  const header = Buffer.alloc(48);
  const entries = packets.map((sent) => entry(sent.bytes ?? tcpPacket(sent), sent));
  const block = Buffer.concat([header, ...entries]);
  const times = packets.map(({ at }) => at);
  block.writeUInt32LE(1, 8);
  block.writeUInt32LE(packets.length, 12);
  block.writeUInt32LE(48, 16);
  block.writeUInt32LE(block.length, 20);
  [Math.min(...times), Math.max(...times)].forEach((at, index) => {
    block.writeUInt32LE(Math.floor(at / 1_000), 32 + index * 8);
    block.writeUInt32LE(Math.round((at % 1_000) * 1e6), 36 + index * 8);
  });
  return Buffer.concat([block, Buffer.alloc(Math.max(0, size - block.length))]);
}
