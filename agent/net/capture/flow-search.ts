/** Finds the packets of TCP connections in blocks of a packet ring, and the ICMP errors that quote them. */
import { addressBytes } from '../../native/sockets.ts';
import type { BlockHeader } from '../../native/packet-ring.ts';

/** One connection of which packets are wanted. Instants are milliseconds of the epoch. */
export interface WantedFlow {
  readonly localAddress: string;
  readonly localPort: number;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly from: number;
  readonly to: number;
}

export interface FoundPackets {
  /** As they stand in a pcap file. */
  readonly records: Buffer[];
  /** Packets in the middle of a long connection that are not among them. */
  leftOut: number;
}

/** Of one answer; about a megabyte. What is more is left out after the first. */
const maxPackets = 8_000;
const firstPackets = 2_000;
const cutPackets = 3_000;
/** The same packet on two interfaces, such as a bond and its member. */
const samePacketMs = 1;

const packetHeaderBytes = 48;
const interfaceAt = 52;
const [icmp, tcp, icmpv6] = [1, 6, 58];

class Target {
  readonly from: number;
  readonly to: number;
  readonly found: FoundPackets = { records: [], leftOut: 0 };
  readonly #seen = new Map<string, { device: number; time: number }>();

  constructor({ from, to }: WantedFlow) {
    this.from = from;
    this.to = to;
  }

  /** A copy: a head of 16 bytes, then the packet. */
  take(record: Buffer, time: number, device: number): void {
    const key = record.toString('latin1', 16);
    const seen = this.#seen.get(key);
    if (seen !== undefined && seen.device !== device && time - seen.time < samePacketMs) return;
    this.#seen.set(key, { device, time });
    const { records } = this.found;
    records.push(record);
    if (records.length <= maxPackets) return;
    records.splice(firstPackets, cutPackets);
    this.found.leftOut += cutPackets;
  }
}

/** Where the IP header of TCP begins in a packet, that of the packet or the one an error quotes; -1 for others. */
function findHeader(block: Buffer, at: number, end: number, isQuoted = false): number {
  if (at + 20 > end) return -1;
  const version = block.readUInt8(at) >> 4;
  const isSix = version === 6;
  if (!isSix && version !== 4) return -1;
  const protocol = block.readUInt8(at + (isSix ? 6 : 9));
  if (protocol === tcp) return at;
  if (isQuoted || protocol !== (isSix ? icmpv6 : icmp)) return -1;
  return findHeader(block, at + headerLength(block, at) + 8, end, true);
}

/** Of the IP header. */
function headerLength(block: Buffer, at: number): number {
  const first = block.readUInt8(at);
  return first >> 4 === 6 ? 40 : (first & 0x0f) * 4;
}

/** One pass over blocks for several connections. */
export class FlowSearch {
  /** What was found, in the order of the connections. */
  readonly found: readonly FoundPackets[];
  /** By the two ports as they stand in a packet. */
  readonly #wanted = new Map<number, { addresses: Buffer; target: Target }[]>();
  readonly #from: number;
  readonly #to: number;

  constructor(flows: readonly WantedFlow[]) {
    this.#from = Math.min(...flows.map(({ from }) => from));
    this.#to = Math.max(...flows.map(({ to }) => to));
    this.found = flows.map((flow) => {
      const target = new Target(flow);
      const here = addressBytes(flow.localAddress);
      const there = addressBytes(flow.remoteAddress);
      this.#want(here, flow.localPort, there, flow.remotePort, target);
      this.#want(there, flow.remotePort, here, flow.localPort, target);
      return target.found;
    });
  }

  #want(from: Buffer, fromPort: number, to: Buffer, toPort: number, target: Target): void {
    const ports = (fromPort << 16) | toPort;
    const known = this.#wanted.get(ports) ?? [];
    this.#wanted.set(ports, [...known, { addresses: Buffer.concat([from, to]), target }]);
  }

  /** Takes the packets of a block. One that is being filled has no last instant yet. */
  look(block: Buffer, header: BlockHeader, isFilling = false): void {
    if (header.from > this.#to || (!isFilling && header.to < this.#from)) return;
    let at = header.firstAt;
    for (let left = header.packets; left > 0; left -= 1) {
      if (at + interfaceAt + 4 > header.length) return;
      const packetAt = at + block.readUInt16LE(at + 24);
      const end = packetAt + block.readUInt32LE(at + 12);
      if (end > header.length) return;
      this.#lookAt(block, at, packetAt, end);
      const next = block.readUInt32LE(at);
      if (next < packetHeaderBytes) return;
      at += next;
    }
  }

  #lookAt(block: Buffer, at: number, packetAt: number, end: number): void {
    const headerAt = findHeader(block, packetAt, end);
    if (headerAt === -1) return;
    const portsAt = headerAt + headerLength(block, headerAt);
    if (portsAt + 4 > end) return;
    const wanted = this.#wanted.get(block.readInt32BE(portsAt));
    if (wanted === undefined) return;
    const [addressesAt, size] = block.readUInt8(headerAt) >> 4 === 6 ? [8, 32] : [12, 8];
    const addresses = block.subarray(headerAt + addressesAt, headerAt + addressesAt + size);
    const [seconds, nanoseconds] = [block.readUInt32LE(at + 4), block.readUInt32LE(at + 8)];
    const time = seconds * 1_000 + nanoseconds / 1e6;
    for (const { addresses: those, target } of wanted) {
      if (time < target.from || time > target.to || !those.equals(addresses)) continue;
      // Seconds, nanoseconds, and how much was kept of how much.
      const record = Buffer.concat([
        block.subarray(at + 4, at + 20),
        block.subarray(packetAt, end),
      ]);
      target.take(record, time, block.readInt32LE(at + interfaceAt));
    }
  }
}
