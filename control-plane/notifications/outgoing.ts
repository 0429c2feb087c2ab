/**
 * Outgoing HTTP requests, in three classes: the operator's services, and addresses of customers and of
 * visitors of status pages, which have connections of their own. For those addresses the client resolves the name itself, applies
 * the egress rule, and connects to the address it has checked, which prevents DNS rebinding. It
 * follows no redirects, ignores proxy variables, limits the size of answers, and has a timeout for
 * everything.
 */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Agent, buildConnector, Dispatcher, request } from 'undici';
import type { EgressClass } from '../core/doors.ts';
import type { AddressRule } from './allowed-addresses.ts';
import { ownTimeLimit } from './own-time.ts';

/** Resolves a host name to addresses, in the order to try. */
export type Resolve = (hostname: string) => Promise<string[]>;

export interface OutgoingRequest {
  method: string;
  url: URL;
  headers: readonly (readonly [name: string, value: string])[];
  body: string | Buffer | null;
  /** 64 KiB unless said otherwise. */
  maxAnswerBytes?: number;
}

export interface OutgoingAnswer {
  status: number;
  statusText: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** At most as much as the request allows. */
  body: string;
  isCut: boolean;
}

/** Sends a request and gives the answer, whatever its status. Throws OutgoingError. */
export type Send = (request: OutgoingRequest, signal: AbortSignal) => Promise<OutgoingAnswer>;

/** There was no answer. The message does not contain the address, which may hold credentials. */
export class OutgoingError extends Error {
  /** True when a retry cannot help. */
  readonly isFinal: boolean;

  constructor(message: string, isFinal: boolean, options?: ErrorOptions) {
    super(message, options);
    this.name = 'OutgoingError';
    this.isFinal = isFinal;
  }
}

const defaultAnswerBytes = 65_536;
const maxAddresses = 4;

/** The system resolver. */
export const systemResolve: Resolve = async (hostname) =>
  (await lookup(hostname, { all: true, verbatim: true })).map(({ address }) => address);

/** Connects to an allowed address of the host name. */
function guardedConnector(
  { isAllowed, setting }: AddressRule,
  resolve: Resolve,
  connect: buildConnector.connector,
): buildConnector.connector {
  const connectTo = (options: buildConnector.Options, hostname: string, address: string) =>
    new Promise<Parameters<buildConnector.Callback>>((done) => {
      // The certificate must match the host of the URL, whatever the `Host` header says.
      const { servername: _fromHeader, ...rest } = options;
      const isNamed = options.protocol === 'https:' && isIP(hostname) === 0;
      connect(
        {
          ...rest,
          hostname: address,
          host: address,
          ...(isNamed ? { servername: hostname } : {}),
        },
        (...given: Parameters<buildConnector.Callback>) => {
          done(given);
        },
      );
    });
  const attempt = async (options: buildConnector.Options) => {
    const hostname = options.hostname.replace(/^\[|\]$/g, '');
    const addresses = isIP(hostname) === 0 ? await resolve(hostname) : [hostname];
    const allowed = addresses.filter(isAllowed).slice(0, maxAddresses);
    if (allowed.length === 0) {
      throw new OutgoingError(
        addresses.length === 0
          ? `the host ${hostname} has no address`
          : `the host ${hostname} is not at a public address; the operator may allow its network with ${setting}`,
        addresses.length > 0,
      );
    }
    let last: Parameters<buildConnector.Callback> | undefined;
    for (const address of allowed) {
      last = await connectTo(options, hostname, address);
      if (last[0] === null) break;
    }
    return last;
  };
  return (options, callback) => {
    attempt(options).then(
      (given) => {
        if (given !== undefined) callback(...given);
      },
      (error: unknown) => {
        callback(error instanceof Error ? error : new Error(String(error)), null);
      },
    );
  };
}

async function readUpTo(body: Dispatcher.ResponseData['body'], bytes: number) {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > bytes) break;
  }
  body.destroy();
  const text = Buffer.concat(chunks).subarray(0, bytes).toString('utf8');
  return { text, isCut: size > bytes };
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  UND_ERR_SOCKET: 'the connection was closed before the answer',
  ENOTFOUND: 'the host name does not exist',
  EAI_AGAIN: 'the host name could not be resolved',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  UND_ERR_CONNECT_TIMEOUT: 'the connection took too long',
};

function toOutgoingError(error: unknown): OutgoingError {
  if (error instanceof OutgoingError) return error;
  const { name, code, message } = error as Error & { code?: string };
  if (name === 'AbortError') return new OutgoingError('this process is stopping', false);
  if (code === 'UND_ERR_INVALID_ARG') {
    return new OutgoingError(`the request is not a valid one: ${message}`, true, { cause: error });
  }
  const isTls = /CERT|TLS|SSL|SELF_SIGNED/i.test(code ?? '');
  const known = code === undefined ? undefined : reasons[code];
  const text = known ?? (isTls ? `no secure connection (${code ?? ''})` : (code ?? 'no answer'));
  return new OutgoingError(text, false, { cause: error });
}

export type Outgoing = Readonly<Record<EgressClass, Send>> & AsyncDisposable;

interface Clients {
  agents: Readonly<Record<EgressClass, Agent>>;
  request: typeof request;
}

/** `timeoutMs` limits each request including its answer. The clients are loaded when the first is made. */
export function openOutgoing({
  customer,
  visitor,
  resolve = systemResolve,
  timeoutMs = 10_000,
}: {
  customer: AddressRule;
  visitor: AddressRule;
  resolve?: Resolve;
  timeoutMs?: number;
}): Outgoing {
  const openClients = async (): Promise<Clients> => {
    // A bundle names nothing but the default export of this package.
    const { default: undici } = await import('undici');
    const connecting = { timeout: timeoutMs, allowH2: false };
    const connect = undici.buildConnector(connecting);
    const shared = { connections: 8, pipelining: 1, keepAliveTimeout: 4_000 };
    const guarded = (rule: AddressRule) =>
      new undici.Agent({ ...shared, connect: guardedConnector(rule, resolve, connect) });
    const operator = new undici.Agent({ ...shared, connect: connecting });
    return {
      agents: { operator, customer: guarded(customer), visitor: guarded(visitor) },
      request: undici.request,
    };
  };
  let opening: Promise<Clients> | undefined;

  const sendBy =
    (name: EgressClass): Send =>
    async ({ method, url, headers, body, maxAnswerBytes = defaultAnswerBytes }, signal) => {
      if (!/^https?:$/.test(url.protocol)) {
        throw new OutgoingError('the address must begin with http:// or https://', true);
      }
      using limit = ownTimeLimit(timeoutMs, signal);
      try {
        const clients = await (opening ??= openClients());
        const answer = await clients.request(url, {
          dispatcher: clients.agents[name],
          method: method as Dispatcher.HttpMethod,
          headers: headers.flat(),
          body,
          signal: limit.signal,
        });
        const { text, isCut } = await readUpTo(answer.body, maxAnswerBytes);
        return {
          status: answer.statusCode,
          statusText: answer.statusText,
          headers: answer.headers,
          body: text,
          isCut,
        };
      } catch (error) {
        if (!limit.isOver) throw toOutgoingError(error);
        const problem = `there was no answer within ${timeoutMs / 1000} s`;
        throw new OutgoingError(problem, false, { cause: error });
      }
    };

  return {
    operator: sendBy('operator'),
    customer: sendBy('customer'),
    visitor: sendBy('visitor'),
    async [Symbol.asyncDispose]() {
      const agents = Object.values((await opening)?.agents ?? {});
      await Promise.all(agents.map((agent) => agent.destroy()));
    },
  };
}
