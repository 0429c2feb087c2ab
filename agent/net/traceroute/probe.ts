/** One probe: a packet that may travel only so many hops, and a socket that learns what became of it. */
import { randomInt } from 'node:crypto';
import { constants } from 'node:os';
import type { Clock } from '@monitor/shared/clock.ts';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import type { TracerouteReport } from '@monitor/shared/contract/check-result.ts';
import {
  icmpErrorOf,
  ipOptions,
  SO_TIMESTAMPNS,
  stampOf,
  type IcmpError,
} from '../../native/error-queue.ts';
import { openIcmpSocket } from '../icmp/icmp-socket.ts';
import {
  echoReply,
  encodeEcho,
  tokenBytes,
  withoutIpHeader,
  type Version,
} from '../icmp/packet.ts';
import { checked, SystemCallError, type Libc } from '../../native/libc.ts';
import {
  addressBytes,
  addressText,
  interfaceName,
  type KernelClock,
  NativeSocket,
  readSocketAddress,
  SOCK_DGRAM,
  SOCK_STREAM,
  SOL_SOCKET,
  socketAddress,
  type ControlMessage,
} from '../../native/sockets.ts';

const SOL_TCP = 6;
const SO_ERROR = 4;
const TCP_SYNCNT = 7;
const TCP_INFO = 11;
/** Of the structure `tcp_info`: the state, and the round trip in microseconds. */
const stateAt = 0;
const roundTripAt = 68;
const TCP_SYN_SENT = 2;

const echoRequest = { IPv4: 8, IPv6: 128 } as const;
const payload = Buffer.from('@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_');

const { ECONNREFUSED, ECONNRESET, EINPROGRESS } = constants.errno;
const isRefusal = (error: number): boolean => error === -ECONNREFUSED || error === -ECONNRESET;

/** How many entries of an error queue are read at once: somebody may fill it with nonsense. */
const maxEntries = 16;
/** A probe that is woken more often without an answer is given up. */
const maxWakes = 64;

export interface ProbeTarget {
  readonly address: string;
  readonly family: IpFamily;
  readonly port: number;
  /** The index of the interface of a link-local address. */
  readonly scope: number;
}

/** An ICMP message, or what the target itself did. `ms` is the round trip. */
export type ProbeAnswer =
  | { readonly by: 'target'; readonly ms: number; readonly isRefused: boolean }
  | {
      readonly by: 'icmp';
      readonly ms: number;
      readonly from: string;
      readonly type: number;
      readonly code: number;
    };

/** What is sent where, and how it is found out what became of it. */
export interface ProbeTools {
  readonly libc: Libc;
  readonly kernelClock: KernelClock;
  readonly clock: Clock;
}

export class Probe implements Disposable {
  readonly hop: number;
  readonly #method: TracerouteReport['method'];
  readonly #target: ProbeTarget;
  readonly #tools: ProbeTools;
  readonly #socket: NativeSocket;
  /** Of echo requests by a raw socket, which hears of all of them; null where the kernel tells them apart. */
  readonly #identifier: number | null;
  #sentAt = 0;
  #error = 0;
  #wakes = 0;

