/**
 * A ring of blocks in memory shared with the kernel, which fills them with the headers of packets
 * (AF_PACKET with TPACKET_V3). Nothing is done here per packet.
 *
 * After it is closed it has no blocks, and views of its blocks are empty: `unmap` sees to that. What
 * stands in a block is what strangers sent: offsets and lengths in it count only within the block.
 */
import { errorName, SystemCallError, type Libc, type Mapping } from './libc.ts';
import { packetFilter } from './packet-filter.ts';
import { attachFilter } from './socket-filter.ts';
import { pollerOf } from './poller.ts';
import { AF_PACKET, NativeSocket, SOCK_DGRAM, SOL_SOCKET } from './sockets.ts';

const SO_ERROR = 4;
const SO_LOCK_FILTER = 44;
const SOL_PACKET = 263;
const PACKET_RX_RING = 5;
const PACKET_VERSION = 10;
const TPACKET_V3 = 2;
const TP_STATUS_USER = 1;
const TP_STATUS_LOSING = 4;
const ETH_P_ALL = 3;

/** A multiple of the pages of every machine. */
const minBlockBytes = 65_536;
export const maxBlockBytes = 4 * minBlockBytes;
const usualBlocks = 32;
/** The kernel asks for it, and does not use it in blocks. */
const frameBytes = 2_048;
/** A block is closed when it is full, or so long after its first packet. */
const closeAfterMs = 4_000;
const statusAt = 8;

/** How a block describes itself. Instants are milliseconds of the epoch. */
export interface BlockHeader {
  readonly packets: number;
  readonly firstAt: number;
  /** How far it is filled; within the block. */
  readonly length: number;
  readonly from: number;
  /** Of closed blocks only. */
  readonly to: number;
}

const headerBytes = 48;

/** The header of a block; null when it has no packets, or lies about them. */
export function readBlock(block: Buffer): BlockHeader | null {
  if (block.length < headerBytes) return null;
  const packets = block.readUInt32LE(12);
  const firstAt = block.readUInt32LE(16);
  const length = Math.min(block.readUInt32LE(20), block.length);
  if (packets === 0 || firstAt < headerBytes || firstAt >= length) return null;
  const instant = (at: number): number =>
    block.readUInt32LE(at) * 1_000 + block.readUInt32LE(at + 4) / 1e6;
  return { packets, firstAt, length, from: instant(32), to: instant(40) };
}

export class PacketRing implements Disposable {
  readonly bytes: number;
  readonly blocks: number;
  readonly #libc: Libc;
  readonly #socket: NativeSocket;
  readonly #mapping: Mapping;
  readonly #words: Int32Array;
  readonly #blockBytes: number;
  readonly #resources: DisposableStack;
  #watch: Disposable | null = null;
  /** The block that the kernel fills, or has filled and not yet been given back. */
  #head = 0;

  /** Throws a SystemCallError: EPERM without CAP_NET_RAW. */
  constructor(libc: Libc, bytes: number) {
    this.#libc = libc;
    const share = Math.floor(bytes / usualBlocks / minBlockBytes) * minBlockBytes;
    this.#blockBytes = Math.min(Math.max(share, minBlockBytes), maxBlockBytes);
    this.blocks = Math.max(2, Math.floor(bytes / this.#blockBytes));
    this.bytes = this.blocks * this.#blockBytes;

    using resources = new DisposableStack();
    this.#socket = resources.use(new NativeSocket(libc, AF_PACKET, SOCK_DGRAM));
    attachFilter(libc, this.#socket, packetFilter());
    this.#socket.setOption(SOL_SOCKET, SO_LOCK_FILTER, 1);
    this.#socket.setOption(SOL_PACKET, PACKET_VERSION, TPACKET_V3);
    const frames = this.bytes / frameBytes;
    const shape = [this.#blockBytes, this.blocks, frameBytes, frames, closeAfterMs, 0, 0];
    this.#socket.setOption(SOL_PACKET, PACKET_RX_RING, Buffer.from(Uint32Array.from(shape).buffer));
    const mapping = libc.mmap(this.bytes, this.#socket.descriptor);
    if (typeof mapping === 'number') throw new SystemCallError('mmap', mapping);
    resources.defer(() => {
      mapping.unmap();
    });
    this.#mapping = mapping;
    const { buffer, byteOffset, length } = mapping.bytes;
    this.#words = new Int32Array(buffer, byteOffset, Math.floor(length / 4));
    // Only now, so that no packet comes in unfiltered.
    const everywhere = Buffer.alloc(20);
    everywhere.writeUInt16LE(AF_PACKET, 0);
    everywhere.writeUInt16BE(ETH_P_ALL, 2);
    this.#socket.bind(everywhere);
    resources.defer(() => {
      this.unwatch();
    });
    this.#resources = resources.move();
  }

  /** Calls back while a block is closed, or the socket has an error. Throws a SystemCallError. */
  watch(onReady: () => void): void {
    if (this.#watch !== null || this.#resources.disposed) return;
    const poller = pollerOf(this.#libc);
    this.#watch = poller.watch(this.#socket.descriptor, { readable: true }, onReady);
  }

  unwatch(): void {
    this.#watch?.[Symbol.dispose]();
    this.#watch = null;
  }

  #block(): Buffer {
    const at = this.#head * this.#blockBytes;
    return this.#mapping.bytes.subarray(at, at + this.#blockBytes);
  }

  /**
   * Hands over the closed blocks, oldest first, and gives them back to the kernel: copy what is to
   * stay. True when the kernel had no room for packets at some time.
   */
  takeBlocks(take: (block: Buffer) => void): boolean {
    let hasLost = false;
    for (let taken = 0; taken < this.blocks && !this.#resources.disposed; taken += 1) {
      const word = (this.#head * this.#blockBytes + statusAt) / 4;
      const status = Atomics.load(this.#words, word);
      if ((status & TP_STATUS_USER) === 0) break;
      hasLost ||= (status & TP_STATUS_LOSING) !== 0;
      take(this.#block());
      if (this.#resources.disposed) break;
      // The kernel opens it only when the next packet comes: until then it has none.
      Atomics.store(this.#words, word + 1, 0);
      Atomics.store(this.#words, word, 0);
      this.#head = (this.#head + 1) % this.blocks;
    }
    return hasLost;
  }

  /** The block that the kernel is writing to; null when the ring is closed. */
  get filling(): Buffer | null {
    return this.#resources.disposed ? null : this.#block();
  }

  /** Why the socket is broken; null when it is not. */
  get problem(): string | null {
    if (this.#resources.disposed) return 'the ring is closed';
    const error = this.#socket.getOption(SOL_SOCKET, SO_ERROR, 4);
    if (error === null || error.length < 4) return 'its descriptor is closed';
    const number = error.readInt32LE(0);
    return number === 0 ? null : errorName(number);
  }

  [Symbol.dispose](): void {
    this.#resources.dispose();
  }
}
