/** One question to one name server, over UDP or TCP. Foreign and malformed packets are bounded. */
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import type { DecodedPacket } from 'dns-packet';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import type { Clock } from '@monitor/shared/clock.ts';
import { answersQuery, decodeAnswer } from './dns-message.ts';
import { failureOf, observeError, timedOut } from './failure.ts';

export interface NameServer {
  host: string;
  port: number;
}

export interface DnsQuestion {
  id: number;
  name: string;
  type: string;
  /** The query as bytes. */
  message: Buffer;
}

export interface QueryOptions {
  clock: Clock;
  signal: AbortSignal;
  timeoutMs: number;
}

export type QueryOutcome = { packet: DecodedPacket; endedAt: number } | { failure: Failure };

/** A lost datagram is sent again after so long. */
const resendAfterMs = 5_000;
/** So many packets that are not the answer are looked at before giving up. */
const foreignPackets = 100;

function subjectOf({ host, port }: NameServer): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

interface Settling {
  settle: (outcome: QueryOutcome) => void;
  fail: (phase: string, error: unknown) => void;
}

/** The part both transports share: one outcome, a deadline, cancellation, and whose fault an error is. */
function settling(
  server: NameServer,
  { clock, signal, timeoutMs }: QueryOptions,
  close: () => void,
  resolve: (outcome: QueryOutcome) => void,
  reject: (error: Error) => void,
): Settling {
  const subject = subjectOf(server);
  let isSettled = false;
  const release = (): boolean => {
    if (isSettled) return false;
    isSettled = true;
    cancelTimeout();
    signal.removeEventListener('abort', onAbort);
    close();
    return true;
  };
  const settle = (outcome: QueryOutcome): void => {
    if (release()) resolve(outcome);
  };
  const fail = (phase: string, error: unknown): void => {
    try {
      settle({ failure: observeError(phase, error, subject) });
    } catch (fault) {
      if (release()) reject(fault instanceof Error ? fault : new Error(String(fault)));
    }
  };
  const onAbort = (): void => {
    settle({ failure: failureOf('answer', 'CANCELLED', subject, 'the run was cancelled') });
  };
  const cancelTimeout = clock.after(timeoutMs, () => {
    settle({ failure: timedOut('answer', subject, timeoutMs) });
  });
  signal.addEventListener('abort', onAbort, { once: true });
  return { settle, fail };
}

function malformed(server: NameServer): Failure {
  return failureOf(
    'answer',
    'MALFORMED_ANSWER',
    subjectOf(server),
    'the name server sent something that is not a DNS message',
  );
}

/** Asks over UDP. */
export function queryUdp(
  question: DnsQuestion,
  server: NameServer,
  options: QueryOptions,
): Promise<QueryOutcome> {
  const { clock } = options;
  return new Promise((resolve, reject) => {
    const socket: UdpSocket = createSocket(isIPv6(server.host) ? 'udp6' : 'udp4');
    let cancelResend: () => void = () => undefined;
    let foreign = 0;
    const { settle, fail } = settling(
      server,
      options,
      () => {
        cancelResend();
        socket.close();
      },
      resolve,
      reject,
    );
    socket.on('error', (error) => {
      fail('connect', error);
    });
    socket.on('message', (message) => {
      const endedAt = clock.monotonic();
      let packet: DecodedPacket;
      try {
        packet = decodeAnswer(message);
      } catch {
        // With the right id it is our server's own doing; otherwise anybody may have sent it.
        const isOurs = message.length >= 2 && message.readUInt16BE(0) === question.id;
        foreign += 1;
        if (isOurs || foreign >= foreignPackets) settle({ failure: malformed(server) });
        return;
      }
      if (answersQuery(packet, question.id, question.name, question.type)) {
        settle({ packet, endedAt });
        return;
      }
      foreign += 1;
      if (foreign >= foreignPackets) settle({ failure: malformed(server) });
    });
    // Connected, so the kernel drops what others send and reports a refusal.
    socket.connect(server.port, server.host, () => {
      const send = (): void => {
        socket.send(question.message, (error) => {
          if (error !== null) fail('send', error);
        });
      };
      send();
      cancelResend = clock.after(resendAfterMs, send);
    });
  });
}

/** Asks over TCP: the message preceded by its length (RFC 7766). */
export function queryTcp(
  question: DnsQuestion,
  server: NameServer,
  options: QueryOptions,
): Promise<QueryOutcome> {
  const { clock } = options;
  return new Promise((resolve, reject) => {
    const socket = connect({ host: server.host, port: server.port, autoSelectFamily: false });
    let received = Buffer.alloc(0);
    let isConnected = false;
    const { settle, fail } = settling(
      server,
      options,
      () => {
        socket.destroy();
      },
      resolve,
      reject,
    );
    socket.on('connect', () => {
      isConnected = true;
      const length = Buffer.alloc(2);
      length.writeUInt16BE(question.message.length);
      socket.write(Buffer.concat([length, question.message]));
    });
    socket.on('error', (error) => {
      fail(isConnected ? 'answer' : 'connect', error);
    });
    socket.on('end', () => {
      settle({ failure: failureOf('answer', 'SOCKET_CLOSED', subjectOf(server)) });
    });
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk as Buffer]);
      if (received.length < 2) return;
      const length = received.readUInt16BE(0);
      if (received.length < 2 + length) return;
      const endedAt = clock.monotonic();
      try {
        const packet = decodeAnswer(received.subarray(2, 2 + length));
        const isAnswer = answersQuery(packet, question.id, question.name, question.type);
        settle(isAnswer ? { packet, endedAt } : { failure: malformed(server) });
      } catch {
        settle({ failure: malformed(server) });
      }
    });
  });
}
