/**
 * gRPC check: one connection, on it reflection where the check has no types, and one call. The time
 * measured is all of it, with the name resolution. What the server answered is judged afterwards.
 */
import type { FileRegistry } from '@bufbuild/protobuf';
import { isIP } from 'node:net';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import {
  healthStatuses,
  type GrpcConfig,
  type GrpcRequest,
} from '@monitor/shared/contract/checks/grpc.ts';
import type { GrpcResponse } from '@monitor/shared/contract/shown-exchange.ts';
import { ConnectionTrail } from '../net/connection-trail.ts';
import { resolveByOs, resolveByQuery, type Address } from '../net/dns/resolve.ts';
import { tryAddresses, type Turn } from '../net/try-addresses.ts';
import { failureOf, timedOut } from '../net/failure.ts';
import { GrpcChannel } from '../net/grpc/channel.ts';
import { storedText } from '../net/http/response-body.ts';
import { usableFamily } from '../net/ip-family.ts';
import { evidenceOf, withEventsOf } from '../net/network-evidence.ts';
import { assertNextHopReachable } from '../net/next-hop/assert-reachable.ts';
import { afterConnectTime, afterTargetTime } from '../net/deadline.ts';
import { OwnDelay } from '../net/own-delay.ts';
import { logOtherFamily } from '../net/tcp/other-family.ts';
import { anonymous, identityFor, type Identity } from '../net/tls/client-identity.ts';
import { serverNameOf } from '../net/tls/connect-verified.ts';
import { spokenInstead, withSecondLook } from '../net/tls/second-look.ts';
import { FieldProblem } from '../templates/complete.ts';
import { converse, type Answered, type Run } from './grpc/converse.ts';
import {
  callable,
  CallProblem,
  isFailure,
  knownTypes,
  prepare,
  secretsOf,
  shownRequest,
  type Prepared,
} from './grpc/prepare.ts';
import type { Observation, Runner } from './runner.ts';

const notFound = 5;
const serviceUnknown = 3;

function healthOf({ mode }: GrpcConfig, { status, message }: Answered): number | null {
  if (mode !== 'HEALTH') return null;
  return status === notFound ? serviceUnknown : (message?.status ?? null);
}

function responseOf(
  { request, prepared, context }: Run,
  answered: Answered,
  times: { address: Address; timingPhases: { dns: number; connect: number; total: number } },
): Pick<Observation, 'response' | 'wholeBody'> {
  const { grpcConfig: config } = request;
  const { status, statusMessage, metadata, discoveredMethods, failure } = answered;
  const healthStatus = healthOf(config, answered);
  const text = answered.message?.text ?? null;
  const kept = text === null ? null : storedText(text, secretsOf(context));
  const isHidden = !config.storeResponseBody;
  const whole = isHidden ? text : (kept?.whole ?? null);
  return {
    response: {
      grpcMode: config.mode,
      host: prepared.host,
      resolvedIp: times.address.address,
      ipFamily: times.address.family,
      port: prepared.port,
      grpcMethod: prepared.method,
      responseMessage: isHidden ? null : (kept?.stored ?? null),
      truncated: kept?.whole !== undefined,
      grpcStatusCode: status,
      grpcStatusMessage: statusMessage,
      healthStatus,
      healthStatusLabel: healthStatus === null ? null : (healthStatuses[healthStatus] ?? null),
      ...{ metadata, discoveredMethods },
      requestError: failure?.message ?? null,
      timingPhases: times.timingPhases,
    } satisfies GrpcResponse,
    ...(whole === null ? {} : { wholeBody: whole }),
  };
}

const serverNameIn = ({ authority }: Prepared): string =>
  authority.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');

/** Names what the server speaks that has no HTTP/2, or none with or without TLS as it is asked. */
async function explained(
  failure: Failure,
  { prepared, context }: Run,
  address: Address,
  identity: Identity | null,
): Promise<Failure> {
  const { host, port } = prepared;
  const { secureContext } = identity ?? anonymous();
  const greeted = { address, port, secureContext, ...serverNameOf(serverNameIn(prepared)) };
  if (identity !== null) {
    return failure.phase === 'tls' ? withSecondLook(failure, greeted, context) : failure;
  }
  if (!/^(ERR_HTTP2_ERROR|SOCKET_CLOSED|ECONNRESET)$/.test(failure.code)) return failure;
  const spoken = await spokenInstead(greeted, context);
  if (spoken === null) return failure;
  const advice = spoken === 'TLS' ? ': switch on `tls`' : ', which carries no gRPC';
  const message = `the server speaks ${spoken}${advice}: ${host}:${port} (${failure.code})`;
  return { ...failure, message };
}

