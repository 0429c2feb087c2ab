/** What a gRPC check and its server say on their connection. */
import type { FileRegistry } from '@bufbuild/protobuf';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import { statusCodes, type GrpcRequest } from '@monitor/shared/contract/checks/grpc.ts';
import { splitMethod } from '@monitor/shared/grpc/called-method.ts';
import type { ConnectionTrail } from '../../net/connection-trail.ts';
import { failureOf } from '../../net/failure.ts';
import {
  callMethod,
  type CallEnd,
  maxMessageBytes,
  type MetadataEntry,
} from '../../net/grpc/call.ts';
import type { GrpcChannel } from '../../net/grpc/channel.ts';
import { isDecodable } from '../../net/grpc/decoded-length.ts';
import type { RunnerContext } from '../runner.ts';
import { callable, CallProblem, isFailure, type Callable, type Prepared } from './prepare.ts';
import { reflect, ReflectionEnded, UselessReflection } from './reflection.ts';

const cancelled = 1;
const deadlineExceeded = 4;
const resourceExhausted = 8;
const unimplemented = 12;
const internal = 13;
const unavailable = 14;
const maxDiscovered = 100;

/** What the server answered, or why it did not. */
export interface Answered {
  status: number;
  statusMessage: string;
  metadata: MetadataEntry[];
  message: { text: string; status: number | null } | null;
  discoveredMethods: string[];
  failure: Failure | null;
}

const nothing = { statusMessage: '', metadata: [], message: null, discoveredMethods: [] };

function methodsOf(registry: FileRegistry, path: string): string[] {
  const { service } = splitMethod(path);
  const { methods = [] } = registry.getService(service) ?? {};
  return methods.slice(0, maxDiscovered).map(({ name }) => `${service}/${name}`);
}

/** The status that stands for a failure of the connection, or for its end from outside. */
function statusOfFailure({ code }: Failure): number {
  if (code === 'CANCELLED') return cancelled;
  return code === 'TIMEOUT' ? deadlineExceeded : unavailable;
}

/** A failure of the call where the server gave no status. Throws an AgentError. */
function failureOfEnd(
  { problem, status }: CallEnd,
  channel: GrpcChannel,
  subject: string,
): { status: number; failure: Failure } | null {
  const { failure, sessionError } = channel;
  if (failure !== null) return { status: statusOfFailure(failure), failure };
  if (problem === null) return null;
  const { name, detail, cause } = problem;
  if (name === 'SOCKET_CLOSED') {
    const error = sessionError ?? cause ?? null;
    const closed = Object.assign(new Error(detail), { code: name });
    const isOfSession = /^ERR_HTTP2_(STREAM|SESSION)|^ERR_STREAM/.test(
      String((error as { code?: unknown } | null)?.code ?? ''),
    );
    return { status, failure: channel.observed(error === null || isOfSession ? closed : error) };
  }
  return {
    status,
    failure: { ...failureOf('answer', name, subject, detail), isNetworkError: true },
  };
}

async function typesByReflection(
  prepared: Prepared,
  ask: (service: string) => Promise<FileRegistry>,
  failed: (end: CallEnd) => { status: number; failure: Failure } | null,
): Promise<FileRegistry> {
  const advice = 'or set serviceDefinition to PROTO_FILE and give its .proto file';
  try {
    return await ask(splitMethod(prepared.method).service);
  } catch (error) {
    const refused = (status: number, code: string, why: string) =>
      new CallProblem(status, {
        ...{ phase: 'reflection', code, message: `${why} (${code})`, isNetworkError: false },
      });
    if (error instanceof UselessReflection) {
      const why = `reflection does not help: ${error.message}; mend it, ${advice}`;
      throw refused(unimplemented, 'REFLECTION_USELESS', why);
    }
    if (!(error instanceof ReflectionEnded)) throw error;
    const { end } = error;
    const local = failed(end);
    if (local !== null) throw new CallProblem(local.status, local.failure);
    if (end.status === unimplemented) {
      const why = `the server has no reflection: switch it on, ${advice}`;
      throw refused(end.status, 'NO_REFLECTION', why);
    }
    const name = `${statusCodes[end.status] ?? 'status'} (${end.status})`;
    const words = end.statusMessage === '' ? '' : `: ${end.statusMessage}`;
    const why = `the server refused reflection with ${name}${words}; let it answer, ${advice}`;
    throw refused(end.status, 'REFLECTION_REFUSED', why);
  }
}

