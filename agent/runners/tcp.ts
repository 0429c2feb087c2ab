/**
 * TCP monitor: connects, begins TLS where the check says how, and when there is data to send or an answer to
 * judge, sends and reads.
 * Reading ends when the peer closes, when no more data can change what the assertions say of it, after a
 * quiet second unless one of them could still come true, at 64 KiB, or at the timeout. The time measured
 * ends with the last byte, never with the waiting.
 */
import { connect, type Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';
import type { TLSSocket } from 'node:tls';
import type { Assertion } from '@monitor/shared/contract/assertion.ts';
import type {
  CheckDefinition,
  Failure,
  Measurement,
} from '@monitor/shared/contract/checks/check-type.ts';
import { tcpMonitor, type TcpRequest } from '@monitor/shared/contract/checks/tcp.ts';
import type { ShownResponse } from '@monitor/shared/contract/shown-exchange.ts';
import { evaluateAssertions } from '@monitor/shared/domain/assertions.ts';
import { ConnectionTrail } from '../net/connection-trail.ts';
import { failureOf, observeError, timedOut } from '../net/failure.ts';
import { assertNextHopReachable } from '../net/next-hop/assert-reachable.ts';
import { usableFamily } from '../net/ip-family.ts';
import { evidenceOf, withEventsOf } from '../net/network-evidence.ts';
import { afterConnectTime, afterTargetTime } from '../net/deadline.ts';
import { OwnDelay } from '../net/own-delay.ts';
import { startTls } from '../net/tcp/start-tls.ts';
import { logOtherFamily } from '../net/tcp/other-family.ts';
import { onlyDnsWasAsked, resolveByOs, resolveByQuery, type Address } from '../net/dns/resolve.ts';
import { connectVerified, serverNameOf, tlsName } from '../net/tls/connect-verified.ts';
import { certificateFacts, describeHandshake } from '../net/tls/facts.ts';
import { contextFor } from '../net/tls/trust.ts';
import { tryAddresses } from '../net/try-addresses.ts';
import type { Observation, RunnerContext } from './runner.ts';

const quietMs = 1_000;
const maxReadBytes = 65_536;

interface Conversation {
  connectedAt: number | null;
  lastByteAt: number | null;
  data: string | null;
  failure: Failure | null;
  unexplainedMs: number;
  /** Not all of the data was read. */
  isCut: boolean;
}

const nothing: Conversation = {
  ...{ connectedAt: null, lastByteAt: null, data: null, failure: null, unexplainedMs: 0 },
  isCut: false,
};

/** Comparisons that more data cannot undo once they hold. */
const lasting: readonly string[] = ['NOT_EMPTY', 'NOT_NULL'];

/** Whether an assertion that does not hold yet could still come true with more data after these bytes. */
function isOpen({ comparison, property, target }: Assertion, bytes: Buffer): boolean {
  if (property !== '') return !['IS_EMPTY', 'IS_NULL'].includes(comparison);
  if (comparison === 'EQUALS') return Buffer.from(target).subarray(0, bytes.length).equals(bytes);
  return !['NOT_CONTAINS', 'IS_EMPTY', 'IS_NULL'].includes(comparison);
}

/**
 * What the data so far says about the assertions on it: they are decided, whatever follows; they hold
 * for now; or one that fails could still come true.
 */
function stateOf(request: TcpRequest, data: string, bytes: Buffer): 'decided' | 'holds' | 'open' {
  const assertions = request.assertions.filter(({ source }) => source === 'RESPONSE_DATA');
  if (assertions.length === 0) return 'holds';
  const measurement: Measurement = {
    startedAt: 0,
    stoppedAt: 0,
    responseTime: null,
    failure: null,
    request: {},
    response: { data },
  };
  const failing = evaluateAssertions(assertions, tcpMonitor.judging, measurement)
    .filter(({ error }) => error !== undefined)
    .flatMap(({ order }) => assertions[order] ?? []);
  if (failing.some((assertion) => !isOpen(assertion, bytes))) return 'decided';
  if (failing.length > 0) return 'open';
  const isLasting = assertions.every(({ comparison, property }) =>
    lasting.concat(property === '' ? 'CONTAINS' : []).includes(comparison),
  );
  return isLasting ? 'decided' : 'holds';
}

/** What the peer says, up to what is kept of it. */
class Answer {
  readonly #chunks: Buffer[] = [];
  bytes = 0;

  get whole(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  get text(): string {
    return this.whole.toString('utf8');
  }

  /** Without the beginning of a character whose end is still on its way. */
  get completeText(): string {
    return new StringDecoder('utf8').write(this.whole);
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk.subarray(0, maxReadBytes - this.bytes));
    this.bytes += chunk.length;
  }
}

interface Limits {
  /** When the address was known, on the monotonic clock. */
  readyAt: number;
  timeoutMs: number;
  /** Shorter, for connecting alone. */
  connectMs: number;
}

function secured(socket: Socket, hostname: string): TLSSocket {
  const { serverName: servername } = serverNameOf(hostname);
  return connectVerified({
    ...{ socket, secureContext: contextFor(undefined), host: tlsName(hostname) },
    ...(servername === undefined ? {} : { servername }),
  });
}

function converse(
  request: TcpRequest,
  address: Address,
  context: RunnerContext,
  { readyAt, timeoutMs, connectMs }: Limits,
  trail: ConnectionTrail,
): Promise<Conversation> {
  const { clock, network, signal } = context;
  const delay = new OwnDelay(clock, network.tcpTimes, readyAt);
  const { hostname, port } = request;
  const subject = `${hostname}:${port}`;
  const data = request.data ?? '';
  const expectsData =
    data !== '' || request.assertions.some(({ source }) => source === 'RESPONSE_DATA');
  return new Promise((resolve, reject) => {
    const seen: Conversation = { ...nothing };
    let cancelQuiet: (() => void) | null = null;
    let isSettled = false;
    const answer = new Answer();
    const socket: Socket = connect({ host: address.address, port, autoSelectFamily: false });
    trail.watch(socket, { ...address, port, isProxy: false });
    const release = (): void => {
      isSettled = true;
      cancelTimeout();
      cancelConnect();
      cancelQuiet?.();
      signal.removeEventListener('abort', onAbort);
    };
    /** What is talked through: the socket, or TLS that stands on it. */
    let stream = socket;
    let phase: 'connect' | 'tls' | 'answer' = 'connect';
    const cut = (): void => {
      // From the inside out: Node crashes when what TLS stands on is taken away first.
      stream.destroy();
      socket.destroy();
    };
    const settle = (failure: Failure | null): void => {
      if (isSettled) return;
      release();
      if (failure !== null) trail.failed(failure, socket);
      // What the peer still says is of no interest, and it must not keep us.
      if (failure === null) stream.end().destroySoon();
      else cut();
      seen.failure = failure;
      seen.unexplainedMs = delay.unexplainedMs;
      seen.isCut = answer.bytes >= maxReadBytes;
      if (expectsData && seen.connectedAt !== null) seen.data = answer.text;
      resolve(seen);
    };
    const onAbort = (): void => {
      settle(failureOf('connect', 'CANCELLED', subject, 'the run was cancelled'));
    };
    const ownMs = (): number => delay.takenMs(context.waitedMs());
    const cancelTimeout = afterTargetTime(clock, timeoutMs, ownMs, () => {
      if (answer.bytes > 0) settle(null);
      else settle(timedOut(phase, subject, context.timeoutMs, 'SOCKET_TIMEOUT'));
    });
    const cancelConnect = afterConnectTime(clock, { connectMs, timeoutMs }, ownMs, (limitMs) => {
      if (seen.connectedAt === null)
        settle(timedOut('connect', subject, limitMs, 'SOCKET_TIMEOUT'));
    });
    signal.addEventListener('abort', onAbort, { once: true });

    const onError = (error: unknown): void => {
      if (isSettled) return;
      try {
        settle(observeError(phase, error, subject, { hasLeft: trail.flow !== null }));
      } catch (fault) {
        release();
        cut();
        reject(fault instanceof Error ? fault : new Error(String(fault)));
      }
    };
    const onEnd = (): void => {
      if (phase !== 'tls') seen.lastByteAt ??= delay.now();
      settle(phase === 'tls' ? failureOf('tls', 'SOCKET_CLOSED', subject) : null);
    };
    const onData = (chunk: Buffer): void => {
      if (isSettled) return;
      seen.lastByteAt = delay.dataAt(stream);
      cancelQuiet?.();
      answer.add(chunk);
      const state = stateOf(request, answer.completeText, answer.whole);
      if (state === 'decided' || answer.bytes >= maxReadBytes) settle(null);
      if (isSettled) return;
      cancelQuiet = clock.after(quietMs, () => {
        // Half a character whose end does not come is judged as it came.
        const isAwaited =
          state === 'open' && stateOf(request, answer.text, answer.whole) === 'open';
        if (!isAwaited) settle(null);
      });
    };
    const talk = (): void => {
      if (isSettled) return;
      phase = 'answer';
      if (expectsData) stream.on('data', onData);
      else settle(null);
      if (data !== '') stream.write(data);
    };
    const secure = (): void => {
      if (isSettled) return;
      delay.turnAt(socket);
      const tls = secured(socket, hostname);
      stream = tls;
      tls.on('error', onError).on('end', onEnd);
      tls.once('secureConnect', () => {
        seen.lastByteAt = delay.securedAt(tls);
        trail.add('tls', describeHandshake(tls, certificateFacts(tls, clock.now())));
        talk();
      });
    };
    socket.on('error', onError).on('end', onEnd);
    socket.on('connect', () => {
      seen.connectedAt = delay.connectedAt(socket);
      if (request.startTls == null) return talk();
      phase = 'tls';
      startTls(socket, request.startTls, tlsName(hostname)).then(secure, onError);
    });
  });
}

async function observe(
  request: TcpRequest,
  context: RunnerContext,
  trail: ConnectionTrail,
): Promise<Observation> {
  const { clock, network } = context;
  const startedAt = clock.now();
  const start = clock.monotonic();
  const family = usableFamily(request.ipFamily, request.hostname, context.log);
  const resolve = network.useOsResolver ? resolveByOs : resolveByQuery;
  const resolution = await resolve(request.hostname, family);
  const lookedUpAt = clock.monotonic();
  trail.resolved(request.hostname, resolution);
  const asked = {
    hostname: request.hostname,
    port: request.port,
    ipFamily: request.ipFamily,
    data: request.data,
    ...(request.startTls == null ? {} : { startTls: request.startTls }),
  };
  if ('failure' in resolution) {
    if (!network.useOsResolver && resolution.failure.code === 'ENOTFOUND') {
      context.log(onlyDnsWasAsked, 'INFO');
    }
    return {
      startedAt,
      stoppedAt: startedAt + Math.ceil(lookedUpAt - start),
      responseTime: lookedUpAt - start,
      failure: resolution.failure,
      request: asked,
      response: null,
      ...evidenceOf(resolution.failure, trail, context),
    };
  }
  const lookupMs = lookedUpAt - start;
  const ownMs = lookupMs < 1 ? 0 : Math.min(lookupMs, context.waitedMs());
  const deadline = start + context.timeoutMs + ownMs;
  const { hostname: host, port } = request;
  const { outcome: seen, turn } = await tryAddresses(
    { ...resolution, host, subject: `${host}:${port}` },
    async ({ address, begunAt, connectShare, takenMs }) => {
      const leftMs = Math.max(1, deadline + takenMs - begunAt);
      const limits = { readyAt: begunAt, timeoutMs: leftMs, connectMs: leftMs * connectShare };
      const conversation = await converse(request, address, context, limits, trail);
      return { ...conversation, isConnected: conversation.connectedAt !== null };
    },
    context,
    trail,
  );
  const stoppedAt = clock.monotonic();
  if (seen.failure !== null && seen.isConnected) {
    const place = { address: turn.address.address, subject: `${host}:${port}` };
    await assertNextHopReachable(seen.failure, place, context, trail);
  }
  if (seen.failure?.phase === 'connect') {
    await logOtherFamily(
      { ...{ host, port, resolve, signal: context.signal }, tried: turn.address },
      context.log,
    );
  }
  const connectedAt = seen.connectedAt ?? stoppedAt;
  const end = seen.connectedAt === null ? stoppedAt : (seen.lastByteAt ?? connectedAt);
  const phases = {
    dns: lookedUpAt - start,
    connection: connectedAt - lookedUpAt,
    data: end - connectedAt,
    total: end - start,
  };
  return {
    startedAt,
    stoppedAt: startedAt + Math.ceil(stoppedAt - start),
    responseTime: phases.total,
    unexplainedMs: turn.begunAt - start + seen.unexplainedMs,
    failure: seen.failure,
    request: asked,
    response:
      seen.failure !== null
        ? null
        : ({
            data: seen.data,
            remoteAddress: turn.address.address,
            ipFamily: family,
            timings: { lookup: phases.dns, connect: connectedAt - start, end: phases.total },
            timingPhases: phases,
          } satisfies ShownResponse),
    ...(seen.isCut ? { unread: `only the first ${maxReadBytes} bytes were read` } : {}),
    ...evidenceOf(seen.failure, trail, context),
  };
}

export function runTcp(
  definition: CheckDefinition<TcpRequest>,
  context: RunnerContext,
): Promise<Observation> {
  const request = definition.request;
  const trail = new ConnectionTrail(context.clock);
  return withEventsOf(trail, context, () => observe(request, context, trail));
}
