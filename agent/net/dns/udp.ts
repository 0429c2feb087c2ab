/** One query over UDP: sent, and once more when nothing came for five seconds. */
import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { noReceiveStamps, roundTrip, type Instant } from '../../native/receive-stamp.ts';
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

/**
 * The lookup of a datagram socket that is only ever given addresses. The system's would take a turn
 * of the event loop for each to find out that there is nothing to look up.
 */
function literalLookup(
  address: string,
  _options: unknown,
  done: (error: null, address: string, family: number) => void,
): void {
  done(null, address, 0);
}

const tryMs = 5_000;
const tries = 2;
/** Limit of unrelated messages that are read from a flooding server. */
const maxForeign = 100;

/** The answer, a failure, or the sign that the answer is truncated and must be queried over TCP. */
export function askOverUdp(
  query: DnsQuery,
  server: NameServer,
  { clock, signal, deadline, kernelTimes }: AskOptions,
): Promise<Exchange | { truncated: true; sentAt: number }> {
  return converse(signal, ({ end }) => {
    const type = isIPv6(server.host) ? 'udp6' : 'udp4';
    const socket = createSocket({ type, lookup: literalLookup });
    const stamps = kernelTimes?.receiveStamps ?? noReceiveStamps;
    let sentAt: Instant = { monotonic: 0, wall: null };
    /** By how much it was asked later than it says, or again than planned. */
    let lateMs = 0;
    let dueAt = 0;
    let sent = 0;
    let foreign = 0;
    let whyForeign = '';
    let cancelTimer = (): void => {};

    const giveUp = (): void => {
      const times = sent === 1 ? '' : `, asked ${sent} times`;
      const waitedMs = Math.round(clock.monotonic() - sentAt.monotonic);
      if (foreign > 0) end(malformed(server, whyForeign));
      else
        end(
          networkFailure('answer', 'TIMEOUT', server, `did not answer in ${waitedMs} ms${times}`),
        );
    };
    const send = (): void => {
      const now = clock.monotonic();
      if (sent === 0) sentAt = { monotonic: now, wall: stamps.wall() };
      else lateMs += now - dueAt;
      sent += 1;
      // An ICMP error about one datagram is reported when the next one is sent.
      const hasLeft = sent > 1;
      socket.send(query.message, (error) => {
        if (error !== null) end(observe('send', error, server, { hasLeft }));
      });
      lateMs += clock.monotonic() - now;
      const leftMs = deadline - now;
      dueAt = now + tryMs;
      const isLast = sent === tries || leftMs <= tryMs;
      cancelTimer = clock.after(Math.min(tryMs, leftMs), isLast ? giveUp : send);
    };

    socket.on('error', (error) => end(observe('connect', error, server, { hasLeft: sent > 0 })));
    socket.on('connect', () => {
      stamps.want(socket);
      send();
    });
    socket.on('message', (message) => {
      const read = { monotonic: clock.monotonic(), wall: stamps.wall() };
      const elapsedMs = read.monotonic - sentAt.monotonic;
      const tookMs = roundTrip(sentAt, read, stamps.of(socket, read.wall));
      const reading = readAnswer(message, query, 'UDP');
      switch (reading.kind) {
        case 'answer':
          end({
            ...{ answer: reading.answer, protocol: 'UDP', sentAt: sentAt.monotonic },
            receivedAt: sentAt.monotonic + tookMs,
            unexplainedMs: tookMs === elapsedMs ? elapsedMs : lateMs,
          });
          break;
        case 'truncated':
          end({ truncated: true, sentAt: sentAt.monotonic });
          break;
        case 'malformed':
          end(malformed(server, reading.why));
          break;
        case 'foreign':
          foreign += 1;
          whyForeign = reading.why;
          if (foreign === maxForeign) giveUp();
      }
    });
    // Connected: the kernel drops packets of others, and reports a closed port.
    socket.connect(server.port, server.host);
    return () => {
      cancelTimer();
      // A closed socket may still emit `connect`.
      socket.removeAllListeners('connect');
      socket.close();
    };
  });
}
