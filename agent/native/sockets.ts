/**
 * Sockets of kinds and with options that Node does not offer: ICMP, packets of raw IP, netlink, error
 * queues, stamps of the kernel. They do not block. Numbers are those of Linux on x64 and arm64.
 */
import { isIPv4 } from 'node:net';
import { constants } from 'node:os';
import { checked, nativeMemory, SystemCallError, type Libc } from './libc.ts';
import { pollerOf, type Readiness } from './poller.ts';

export const AF_INET = 2;
export const AF_INET6 = 10;
export const AF_NETLINK = 16;
export const AF_PACKET = 17;
export const SOCK_STREAM = 1;
export const SOCK_DGRAM = 2;
export const SOCK_RAW = 3;
export const SOCK_SEQPACKET = 5;
const SOCK_NONBLOCK = 0x800;
export const SOCK_CLOEXEC = 0x80000;
export const SOL_SOCKET = 1;
export const MSG_DONTWAIT = 0x40;
const MSG_ERRQUEUE = 0x2000;
const SIOCGIFNAME = 0x8910;
const SIOCGIFINDEX = 0x8933;

const wouldBlock = -constants.errno.EAGAIN;

/** Bytes of an address: 4 or 16. Takes what `isIP` takes; an interface after `%` is left out. */
export function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const bytes = Buffer.alloc(16);
  const plain = address
    .replace(/%.*$/, '')
    // The last 32 bits may be written like an address of IPv4.
    .replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_all, ...parts: string[]) => {
      const [a = 0, b = 0, c = 0, d = 0] = parts.slice(0, 4).map(Number);
      return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
    });
  const [head = '', tail] = plain.split('::');
  const groups = (text: string | undefined): number[] =>
    text === undefined || text === ''
      ? []
      : text.split(':').map((part) => Number.parseInt(part, 16));
  const [left, right] = [groups(head), groups(tail)];
  left.forEach((group, index) => bytes.writeUInt16BE(group, index * 2));
  right.forEach((group, index) => bytes.writeUInt16BE(group, 16 - (right.length - index) * 2));
  return bytes;
}

/** The text of 4 or 16 bytes, IPv6 in its shortest form. */
export function addressText(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_group, index) => bytes.readUInt16BE(index * 2));
  return new URL(`http://[${groups.map((group) => group.toString(16)).join(':')}]`).hostname.slice(
    1,
    -1,
  );
}

/** A socket address of IPv4 or IPv6, as the kernel reads it. `scope` is the index of an interface. */
export function socketAddress(address: string, port = 0, scope = 0): Buffer {
  const bytes = addressBytes(address);
  const isFour = bytes.length === 4;
  const encoded = Buffer.alloc(isFour ? 16 : 28);
  encoded.writeUInt16LE(isFour ? AF_INET : AF_INET6, 0);
  encoded.writeUInt16BE(port, 2);
  bytes.copy(encoded, isFour ? 4 : 8);
  if (!isFour) encoded.writeUInt32LE(scope, 24);
  return encoded;
}

/** The bytes of the address and the port in a socket address; null for another family. */
export function readSocketAddress(encoded: Buffer): { bytes: Buffer; port: number } | null {
  if (encoded.length < 8) return null;
  const family = encoded.readUInt16LE(0);
  const port = encoded.readUInt16BE(2);
  if (family === AF_INET) return { bytes: encoded.subarray(4, 8), port };
  if (family === AF_INET6 && encoded.length >= 24) return { bytes: encoded.subarray(8, 24), port };
  return null;
}

/** One part of the control data of a message. */
export interface ControlMessage {
  readonly level: number;
  readonly type: number;
  readonly data: Buffer;
}

/** What was received. All buffers are used again by the next call: copy what is to stay. */
export interface ReceivedMessage {
  readonly bytes: Buffer;
  /** The address of the sender. */
  readonly from: Buffer;
  readonly control: readonly ControlMessage[];
}

