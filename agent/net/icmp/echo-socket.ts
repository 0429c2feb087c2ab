/** A socket for echo requests of one family, shared by all checks. */
import {
  hopLimitOf,
  icmpErrorOf,
  ipOptions,
  SO_TIMESTAMPNS,
  stampOf,
} from '../../native/error-queue.ts';
import { errorName, ifPossible, SystemCallError, type Libc } from '../../native/libc.ts';
import { assembleFilter, attachFilter } from '../../native/socket-filter.ts';
import { SOL_SOCKET, type NativeSocket, type ReceivedMessage } from '../../native/sockets.ts';
import { openIcmpSocket } from './icmp-socket.ts';
import {
  decodeEcho,
  echoReply,
  errorTypes,
  identifyRequest,
  withoutIpHeader,
  type ReceivedEcho,
  type Version,
} from './packet.ts';

const SO_SNDBUF = 7;
const SO_RCVBUF = 8;
/** Room for requests to hosts that the kernel still looks for, and for replies while this process waits. */
const bufferBytes = 1_048_576;
/** More than fits into the buffer of a socket. */
const readAtOnce = 4_096;
const sendTries = 4;

/** Errors that wait on a datagram socket because a router or the target sent an ICMP message. */
const saidByNetwork: ReadonlySet<string> = new Set([
  ...['ENETUNREACH', 'EHOSTUNREACH', 'ENOPROTOOPT', 'ECONNREFUSED', 'EMSGSIZE', 'EOPNOTSUPP'],
  ...['EHOSTDOWN', 'ENONET', 'EPROTO', 'EACCES', 'ENETDOWN'],
]);

export interface HeardEcho extends ReceivedEcho {
  /** Hop limit of the reply; null when it is unknown. */
  ttl: number | null;
  /** When the kernel received it, in milliseconds of the epoch; null when it did not say. */
  stamp: number | null;
}

/**
 * Accepts replies with an identifier, and errors about requests with it. A raw socket hears all ICMP of
 * the machine. The kernel shows filters the IP header for IPv4, and not for IPv6.
 */
export function echoFilter(version: Version, identifier: number): Buffer {
  const [first, second] = errorTypes[version];
  const isFour = version === 4;
  return assembleFilter([
    ...(isFour
      ? [['', 'headerToX', 0] as const, ['', 'byteAtX', 0] as const]
      : [['', 'byte', 0] as const]),
    ['', 'equal', echoReply[version], 'reply', ''],
    ['', 'equal', first, 'error', ''],
    ['', 'equal', second, 'error', 'no'],
    ['reply', isFour ? 'halfAtX' : 'half', 4],
    ['', 'equal', identifier, 'yes', 'no'],
    // Behind the header of the error is the IP header of the request, and then the request.
    ...(isFour
      ? ([
          ['error', 'byteAtX', 8],
          ['', 'and', 0x0f],
          ['', 'left', 2],
          ['', 'addX', 0],
          ['', 'toX', 0],
          ['', 'halfAtX', 12],
        ] as const)
      : [['error', 'half', 52] as const]),
    ['', 'equal', identifier, 'yes', 'no'],
    ['yes', 'keep', 0xffff],
    ['no', 'keep', 0],
  ]);
}

export class EchoSocket implements Disposable {
  readonly version: Version;
  readonly way: 'datagram' | 'raw';
  readonly #socket: NativeSocket;

  /** Throws a SystemCallError. */
  constructor(libc: Libc, version: Version, identifier: number) {
    this.version = version;
    const { level, receiveErrors, receiveHops } = ipOptions[version];
    const { socket, way } = openIcmpSocket(libc, version);
    this.#socket = socket;
    this.way = way;
    for (const [at, name, value] of [
      [SOL_SOCKET, SO_TIMESTAMPNS, 1],
      [SOL_SOCKET, SO_SNDBUF, bufferBytes],
      [SOL_SOCKET, SO_RCVBUF, bufferBytes],
      [level, receiveHops, 1],
      ...(way === 'datagram' ? [[level, receiveErrors, 1] as const] : []),
    ] as const) {
      ifPossible(() => this.#socket.setOption(at, name, value));
    }
    if (way === 'datagram') return;
    ifPossible(() => attachFilter(libc, this.#socket, echoFilter(version, identifier)));
  }

  /** Calls back when there is something to read. Throws a SystemCallError. */
  watch(onReadable: () => void): void {
    this.#socket.watch({ readable: true }, onReadable);
  }

  /**
   * Sends a request; null, or the name of the error. `onTry` is called immediately before each try, and
   * `onHeard` with what had to be read first. Throws a SystemCallError when the socket itself fails.
   */
  send(
    packet: Buffer,
    to: Buffer,
    { onTry, onHeard }: { onTry: () => void; onHeard: (echo: HeardEcho) => void },
  ): string | null {
    for (let tries = 1; ; tries += 1) {
      onTry();
      const sent = this.#socket.send(packet, to);
      if (sent === packet.length) return null;
      const code = sent < 0 ? errorName(sent) : 'EIO';
      if (code === 'EBADF' || code === 'ENOTSOCK') throw new SystemCallError('sendto', sent);
      if (this.way === 'raw' || tries === sendTries || !saidByNetwork.has(code)) return code;
      // The error may be about an earlier request, to another target. It waits no more.
      this.read(onHeard);
    }
  }

  /** Reads what waits. Throws a SystemCallError when the socket itself fails. */
  read(onHeard: (echo: HeardEcho) => void): void {
    for (let count = 0; count < readAtOnce; count += 1) {
      const received = this.#socket.receive();
      if (received === null) {
        // It was woken for an error that waits in the queue alone.
        if (count === 0) this.#readErrors(onHeard);
        return;
      }
      if (typeof received === 'number') {
        this.#assertSaidByNetwork(received);
        this.#readErrors(onHeard);
        continue;
      }
      const heard = this.#decode(received);
      if (heard !== undefined) onHeard(heard);
    }
  }

  #decode({ bytes, control }: ReceivedMessage): HeardEcho | undefined {
    const hasHeader = this.way === 'raw' && this.version === 4;
    const echo = decodeEcho(this.version, hasHeader ? withoutIpHeader(bytes) : bytes);
    if (echo === undefined) return undefined;
    return { ...echo, ttl: echo.isReply ? hopLimitOf(control) : null, stamp: stampOf(control) };
  }

  #readErrors(onHeard: (echo: HeardEcho) => void): void {
    if (this.way === 'raw') return;
    for (let count = 0; count < readAtOnce; count += 1) {
      const entry = this.#socket.receiveError();
      if (entry === null) return;
      if (typeof entry === 'number') {
        this.#assertSaidByNetwork(entry);
        continue;
      }
      const said = icmpErrorOf(entry.control);
      const request = identifyRequest(entry.bytes);
      if (said === null || request === undefined) continue;
      const { type, code } = said;
      if (!errorTypes[this.version].includes(type)) continue;
      onHeard({ ...request, type, code, isReply: false, ttl: null, stamp: null });
    }
  }

  #assertSaidByNetwork(error: number): void {
    const isExpected = this.way === 'datagram' && saidByNetwork.has(errorName(error));
    if (!isExpected) throw new SystemCallError('recvmsg', error);
  }

  [Symbol.dispose](): void {
    this.#socket[Symbol.dispose]();
  }
}