async function readMessage(
  bytes: Uint8Array,
  { method: { output }, registry }: Callable,
  subject: string,
): Promise<{ text: string; status: number | null }> {
  const { fromBinary, toJsonString } = await import('@bufbuild/protobuf');
  const refused = (status: number, code: string, detail: string) =>
    new CallProblem(status, failureOf('answer', code, subject, detail));
  if (!(await isDecodable(bytes, output, registry))) {
    const detail = 'the response message becomes too large once it is decoded';
    throw refused(resourceExhausted, 'MESSAGE_TOO_LARGE', detail);
  }
  try {
    const message = fromBinary(output, bytes);
    const options = { alwaysEmitImplicit: true, registry };
    const { status } = message as { status?: unknown };
    return {
      text: toJsonString(output, message, options),
      status: typeof status === 'number' ? status : null,
    };
  } catch (error) {
    const why = error instanceof Error ? error.message.slice(0, 200) : '';
    throw refused(internal, 'MESSAGE_UNREADABLE', `the response message cannot be read: ${why}`);
  }
}

/** The messages of a stream as one list. */
async function readStream(
  messages: readonly Uint8Array[],
  call: Callable,
  subject: string,
): Promise<{ text: string; status: null }> {
  const texts: string[] = [];
  let length = 0;
  for (const bytes of messages) {
    const { text } = await readMessage(bytes, call, subject);
    length += text.length;
    if (length > maxMessageBytes) {
      const detail = 'the messages of the stream become too large once they are decoded';
      throw new CallProblem(
        resourceExhausted,
        failureOf('answer', 'MESSAGE_TOO_LARGE', subject, detail),
      );
    }
    texts.push(text);
  }
  return { text: `[${texts.join(',')}]`, status: null };
}

/** Connects, reflects and calls. */
export async function converse(
  { request, prepared, types, context }: Run,
  channel: GrpcChannel,
  leftMs: () => number,
): Promise<Answered> {
  const { host, port } = prepared;
  const subject = `${host}:${port}`;
  const session = await channel.open();
  if (isFailure(session)) {
    return { ...nothing, status: statusOfFailure(session), failure: session };
  }
  const scheme = request.grpcConfig.tls ? ('https' as const) : ('http' as const);
  const { authority, metadata } = prepared;
  const asked = { scheme, authority, metadata };
  const failed = (end: CallEnd) => failureOfEnd(end, channel, subject);
  let discoveredMethods: string[] = [];
  try {
    const registry =
      types ??
      (await typesByReflection(
        prepared,
        (service) => reflect(session, asked, service, channel.answered),
        failed,
      ));
    if (types === null) discoveredMethods = methodsOf(registry, prepared.method);
    const call = await callable(registry, prepared);
    const { method } = prepared;
    const isStream = call.method.methodKind === 'server_streaming';
    const asking = { ...asked, method, isStream, timeoutMs: leftMs() };
    const end = await callMethod(session, asking, call.message, channel.asked);
    const { statusMessage, metadata, messages } = end;
    const [first] = messages;
    const local = failed(end);
    let message: Answered['message'] = null;
    if (local === null && isStream) message = await readStream(messages, call, subject);
    else if (local === null && first !== undefined)
      message = await readMessage(first, call, subject);
    const { status, failure } = local ?? { status: end.status, failure: null };
    return { status, statusMessage, metadata, message, discoveredMethods, failure };
  } catch (error) {
    if (error instanceof CallProblem) {
      return { ...nothing, discoveredMethods, status: error.status, failure: error.failure };
    }
    // The session ended between two calls.
    const { code } = error as { code?: string };
    if (code?.startsWith('ERR_HTTP2_') !== true) throw error;
    const end = { status: unavailable, statusMessage: '', metadata: [] };
    const problem = {
      name: 'SOCKET_CLOSED',
      detail: 'the connection was closed early',
      cause: error,
    };
    const local = failed({ ...end, problem });
    context.log(`the session of HTTP/2 ended: ${code}`, 'DEBUG');
    return { ...nothing, discoveredMethods, status: unavailable, failure: null, ...local };
  }
}

/** One run, as far as it is known before the connection. */
export interface Run {
  request: GrpcRequest;
  prepared: Prepared;
  types: FileRegistry | null;
  context: RunnerContext;
  trail: ConnectionTrail;
}
