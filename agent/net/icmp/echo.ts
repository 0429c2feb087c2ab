/**
 * Sends echo requests on inherited sockets. One socket per family serves all checks; replies are
 * matched by a random token in the payload and the sequence number.
 */
import { randomBytes, randomInt } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import type { Clock } from '@monitor/shared/clock.ts';
import { AgentError } from '../../errors.ts';
import { codeOf, isAgentErrorCode } from '../failure.ts';
import { noReply, type EchoReply, type EchoRequest, type IcmpTransport } from './icmp.ts';
import {
  addressBytes,
  decodeEcho,
  encodeEcho,
  identifyRequest,
  payloadBytes,
  tokenBytes,
  type ReceivedEcho,
  type Version,
} from './packet.ts';

/** Sends packets of one family; `send` reports a local failure. */
interface Carrier {
  send(packet: Buffer, address: string, done: (error: Error | null) => void): void;
}

interface Handlers {
  onReceived: (version: Version, packet: Buffer, ttl: number | null) => void;
  /** A request did not leave this machine; `code` is the name of the error. */
  onUnsent: (request: Buffer, code: string) => void;
}

const hopLimitUnknown = 255;
const unsentFrame = 0;

function onDescriptor(type: 'udp4' | 'udp6', fd: number): Socket {
  const socket = createSocket(type);
  socket.bind({ fd });
  return socket;
}

/** A datagram ICMP socket: the kernel rewrites the identifier and delivers only replies to this socket. */
function datagramCarrier(
  version: Version,
  fd: number,
  { onReceived }: Handlers,
): Carrier & { socket: Socket } {
  const socket = onDescriptor(version === 4 ? 'udp4' : 'udp6', fd);
  socket.on('message', (packet) => {
    onReceived(version, packet, null);
  });
  socket.on('error', () => undefined);
  return {
    socket,
    send(packet, address, done) {
      // The port means nothing to ICMP, but the call insists on one.
      socket.send(packet, 1, address, done);
    },
  };
}

/** The protocol of the relay; frames are described in `agent/icmp-launcher.pl`. */
function relayCarriers(
  fd: number,
  port: number,
  { onReceived, onUnsent }: Handlers,
): { socket: Socket; of: (version: Version) => Carrier } {
  const socket = onDescriptor('udp4', fd);
  socket.on('message', (frame, from) => {
    if (from.port !== port || from.address !== '127.0.0.1') return;
    if (frame[0] === unsentFrame) {
      const packetAt = 2 + (frame[1] ?? 0);
      onUnsent(frame.subarray(packetAt), frame.toString('latin1', 2, packetAt));
      return;
    }
    const version: Version = frame[0] === 6 ? 6 : 4;
    const ttl = frame[1] ?? hopLimitUnknown;
    const packet = frame.subarray(2 + (version === 4 ? 4 : 16));
    onReceived(version, packet, ttl === hopLimitUnknown ? null : ttl);
  });
  socket.on('error', () => undefined);
  return {
    socket,
    of: (version) => ({
      send(packet, address, done) {
        const frame = Buffer.concat([Buffer.from([version]), addressBytes(address), packet]);
        socket.send(frame, port, '127.0.0.1', done);
      },
    }),
  };
}

/** A series of requests that waits for replies. */
interface Series {
  address: string;
  version: Version;
  sentAt: (number | null)[];
  replies: (EchoReply | null)[];
  open: number;
  settle: () => void;
  fail: (error: AgentError) => void;
}

/** Sockets that the launcher passed to this process. */
export interface InheritedSockets {
  fd4: number | null;
  fd6: number | null;
  relay: { fd: number; port: number } | null;
}

export class SocketTransport implements IcmpTransport {
  readonly way: 'datagram' | 'relay';
  readonly packetSize = payloadBytes;
  readonly #clock: Clock;
  readonly #carriers = new Map<Version, Carrier>();
  readonly #sockets: Socket[] = [];
  readonly #series = new Map<string, Series>();
  readonly #identifier = randomInt(1, 65_536);

