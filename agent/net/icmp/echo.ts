/**
 * Sends echo requests on sockets of this process. One socket per family serves all checks; replies are
 * matched by a random token in the payload and the sequence number. Round trips end at the kernel's
 * stamp of the reply, so that a late event loop is in none of them.
 */
import { randomBytes, randomInt } from 'node:crypto';
import type { Clock } from '@monitor/shared/clock.ts';
import { AgentError } from '../../errors.ts';
import { isLateHelper, SystemCallError, type Libc } from '../../native/libc.ts';
import { roundTrip, type Instant } from '../../native/receive-stamp.ts';
import { interfaceIndex, KernelClock, socketAddress } from '../../native/sockets.ts';
import { EchoSocket, type HeardEcho } from './echo-socket.ts';
import { noReply, type EchoReply, type EchoRequest, type IcmpTransport } from './icmp.ts';
import { encodeEcho, payloadBytes, tokenBytes, type Version } from './packet.ts';

/** A host that no neighbour knows is an echo without a reply; this machine causes every other error. */
const lostCodes: ReadonlySet<string> = new Set(['EHOSTUNREACH', 'EHOSTDOWN']);
/** How often a full socket is tried again, and after how long. */
const fullTries = 50;
const fullWaitMs = 20;
/** A series of requests that waits for replies. */
interface Series {
  address: string;
  version: Version;
  sentAt: (Instant | null)[];
  replies: (EchoReply | null)[];
  open: number;
  settle: () => void;
  fail: (error: AgentError) => void;
}

function socketError(
  code: 'ICMP_UNAVAILABLE' | 'NETWORK_UNAVAILABLE',
  what: string,
  error: unknown,
): AgentError {
  if (!(error instanceof SystemCallError)) throw error;
  const message = `${what} (${error.message}); run "monitor-agent doctor"`;
  return new AgentError(code, message, { cause: error });
}

export class SocketTransport implements IcmpTransport {
  readonly way: 'datagram' | 'raw';
  readonly packetSize = payloadBytes;
  readonly #libc: Libc;
  readonly #clock: Clock;
  readonly #wallClock: KernelClock;
  readonly #sockets = new Map<Version, EchoSocket>();
  readonly #series = new Map<string, Series>();
  readonly #identifier = randomInt(1, 65_536);

  /** Throws a SystemCallError when this machine allows no socket for IPv4. */
  constructor(libc: Libc, clock: Clock) {
    this.#libc = libc;
    this.#clock = clock;
    this.#wallClock = new KernelClock(libc);
    try {
      this.way = this.#socket(4).way;
    } catch (error) {
      if (!isLateHelper(error)) throw error;
      // Opened for the first request, when the helper may answer again.
      this.way = 'raw';
    }
  }

  /** The socket of a family, opened when it is first needed, and again after it has failed. */
  #socket(version: Version): EchoSocket {
    const known = this.#sockets.get(version);
    if (known !== undefined) return known;
    const socket = new EchoSocket(this.#libc, version, this.#identifier);
    try {
      socket.watch(() => this.#read(version));
    } catch (error) {
      socket[Symbol.dispose]();
      throw error;
    }
    this.#sockets.set(version, socket);
    return socket;
  }

  #now(): Instant {
    const monotonic = this.#clock.monotonic();
    try {
      return { monotonic, wall: this.#wallClock.now() };
    } catch {
      return { monotonic, wall: null };
    }
  }

  #read(version: Version): void {
    try {
      this.#sockets.get(version)?.read(this.#onHeard);
    } catch (error) {
      this.#drop(version, error);
    }
  }

  /** A socket that fails loses replies: what waits for them says nothing about its target. */
  #drop(version: Version, error: unknown): void {
    const what = `the ICMP socket for IPv${version} failed and is opened again`;
    const failure = socketError('NETWORK_UNAVAILABLE', what, error);
    this.#sockets.get(version)?.[Symbol.dispose]();
    this.#sockets.delete(version);
    for (const series of [...this.#series.values()]) {
      if (series.version === version) series.fail(failure);
    }
  }

  readonly #onHeard = ({ token, sequence, type, code, isReply, ttl, stamp }: HeardEcho): void => {
    const series = this.#series.get(token);
    const sentAt = series?.sentAt[sequence];
    if (series === undefined || sentAt == null) return;
    const rtt = isReply ? roundTrip(sentAt, this.#now(), stamp) : null;
    this.#record(series, { sequence, success: isReply, type, code, rtt, ttl });
  };

