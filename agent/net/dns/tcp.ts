/** One query over TCP: each message is preceded by its length (RFC 7766 section 8). */
import { connect } from 'node:net';
import { noTcpTimes } from '../../native/tcp-times.ts';
import { afterTargetTime } from '../deadline.ts';
import { OwnDelay } from '../own-delay.ts';
import { readAnswer } from './answer.ts';
import {
  converse,
  malformed,
  networkFailure,
  observe,
  type AskOptions,
  type Exchange,
  type NameServer,
} from './exchange.ts';
import type { DnsQuery } from './query.ts';

const lengthSize = 2;

/** Collects one message and copies each byte once, however small the pieces are. */
class MessageCollector {
  #length = Buffer.alloc(lengthSize);
  #message: Buffer | null = null;
  #received = 0;

  /** True once the message is whole. */
  add(chunk: Buffer): boolean {
    let at = 0;
    while (this.#message === null && at < chunk.length) {
      this.#length[this.#received] = chunk[at] ?? 0;
      this.#received += 1;
      at += 1;
      if (this.#received === lengthSize) {
        this.#message = Buffer.alloc(this.#length.readUInt16BE());
        this.#received = 0;
      }
    }
    if (this.#message === null) return false;
    this.#received += chunk.copy(this.#message, this.#received, at);
    return this.#received === this.#message.length;
  }

  get message(): Buffer {
    return this.#message ?? this.#length;
  }

  /** `10 of 500 bytes`, or null when nothing came. */
  get progress(): string | null {
    if (this.#message === null) return this.#received === 0 ? null : 'half of its length';
    return `${this.#received} of ${this.#message.length} bytes`;
  }
}

/** The answer, or a failure. The time includes the connection. */
export function askOverTcp(
  query: DnsQuery,
  server: NameServer,
  { clock, signal, deadline, kernelTimes }: AskOptions,
): Promise<Exchange> {
  return converse<Exchange>(signal, ({ end }) => {
    const startedAt = clock.monotonic();
    const socket = connect({ host: server.host, port: server.port, noDelay: true });
    const collector = new MessageCollector();
    const delay = new OwnDelay(clock, kernelTimes?.tcpTimes ?? noTcpTimes, startedAt);
    let isConnected = false;
    let hasLeft = false;

    const cancelTimer = afterTargetTime(
      clock,
      deadline - startedAt,
      () => delay.ms,
      () => {
        const waitedMs = Math.round(clock.monotonic() - startedAt);
        const { progress } = collector;
        if (progress !== null) end(malformed(server, `stopped after ${progress}`));
        else {
          const phase = isConnected ? 'answer' : 'connect';
          const did = isConnected ? 'answer' : 'accept a connection';
          end(
            networkFailure(phase, 'TIMEOUT', server, `did not ${did} in ${waitedMs} ms, over TCP`),
          );
        }
      },
    );
    socket.once('connectionAttempt', () => {
      // Without a route no local port was chosen.
      process.nextTick(() => (hasLeft = (socket.localPort ?? 0) > 0));
    });
    socket.on('connect', () => {
      isConnected = true;
      delay.connectedAt(socket);
      const length = Buffer.alloc(lengthSize);
      length.writeUInt16BE(query.message.length);
      socket.write(Buffer.concat([length, query.message]));
    });
    socket.on('data', (chunk: Buffer) => {
      if (!collector.add(chunk)) return;
      const receivedAt = delay.dataAt(socket);
      const { unexplainedMs } = delay;
      const reading = readAnswer(collector.message, query, 'TCP');
      if (reading.kind === 'answer') {
        const { answer } = reading;
        end({ answer, protocol: 'TCP', sentAt: startedAt, receivedAt, unexplainedMs });
      } else if (reading.kind !== 'truncated') end(malformed(server, reading.why));
    });
    socket.on('end', () => {
      const { progress } = collector;
      end(
        progress === null
          ? networkFailure('answer', 'SOCKET_CLOSED', server, 'hung up without an answer')
          : malformed(server, `stopped after ${progress}`),
      );
    });
    socket.on('error', (error) => {
      end(observe(isConnected ? 'answer' : 'connect', error, server, { hasLeft }, 'TCP'));
    });
    return () => {
      cancelTimer();
      socket.destroy();
    };
  });
}