  constructor(inherited: InheritedSockets, clock: Clock) {
    this.#clock = clock;
    const handlers: Handlers = {
      onReceived: (version, packet, ttl) => {
        this.#receive(version, packet, ttl);
      },
      onUnsent: (request, code) => {
        this.#unsent(request, code);
      },
    };
    if (inherited.relay !== null) {
      this.way = 'relay';
      const relay = relayCarriers(inherited.relay.fd, inherited.relay.port, handlers);
      this.#sockets.push(relay.socket);
      for (const version of [4, 6] as const) this.#carriers.set(version, relay.of(version));
      return;
    }
    this.way = 'datagram';
    for (const [version, fd] of [
      [4, inherited.fd4],
      [6, inherited.fd6],
    ] as const) {
      if (fd === null) continue;
      const carrier = datagramCarrier(version, fd, handlers);
      this.#sockets.push(carrier.socket);
      this.#carriers.set(version, carrier);
    }
  }

  #receive(version: Version, packet: Buffer, ttl: number | null): void {
    const receivedAt = this.#clock.monotonic();
    const echo = decodeEcho(version, packet);
    if (echo?.token == null) return;
    const series = this.#series.get(echo.token);
    if (series?.version === version) this.#record(series, echo, receivedAt, ttl);
  }

  #record(series: Series, echo: ReceivedEcho, receivedAt: number, ttl: number | null): void {
    const { sequence, type, code, isReply } = echo;
    const sentAt = series.sentAt[sequence];
    if (sentAt == null || series.replies[sequence] !== null) return;
    const rtt = isReply ? receivedAt - sentAt : null;
    series.replies[sequence] = {
      sequence,
      success: isReply,
      type,
      code,
      rtt,
      ttl: isReply ? ttl : null,
    };
    series.open -= 1;
    if (series.open === 0) series.settle();
  }

  /**
   * The kernel refused to send. Usually this machine is the cause; a host that no neighbour knows
   * counts as an echo without a reply.
   */
  #unsent(request: Buffer, code: string): void {
    const { token, sequence } = identifyRequest(request);
    const series = this.#series.get(token);
    if (series === undefined) return;
    if (isAgentErrorCode(code)) {
      series.fail(
        new AgentError(
          'NETWORK_UNAVAILABLE',
          `this machine could not send echo requests to ${series.address} (${code}); check its routes and firewall, or run "monitor-agent doctor"`,
        ),
      );
    } else if (series.replies[sequence] === null) {
      series.replies[sequence] = noReply(sequence);
      series.open -= 1;
      if (series.open === 0) series.settle();
    }
  }

  echo(request: EchoRequest): Promise<EchoReply[]> {
    const { address, family, count, intervalMs, timeoutMs, signal } = request;
    const version: Version = family === 'IPv6' ? 6 : 4;
    const carrier = this.#carriers.get(version);
    if (carrier === undefined) {
      return Promise.reject(
        new AgentError('ICMP_UNAVAILABLE', `this process has no ICMP socket for ${family}`),
      );
    }
    const token = randomBytes(tokenBytes);
    const key = token.toString('latin1');
    return new Promise((resolve, reject) => {
      let cancelNext: () => void = () => undefined;
      const release = (): boolean => {
        if (!this.#series.delete(key)) return false;
        cancelNext();
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
      const send = (sequence: number): void => {
        const packet = encodeEcho(version, this.#identifier, sequence, token);
        series.sentAt[sequence] = this.#clock.monotonic();
        carrier.send(packet, address, (error) => {
          if (error !== null) this.#unsent(packet, codeOf(error));
        });
        const isLast = sequence + 1 === count;
        cancelNext = this.#clock.after(isLast ? timeoutMs : intervalMs, () => {
          if (isLast) series.settle();
          else send(sequence + 1);
        });
      };
      send(0);
    });
  }

  close(): void {
    for (const series of [...this.#series.values()]) series.settle();
    for (const socket of this.#sockets) socket.close();
  }
}