  #record(series: Series, reply: EchoReply): void {
    if (series.replies[reply.sequence] !== null) return;
    series.replies[reply.sequence] = reply;
    series.open -= 1;
    if (series.open === 0) series.settle();
  }

  /** Sends one request of a series. False when there is no room for it yet. */
  #send(series: Series, sequence: number, packet: Buffer, to: Buffer): boolean {
    let code: string | null;
    try {
      code = this.#socket(series.version).send(packet, to, {
        onTry: () => (series.sentAt[sequence] = this.#now()),
        onHeard: this.#onHeard,
      });
    } catch (error) {
      this.#drop(series.version, error);
      return true;
    }
    if (code === 'EAGAIN') return false;
    if (code !== null) this.#unsent(series, sequence, code);
    return true;
  }

  #unsent(series: Series, sequence: number, code: string): void {
    if (lostCodes.has(code)) {
      this.#record(series, noReply(sequence));
      return;
    }
    series.fail(
      new AgentError(
        'NETWORK_UNAVAILABLE',
        `this machine could not send echo requests to ${series.address} (${code}); check its routes and firewall, or run "monitor-agent doctor"`,
      ),
    );
  }

  /** Where to send: opens the socket of the family. Throws an AgentError. */
  #destination(version: Version, address: string): Buffer {
    try {
      this.#socket(version);
    } catch (error) {
      const what = `this machine opens no ICMP socket for IPv${version}`;
      throw socketError('ICMP_UNAVAILABLE', what, error);
    }
    const zone = /%(.+)$/.exec(address)?.[1];
    try {
      return socketAddress(address, 0, zone === undefined ? 0 : interfaceIndex(this.#libc, zone));
    } catch (error) {
      throw socketError('NETWORK_UNAVAILABLE', `this machine has no interface ${zone}`, error);
    }
  }

  async echo(request: EchoRequest): Promise<EchoReply[]> {
    const { address, family, count, intervalMs, timeoutMs, signal } = request;
    const version: Version = family === 'IPv6' ? 6 : 4;
    const to = this.#destination(version, address);
    const token = randomBytes(tokenBytes);
    const key = token.toString('latin1');
    return new Promise((resolve, reject) => {
      let cancelNext: () => void = () => undefined;
      /** Requests that the socket has no room for yet, with what ends their next try. */
      const waiting = new Map<number, () => void>();
      const release = (): boolean => {
        if (!this.#series.delete(key)) return false;
        cancelNext();
        for (const cancel of waiting.values()) cancel();
        signal.removeEventListener('abort', series.settle);
        return true;
      };
      const series: Series = {
        address,
        version,
        sentAt: Array.from<null>({ length: count }).fill(null),
        replies: Array.from<null>({ length: count }).fill(null),
        open: count,
        settle: () => {
          if (!release()) return;
          resolve(series.replies.map((reply, sequence) => reply ?? noReply(sequence)));
        },
        fail: (error) => {
          if (release()) reject(error);
        },
      };
      this.#series.set(key, series);
      signal.addEventListener('abort', series.settle, { once: true });
      const tryToSend = (sequence: number, packet: Buffer, triesLeft: number): void => {
        waiting.delete(sequence);
        if (this.#send(series, sequence, packet, to)) return;
        if (triesLeft === 0) {
          this.#unsent(series, sequence, 'EAGAIN');
          return;
        }
        const next = this.#clock.after(fullWaitMs, () => {
          tryToSend(sequence, packet, triesLeft - 1);
        });
        waiting.set(sequence, next);
      };
      const send = (sequence: number): void => {
        const isLast = sequence + 1 === count;
        cancelNext = this.#clock.after(isLast ? timeoutMs : intervalMs, () => {
          if (!isLast) {
            send(sequence + 1);
            return;
          }
          // Replies that came while the event loop was late are still to be read.
          this.#read(version);
          for (const [unsent] of waiting) this.#unsent(series, unsent, 'EAGAIN');
          series.settle();
        });
        tryToSend(sequence, encodeEcho(version, this.#identifier, sequence, token), fullTries);
      };
      send(0);
    });
  }

  close(): void {
    for (const series of [...this.#series.values()]) series.settle();
    for (const socket of this.#sockets.values()) socket[Symbol.dispose]();
    this.#sockets.clear();
  }
}
