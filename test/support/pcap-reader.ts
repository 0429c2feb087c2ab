/** Reads pcap files of packets without a link layer, apart from the code that writes them. */

export interface ReadPacket {
  /** Seconds since the epoch. */
  time: number;
  /** What was kept, from the IP header on. */
  bytes: Buffer;
  originalLength: number;
  protocol: 'tcp' | 'icmp';
  from: string;
  to: string;
  /** Letters of the flags: S, A, F, R, P. Empty for ICMP. */
  flags: string;
  /** Behind the TCP header; for ICMP, the packet that it quotes. */
  rest: Buffer;
}

function address(bytes: Buffer): string {
  if (bytes.length === 4) return [...bytes].join('.');
  const words = Array.from({ length: 8 }, (_none, index) => bytes.readUInt16BE(index * 2));
  return new URL(`http://[${words.map((word) => word.toString(16)).join(':')}]/`).hostname.slice(
    1,
    -1,
  );
}

function readPacket(bytes: Buffer): Omit<ReadPacket, 'time' | 'bytes' | 'originalLength'> {
  const isSix = bytes.readUInt8(0) >> 4 === 6;
  const header = isSix ? 40 : (bytes.readUInt8(0) & 15) * 4;
  const protocol = bytes.readUInt8(isSix ? 6 : 9);
  const [source, target] = isSix
    ? [bytes.subarray(8, 24), bytes.subarray(24, 40)]
    : [bytes.subarray(12, 16), bytes.subarray(16, 20)];
  if (protocol !== 6) {
    const rest = bytes.subarray(header + 8);
    return { protocol: 'icmp', from: address(source), to: address(target), flags: '', rest };
  }
  const segment = bytes.subarray(header);
  const bits = segment.readUInt8(13);
  const flags = [...'FSRPA'].filter((_letter, index) => (bits >> index) & 1).join('');
  return {
    protocol: 'tcp',
    from: `${address(source)} ${segment.readUInt16BE(0)}`,
    to: `${address(target)} ${segment.readUInt16BE(2)}`,
    flags,
    rest: segment.subarray((segment.readUInt8(12) >> 4) * 4),
  };
}

/** All packets of a file. Throws when it is not a whole pcap file with nanoseconds. */
export function readPcap(file: Uint8Array): ReadPacket[] {
  const bytes = Buffer.from(file);
  const [magic, linkType] = [bytes.readUInt32LE(0), bytes.readUInt32LE(20)];
  if (magic !== 0xa1b23c4d || linkType !== 101) throw new Error(`magic ${magic}, link ${linkType}`);
  const packets: ReadPacket[] = [];
  let at = 24;
  while (at < bytes.length) {
    const kept = bytes.readUInt32LE(at + 8);
    const packet = bytes.subarray(at + 16, at + 16 + kept);
    if (packet.length < kept) throw new Error('the file ends within a packet');
    packets.push({
      time: bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) / 1e9,
      originalLength: bytes.readUInt32LE(at + 12),
      bytes: packet,
      ...readPacket(packet),
    });
    at += 16 + kept;
  }
  return packets;
}