async function observe(
  run: Run,
  startedAt: number,
  identity: Identity | null,
): Promise<Observation> {
  const { request, prepared, context, trail } = run;
  const { clock, network, signal } = context;
  const { host, port } = prepared;
  const subject = `${host}:${port}`;
  const start = clock.monotonic();
  const timeoutMs = request.timeout * 1_000;
  const wanted = isIP(host) === 6 ? 'IPv6' : request.ipFamily;
  const family = usableFamily(wanted, host, context.log);
  const resolve = network.useOsResolver ? resolveByOs : resolveByQuery;
  const resolution = await resolve(host, family);
  const readyAt = clock.monotonic();
  trail.resolved(host, resolution);
  const shown = shownRequest(request, prepared, context);
  if ('failure' in resolution) {
    const failure = { ...resolution.failure, phase: 'dns', isNetworkError: true };
    return {
      ...{ startedAt, stoppedAt: startedAt + Math.ceil(readyAt - start), responseTime: null },
      ...{ failure, request: shown, response: null, ...evidenceOf(failure, trail, context) },
    };
  }
  const tls = identity === null ? null : { ...identity, skipVerify: request.skipSSL };
  const attempt = async ({ address, begunAt, connectShare, takenMs }: Turn) => {
    const delay = new OwnDelay(clock, network.tcpTimes, begunAt);
    const channel = new GrpcChannel(
      { address, host, port, serverName: serverNameIn(prepared), tls },
      { clock, delay, trail },
    );
    const ownMs = (): number => channel.takenMs(context.waitedMs());
    const timeLeftMs = (ownTakenMs: number) =>
      Math.max(1, timeoutMs - (clock.monotonic() - start) + takenMs + ownTakenMs);
    // The server measures its deadline from when it is asked: what the agent took until then is not its time.
    const leftMs = () => timeLeftMs(delay.takenMs(context.waitedMs(), true));
    const wholeMs = timeLeftMs(0);
    const cancelTimeout = afterTargetTime(clock, wholeMs, ownMs, () => {
      channel.fail(timedOut(channel.phase, subject, timeoutMs));
    });
    const limits = { connectMs: wholeMs * connectShare, timeoutMs: wholeMs };
    const cancelConnect = afterConnectTime(clock, limits, ownMs, (limitMs) => {
      if (channel.phase === 'connect') channel.fail(timedOut('connect', subject, limitMs));
    });
    const onAbort = (): void => {
      channel.fail(failureOf(channel.phase, 'CANCELLED', subject, 'the run was cancelled'));
    };
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      const answered = await converse(run, channel, leftMs);
      const isConnected = answered.failure?.phase !== 'connect';
      const { failure } = answered;
      if (failure !== null && failure.phase !== 'template') trail.failed(failure, undefined);
      const { isHttp2 } = channel;
      return { answered, failure, isConnected, isHttp2, delay, end: channel.lastDataAt() };
    } finally {
      cancelTimeout();
      cancelConnect();
      signal.removeEventListener('abort', onAbort);
      channel.close();
    }
  };
  const place = { ...resolution, host, subject };
  const { outcome, turn } = await tryAddresses(place, attempt, context, trail);
  const { delay } = outcome;
  const { address } = turn;
  const stoppedAt = clock.monotonic();
  const failure =
    outcome.failure !== null && !outcome.isHttp2
      ? await explained(outcome.failure, run, address, identity)
      : outcome.failure;
  const end = failure === null ? outcome.end : stoppedAt;
  const answered = { ...outcome.answered, failure };
  if (failure !== null && outcome.isConnected) {
    await assertNextHopReachable(failure, { address: address.address, subject }, context, trail);
  }
  if (failure?.phase === 'connect') {
    await logOtherFamily({ host, port, resolve, signal, tried: address }, context.log);
  }
  const timingPhases = { dns: readyAt - start, connect: end - readyAt, total: end - start };
  return {
    startedAt,
    stoppedAt: startedAt + Math.ceil(stoppedAt - start),
    responseTime: timingPhases.total,
    unexplainedMs: turn.begunAt - start + delay.unexplainedMs,
    ...{ failure, request: shown },
    ...responseOf(run, answered, { address, timingPhases }),
    ...evidenceOf(failure, trail, context),
  };
}

export const runGrpc: Runner<GrpcRequest> = async ({ request }, context) => {
  const startedAt = context.clock.now();
  const without = (failure: Failure, prepared: Prepared | null): Observation => ({
    ...{ startedAt, stoppedAt: startedAt, responseTime: null, response: null, failure },
    request: shownRequest(request, prepared, context),
  });
  let prepared: Prepared | null = null;
  let types: FileRegistry | null;
  try {
    prepared = prepare(request, context);
    types = await knownTypes(request.grpcConfig);
    // A mistake of the check is found without a connection where the types are known.
    if (types !== null) await callable(types, prepared);
  } catch (error) {
    if (error instanceof FieldProblem || error instanceof CallProblem) {
      return without(error.failure, prepared);
    }
    throw error;
  }
  const { host, port } = prepared;
  const identity = request.grpcConfig.tls
    ? identityFor({ host, port, subject: `${host}:${port}` }, context.clientCertificates)
    : null;
  if (identity !== null && isFailure(identity)) return without(identity, prepared);
  const trail = new ConnectionTrail(context.clock);
  const run: Run = { request, prepared, types, context, trail };
  return withEventsOf(trail, context, () => observe(run, startedAt, identity));
};
