/** The head of a pcap file: nanoseconds, and packets that begin with their IP header. */

const nanosecondMagic = 0xa1b23c4d;
const linkTypeRaw = 101;
/** What readers expect as the longest packet there may be. */
const maxPacketBytes = 262_144;

/** A file of records that are of this machine's byte order, which is the little one. */
export function pcapFile(records: Buffer): Buffer {
  const head = Buffer.alloc(24);
  head.writeUInt32LE(nanosecondMagic, 0);
  head.writeUInt16LE(2, 4);
  head.writeUInt16LE(4, 6);
  head.writeUInt32LE(maxPacketBytes, 16);
  head.writeUInt32LE(linkTypeRaw, 20);
  return Buffer.concat([head, records]);
}