/** The parts of control data; what is cut off is left out. */
export function controlMessages(control: Buffer): ControlMessage[] {
  const found: ControlMessage[] = [];
  for (let at = 0; at + 16 <= control.length;) {
    const size = Number(control.readBigUInt64LE(at));
    if (size < 16 || at + size > control.length) break;
    found.push({
      level: control.readInt32LE(at + 8),
      type: control.readInt32LE(at + 12),
      data: control.subarray(at + 16, at + size),
    });
    at += (size + 7) & ~7;
  }
  return found;
}

const nameBytes = 128;
const controlBytes = 512;

/** The structure `msghdr` with all that it points to. */
class MessageBuffers {
  readonly #name = nativeMemory(nameBytes);
  readonly #data: Buffer;
  readonly #control = nativeMemory(controlBytes);
  readonly #vector = nativeMemory(16);
  readonly #header = nativeMemory(56);
  readonly #libc: Libc;

  constructor(libc: Libc, dataBytes: number) {
    this.#libc = libc;
    this.#data = nativeMemory(dataBytes);
    this.#vector.writeBigUInt64LE(libc.addressOf(this.#data), 0);
    this.#vector.writeBigUInt64LE(BigInt(dataBytes), 8);
    this.#header.writeBigUInt64LE(libc.addressOf(this.#name), 0);
    this.#header.writeBigUInt64LE(libc.addressOf(this.#vector), 16);
    this.#header.writeBigUInt64LE(1n, 24);
    this.#header.writeBigUInt64LE(libc.addressOf(this.#control), 32);
  }