  /** Opens its socket. Throws a SystemCallError. */
  constructor(
    method: TracerouteReport['method'],
    hop: number,
    target: ProbeTarget,
    tools: ProbeTools,
  ) {
    this.hop = hop;
    this.#method = method;
    this.#target = target;
    this.#tools = tools;
    const { level, domain, receiveErrors, hops } = ipOptions[this.#version];
    const type = method === 'tcp' ? SOCK_STREAM : SOCK_DGRAM;
    const { socket, way } =
      method === 'icmp'
        ? openIcmpSocket(tools.libc, this.#version)
        : { socket: new NativeSocket(tools.libc, domain, type), way: null };
    this.#socket = socket;
    this.#identifier = way === 'raw' ? randomInt(1, 65_536) : null;
    try {
      this.#socket.setOption(level, receiveErrors, 1);
      this.#socket.setOption(level, hops, hop);
      // Without these, times are a little long and a port that drops is asked a little more often.
      this.#prefer(SOL_SOCKET, SO_TIMESTAMPNS, 1);
      if (method === 'tcp') this.#prefer(SOL_TCP, TCP_SYNCNT, 2);
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  #prefer(level: number, name: number, value: number): void {
    const bytes = Buffer.from([value, 0, 0, 0]);
    this.#tools.libc.setsockopt(this.#socket.descriptor, level, name, bytes, bytes.length);
  }

  get sentAt(): number {
    return this.#sentAt;
  }

  /** The address that it was sent from; empty where it cannot be read. */
  get localAddress(): string {
    const own = this.#socket.localAddress;
    const read = own === null ? null : readSocketAddress(own);
    return read === null ? '' : addressText(read.bytes);
  }

  /** True when an answer is there already. Throws a SystemCallError when this machine lets nothing out. */
  send(): boolean {
    const { address, port, scope } = this.#target;
    // Made before, so that the time for it is in no round trip.
    const to = socketAddress(address, port, scope);
    const datagram = this.#method === 'tcp' ? null : this.#datagram();
    let call = 'connect';
    this.#sentAt = this.#tools.clock.monotonic();
    let result = this.#socket.connect(to);
    if (result === 0 && datagram !== null) {
      call = 'send';
      this.#sentAt = this.#tools.clock.monotonic();
      result = this.#socket.send(datagram);
    }
    if (result !== -EINPROGRESS && !isRefusal(result)) checked(call, result);
    this.#error = isRefusal(result) ? result : 0;
    return isRefusal(result);
  }

  /** Calls back when something may have become of it. */
  watch(onReady: () => void): void {
    this.#socket.watch({ readable: true, writable: this.#method === 'tcp' }, onReady);
  }

  /** The kernel writes the identifier and the checksum of an echo request. */
  #datagram(): Buffer {
    if (this.#method !== 'icmp') return payload;
    if (this.#identifier !== null) {
      return encodeEcho(this.#version, this.#identifier, this.hop, payload.subarray(0, tokenBytes));
    }
    const header = Buffer.alloc(8);
    header.writeUInt8(echoRequest[this.#target.family], 0);
    header.writeUInt16BE(this.hop, 6);
    return Buffer.concat([header, payload]);
  }

  /**
   * What became of it: its answer, `lost` when there will be none, null when it may still come. Throws a
   * SystemCallError when the error queue cannot be read.
   */
  outcome(): ProbeAnswer | 'lost' | null {
    const error = this.#error;
    this.#error = 0;
    this.#wakes += 1;
    const refused = this.#icmpError();
    if (refused !== null) return refused;
    if (this.#wakes > maxWakes) return 'lost';
    if (this.#method !== 'tcp') return this.#ofDatagram();
    const found = this.#ofTcp(error);
    // What a router said may have come since its queue was read; the kernel writes it before the error.
    return found === 'lost' ? (this.#icmpError() ?? found) : found;
  }

  #icmpError(): ProbeAnswer | null {
    for (let entry = 0; entry < maxEntries; entry += 1) {
      const received = this.#socket.receiveError();
      if (received === null) return null;
      if (typeof received === 'number') throw new SystemCallError('recvmsg', received);
      const found = icmpErrorOf(received.control);
      if (found === null || !this.#isOwn(received.bytes)) continue;
      const ms = this.#elapsedMs(received.control);
      return { by: 'icmp', ms, from: this.#authorOf(found), type: found.type, code: found.code };
    }
    return null;
  }

  get #version(): Version {
    return this.#target.family === 'IPv6' ? 6 : 4;
  }

  /** `packet` begins with an ICMP header. */
  #isOwn(packet: Buffer): boolean {
    if (this.#identifier === null) return true;
    return packet.length >= 8 && packet.readUInt16BE(4) === this.#identifier;
  }

  #isReply(received: Buffer): boolean {
    if (this.#identifier === null) return true;
    const packet = this.#version === 4 ? withoutIpHeader(received) : received;
    return packet[0] === echoReply[this.#version] && this.#isOwn(packet);
  }

  /** Since it was sent, without the time that a received packet waited in its queue. */
  #elapsedMs(control: readonly ControlMessage[] = []): number {
    const stamp = stampOf(control);
    // First, so that a wait in between makes the time longer, not shorter.
    const waitedMs = stamp === null ? 0 : this.#tools.kernelClock.now() - stamp;
    const elapsedMs = this.#tools.clock.monotonic() - this.#sentAt;
    // The wall clock may be set in between.
    return waitedMs > 0 && waitedMs < elapsedMs ? elapsedMs - waitedMs : elapsedMs;
  }

  #authorOf({ from, scope }: IcmpError): string {
    const { address } = this.#target;
    if (from.equals(addressBytes(address))) return address;
    const isLinkLocal = from[0] === 0xfe && ((from[1] ?? 0) & 0xc0) === 0x80;
    const text = addressText(from);
    return isLinkLocal && scope > 0 ? `${text}%${interfaceName(this.#tools.libc, scope)}` : text;
  }

  #ofDatagram(): ProbeAnswer | null {
    const received = this.#socket.receive();
    // An error without an ICMP message does not say where it comes from.
    if (received === null || typeof received === 'number') return null;
    if (!this.#isReply(received.bytes)) return null;
    return { by: 'target', ms: this.#elapsedMs(received.control), isRefused: false };
  }

  #ofTcp(given: number): ProbeAnswer | 'lost' | null {
    const elapsedMs = this.#elapsedMs();
    const waiting = this.#socket.getOption(SOL_SOCKET, SO_ERROR, 4);
    const error = given === 0 && waiting?.length === 4 ? -waiting.readInt32LE(0) : given;
    if (isRefusal(error)) return { by: 'target', ms: elapsedMs, isRefused: true };
    if (error !== 0) return 'lost';
    const facts = this.#socket.getOption(SOL_TCP, TCP_INFO, 104) ?? Buffer.alloc(0);
    if (this.#socket.peerAddress !== null) {
      // The kernel knows best how long a connection took.
      const knownMs = facts.length >= roundTripAt + 4 ? facts.readUInt32LE(roundTripAt) / 1_000 : 0;
      const ms = knownMs > 0 && knownMs < elapsedMs ? knownMs : elapsedMs;
      return { by: 'target', ms, isRefused: false };
    }
    // What was read was not about the probe, which may go on, unless its socket is done for.
    return facts.length > 0 && facts.readUInt8(stateAt) === TCP_SYN_SENT ? null : 'lost';
  }

  [Symbol.dispose](): void {
    this.#socket[Symbol.dispose]();
  }
}
