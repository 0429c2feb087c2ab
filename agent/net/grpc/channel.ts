/** One connection to a gRPC server: its own socket, watched and timed like those of other checks. */
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import type { Clock } from '@monitor/shared/clock.ts';
import type { Address } from '../dns/resolve.ts';
import type { ConnectionTrail } from '../connection-trail.ts';
import { printable } from '../../printable.ts';
import { codeOf, failureOf, observeError } from '../failure.ts';
import type { OwnDelay } from '../own-delay.ts';
import { http2CodeName, windowBytes } from '../http2-codes.ts';
import { withRejection, type Identity } from '../tls/client-identity.ts';
import { connectVerified, tlsName } from '../tls/connect-verified.ts';
import { certificateFacts, complaintOf, describeHandshake, onRefusedChain } from '../tls/facts.ts';

export interface ChannelTarget {
  address: Address;
  host: string;
  port: number;
  /** What is asked for and verified in TLS. */
  serverName: string;
  /** Null for a connection without TLS. */
  tls: (Identity & { skipVerify: boolean }) | null;
}

interface TcpTarget {
  host: string;
  port: number;
  autoSelectFamily: boolean;
}

interface ChannelTools {
  clock: Clock;
  delay: OwnDelay;
  trail: ConnectionTrail;
}

/** A connection that is open, or being opened. */
export class GrpcChannel {
  readonly #target: ChannelTarget;
  readonly #tools: ChannelTools;
  readonly #subject: string;
  readonly #ended = Promise.withResolvers<Failure>();
  #socket: Socket | null = null;
  #session: ClientHttp2Session | null = null;
  #phase: 'connect' | 'tls' | 'answer' = 'connect';
  #sessionError: unknown = null;
  /** What the server said as it ended the session with an error. */
  #goodbye: string | null = null;
  #failure: Failure | null = null;
  /** The server has answered by HTTP/2. */
  isHttp2 = false;

  constructor(target: ChannelTarget, tools: ChannelTools) {
    this.#target = target;
    this.#tools = tools;
    this.#subject = `${target.host}:${target.port}`;
  }

  get phase(): string {
    return this.#phase;
  }

  /** When the newest data came, on the monotonic clock. */
  lastDataAt(): number {
    const { delay } = this.#tools;
    return this.#socket === null ? delay.now() : delay.dataAt(this.#socket);
  }

  /** What the agent took of the time so far, see `OwnDelay`: it may not have sent its call yet. */
  takenMs(waitedMs: number): number {
    const isAnswer = this.#phase === 'answer';
    const asked = isAnswer ? this.#socket : null;
    return this.#tools.delay.takenMs(waitedMs, isAnswer || this.#phase === 'tls', asked);
  }