  /** The next message, or a negated error number. */
  receive(descriptor: number, flags: number): ReceivedMessage | number {
    this.#header.writeUInt32LE(nameBytes, 8);
    this.#header.writeBigUInt64LE(BigInt(controlBytes), 40);
    const got = this.#libc.recvmsg(descriptor, this.#header, flags);
    if (got < 0) return got;
    const control = Math.min(Number(this.#header.readBigUInt64LE(40)), controlBytes);
    return {
      bytes: this.#data.subarray(0, Math.min(got, this.#data.length)),
      from: this.#name.subarray(0, Math.min(this.#header.readUInt32LE(8), nameBytes)),
      control: controlMessages(this.#control.subarray(0, control)),
    };
  }
}

/** More than any packet of a probe; answers of netlink come in parts of at most this. */
const largestMessage = 65_536;
/** One set for all sockets of a thread: a message is used before the next one is received. */
const buffersOf = new WeakMap<Libc, MessageBuffers>();

/** The next message of a descriptor, or a negated error number. */
export function receiveMessage(
  libc: Libc,
  descriptor: number,
  flags: number,
): ReceivedMessage | number {
  let buffers = buffersOf.get(libc);
  if (buffers === undefined) {
    buffers = new MessageBuffers(libc, largestMessage);
    buffersOf.set(libc, buffers);
  }
  return buffers.receive(descriptor, flags);
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

/** A socket that does not block. Methods throw a SystemCallError unless they say otherwise. */
export class NativeSocket implements Disposable {
  readonly #libc: Libc;
  readonly #descriptor: number;
  readonly #watches: Disposable[] = [];
  #isClosed = false;

  constructor(libc: Libc, domain: number, type: number, protocol = 0) {
    this.#libc = libc;
    this.#descriptor = checked(
      'socket',
      libc.socket(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol),
    );
  }

  get descriptor(): number {
    return this.#descriptor;
  }

  setOption(level: number, name: number, value: number | Buffer): void {
    const bytes = typeof value === 'number' ? number(value) : value;
    checked(
      'setsockopt',
      this.#libc.setsockopt(this.#descriptor, level, name, bytes, bytes.length),
    );
  }

  /** The value, at most so long; null when it cannot be read. */
  getOption(level: number, name: number, length: number): Buffer | null {
    const [value, size] = [Buffer.alloc(length), number(length)];
    const result = this.#libc.getsockopt(this.#descriptor, level, name, value, size);
    return result < 0 ? null : value.subarray(0, Math.min(length, size.readUInt32LE(0)));
  }

  bind(address: Buffer): void {
    checked('bind', this.#libc.bind(this.#descriptor, address, address.length));
  }

  /** Zero, or a negated error number: EINPROGRESS is no failure. */
  connect(address: Buffer): number {
    return this.#libc.connect(this.#descriptor, address, address.length);
  }

  /** The own address; null when it cannot be read. */
  get localAddress(): Buffer | null {
    return this.#address('getsockname');
  }

  /** The address of the peer; null while it is not connected. */
  get peerAddress(): Buffer | null {
    return this.#address('getpeername');
  }

  #address(call: 'getsockname' | 'getpeername'): Buffer | null {
    const [address, size] = [Buffer.alloc(nameBytes), number(nameBytes)];
    if (this.#libc[call](this.#descriptor, address, size) < 0) return null;
    return address.subarray(0, Math.min(nameBytes, size.readUInt32LE(0)));
  }

  /** How many bytes were sent, or a negated error number. */
  send(bytes: Buffer, to: Buffer | null = null): number {
    return this.#libc.sendto(
      this.#descriptor,
      bytes,
      bytes.length,
      MSG_DONTWAIT,
      to,
      to?.length ?? 0,
    );
  }

  /** The next message; null when there is none. An error that waited is a negated error number. */
  receive(): ReceivedMessage | number | null {
    return this.#receive(MSG_DONTWAIT);
  }

  /** The next entry of the error queue; null when there is none. */
  receiveError(): ReceivedMessage | number | null {
    return this.#receive(MSG_DONTWAIT | MSG_ERRQUEUE);
  }

  #receive(flags: number): ReceivedMessage | number | null {
    const received = receiveMessage(this.#libc, this.#descriptor, flags);
    return received === wouldBlock ? null : received;
  }

  /**
   * Calls back while the socket is ready or has an error, until it is closed. What is ready must be
   * read, or it is called again at once.
   */
  watch(wanted: Readiness, onReady: () => void): void {
    this.#watches.push(pollerOf(this.#libc).watch(this.#descriptor, wanted, onReady));
  }

  ioctl(call: string, request: number, argument: Buffer): void {
    checked(call, this.#libc.ioctl(this.#descriptor, request, argument));
  }

  [Symbol.dispose](): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const watch of this.#watches) watch[Symbol.dispose]();
    this.#libc.close(this.#descriptor);
  }
}

/** The index of an interface, given by name or number. Throws a SystemCallError when there is none. */
export function interfaceIndex(libc: Libc, name: string): number {
  if (/^\d+$/.test(name)) return Number(name);
  using socket = new NativeSocket(libc, AF_INET, SOCK_DGRAM);
  const request = nativeMemory(40);
  // With its closing zero it has room for 16 bytes.
  request.write(name, 0, 15, 'latin1');
  socket.ioctl('interface', SIOCGIFINDEX, request);
  return request.readInt32LE(16);
}

/** The name of an interface; its number where it has none. */
export function interfaceName(libc: Libc, index: number): string {
  const request = nativeMemory(40);
  request.writeInt32LE(index, 16);
  try {
    using socket = new NativeSocket(libc, AF_INET, SOCK_DGRAM);
    socket.ioctl('interface', SIOCGIFNAME, request);
  } catch (error) {
    if (error instanceof SystemCallError) return String(index);
    throw error;
  }
  return request.toString('latin1', 0, request.indexOf(0));
}

const CLOCK_REALTIME = 0;

/** Reads the clock that the kernel stamps packets with. */
export class KernelClock {
  readonly #libc: Libc;
  readonly #time = nativeMemory(16);

  constructor(libc: Libc) {
    this.#libc = libc;
  }

  /** Milliseconds of the epoch, with fractions. */
  now(): number {
    checked('clock_gettime', this.#libc.clock_gettime(CLOCK_REALTIME, this.#time));
    return readTimespec(this.#time);
  }
}

/** Milliseconds of a structure `timespec`. */
export function readTimespec(bytes: Buffer): number {
  return Number(bytes.readBigInt64LE(0)) * 1_000 + Number(bytes.readBigInt64LE(8)) / 1e6;
}