  /** A turn of the server ends, and one of the agent begins. */
  readonly answered = (): void => {
    if (this.#socket !== null) this.#tools.delay.turnAt(this.#socket);
  };

  /** A request was sent; frames of the session may follow. */
  readonly asked = (): void => this.#tools.delay.asked();

  /** Why the session broke; null where it did not. */
  get sessionError(): unknown {
    return this.#sessionError;
  }

  /** Ends the connection, and what waits for it, with this failure. */
  fail(failure: Failure): void {
    this.#failure ??= failure;
    this.#ended.resolve(failure);
    this.close();
  }

  /** What ended it from outside; null for nothing. */
  get failure(): Failure | null {
    return this.#failure;
  }

  close(): void {
    this.#session?.destroy();
    this.#socket?.destroy();
  }

  /** Connects. Rejects only with an AgentError. */
  async open(): Promise<ClientHttp2Session | Failure> {
    const { tls, address, port } = this.#target;
    const { trail, delay, clock } = this.#tools;
    const errors = Promise.withResolvers<never>();
    errors.promise.catch(() => undefined);
    const happened = (socket: Socket, event: string) => {
      const { promise, resolve } = Promise.withResolvers<null>();
      socket.once(event, () => resolve(null));
      return Promise.race([promise, errors.promise, this.#ended.promise]);
    };
    const watched = <S extends Socket>(socket: S): S => {
      socket.on('error', (error) => errors.reject(error));
      socket.once('close', () => {
        errors.reject(Object.assign(new Error('closed'), { code: 'SOCKET_CLOSED' }));
      });
      trail.watch(socket, { ...address, port, isProxy: false });
      this.#socket = socket;
      return socket;
    };
    try {
      const target = { host: address.address, port, autoSelectFamily: false };
      const secure = tls === null ? null : watched(this.#secured(tls, target));
      const socket = secure ?? watched(connectTcp(target));
      // Node sends the hello of TLS when it hears of the connection.
      socket.prependOnceListener('connect', () => {
        delay.connectedAt(socket);
      });
      const early = await happened(socket, 'connect');
      if (early !== null) return early;
      if (secure !== null) {
        this.#phase = 'tls';
        const ended = await happened(secure, 'secureConnect');
        if (ended !== null) return ended;
        delay.securedAt(secure);
        trail.add('tls', describeHandshake(secure, certificateFacts(secure, clock.now())));
        if (secure.alpnProtocol !== 'h2') {
          const detail = 'the server does not offer HTTP/2, which gRPC needs (ALPN "h2")';
          return this.#failed(failureOf('tls', 'NO_HTTP2', this.#subject, detail));
        }
      }
      this.#phase = 'answer';
      return this.#begin(socket);
    } catch (error) {
      return this.#failed(this.observed(error));
    }
  }

  #secured({ secureContext, skipVerify }: Identity & { skipVerify: boolean }, target: TcpTarget) {
    const { serverName } = this.#target;
    const { trail } = this.#tools;
    const isName = /[a-z]/i.test(serverName) && !serverName.includes(':');
    const options = {
      ...{ ...target, secureContext, ALPNProtocols: ['h2'] },
      // Without a server name the certificate is verified against the address.
      ...(isName ? { servername: tlsName(serverName) } : {}),
    };
    if (skipVerify) return connectTls({ ...options, rejectUnauthorized: false });
    const socket = connectVerified(options);
    onRefusedChain(socket, (issuer) => {
      trail.add('tls', `certificate by ${issuer} is not accepted`);
    });
    return socket;
  }

  #begin(socket: Socket): ClientHttp2Session {
    const { host, port, tls } = this.#target;
    const authority = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
    const session = connectHttp2(`${tls === null ? 'http' : 'https'}://${authority}`, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: windowBytes },
    });
    session.once('remoteSettings', () => {
      this.isHttp2 = true;
    });
    session.on('error', (error) => {
      this.#sessionError ??= error;
    });
    session.on('goaway', (code, _last, opaque) => {
      if (code === 0) return;
      const said = opaque === undefined ? '' : printable(Buffer.from(opaque).toString('latin1'));
      const text = said === '' ? '' : `: "${said.slice(0, 200)}"`;
      this.#goodbye = `the server ended the session with ${http2CodeName(code)} (GOAWAY with code ${code})${text}`;
    });
    this.#session = session;
    return session;
  }

  /** An error of the connection as a failure of the target, which retries count as one of the network. Throws an AgentError for one of this machine. */
  observed(error: unknown): Failure {
    const { trail } = this.#tools;
    const complaint = complaintOf(error);
    if (complaint !== null) trail.add('tls', complaint);
    const hasLeft = trail.flow !== null;
    const isClosed = codeOf(error) === 'SOCKET_CLOSED';
    const observed = isClosed
      ? this.#goodbye === null
        ? failureOf(this.#phase, 'SOCKET_CLOSED', this.#subject)
        : failureOf(this.#phase, 'HTTP2_GOAWAY', this.#subject, this.#goodbye)
      : observeError(this.#phase, error, this.#subject, { hasLeft });
    const failure = { ...observed, isNetworkError: true };
    const { tls } = this.#target;
    if (tls === null || this.#phase === 'connect') return failure;
    const moment = this.#phase === 'tls' ? 'handshake' : 'after';
    return withRejection(failure, { shownFor: tls.shownFor, moment });
  }

  #failed(failure: Failure): Failure {
    this.#failure ??= failure;
    return failure;
  }
}
