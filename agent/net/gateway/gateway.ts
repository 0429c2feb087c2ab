/**
 * The gateway for browsers and request contexts of runs, used when a client certificate or the
 * proxy of the location is needed. It runs in the agent, so that keys and proxy credentials never
 * get into a run: neither into its memory nor its folder, variables or arguments.
 *
 * For a run it is an HTTP proxy on the loopback interface, for this run only and while it lasts.
 * Any other client of the port, another run or a process of this machine, is refused. Connections
 * to hosts without a client certificate are passed through unchanged. A connection to a host with
 * one is terminated here and continued with the certificate. Towards the run the gateway presents a
 * certificate of its own authority. If the server's certificate is not trusted, it presents an
 * untrusted one, so that the run sees the same error.
 */
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { AssignedCertificate } from '@monitor/shared/contract/agent-protocol.ts';
import { AgentError } from '../../errors.ts';
import { codeOf } from '../failure.ts';
import { parseHttpProxy } from '../http/proxy.ts';
import { dial, sentenceOf, type Target } from './dial.ts';
import { endingWith, ClientGone } from './ending.ts';
import { forward } from './forward.ts';
import { AllowedClients, type AllowedClient } from './allowed-clients.ts';
import type { SessionContext } from './proxy-session.ts';
import { makeOwnAuthority } from './own-authority.ts';
import { certificateFor, join, interceptTls } from './intercept.ts';

const maxNotes = 50;
/** Below the 30 s timeout of browsers, so that they still get the error. */
const usualWithinMs = 20_000;

export interface ProxySessionOptions {
  readonly clientCertificates: readonly AssignedCertificate[];
  readonly proxyUrl: string | null;
  /** Forbidden names and addresses. */
  readonly isForbidden?: (address: string) => boolean;
  /** Called with the reasons of failed connections as sentences; each sentence once. */
  readonly onProblem: (sentence: string) => void;
}

/** The gateway for one run; dispose it after the run. */
export interface ProxySession extends AsyncDisposable {
  /** `http://127.0.0.1:port`, for the proxy setting of a client. */
  readonly server: string;
  /** The first agent error of a connection: the proxy of the location refuses the agent. */
  readonly agentError: AgentError | null;
  /** Admits the run, or its own browser; until then every client is refused. */
  admit(allowedClient: AllowedClient): void;
}

export interface Gateway {
  /** Browser arguments that make a browser trust the gateway. */
  readonly browserArgs: readonly string[];
  /** Certificate that other clients must trust, in PEM. */
  readonly certificate: string;
  /** Opens a session for a run. Throws NETWORK_UNAVAILABLE when `proxyUrl` is invalid. */
  open(options: ProxySessionOptions): Promise<ProxySession>;
}

export interface GatewayOptions {
  /** Time in ms. */
  readonly now: () => number;
  /** Timeout for a connection, an answer of the proxy, or a handshake. */
  readonly withinMs?: number;
}

function targetOf(authority: string | undefined): Target | null {
  const [, host, port] = /^\[?([^\]]+?)\]?:(\d{1,5})$/.exec(authority ?? '') ?? [];
  return host === undefined || Number(port) > 65_535 ? null : { host, port: Number(port) };
}

function refuse(client: Duplex, status: string): void {
  client.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
}

/** Allows half-closed clients, which wait for the answer after their request. Call it before they end. */
function mayEndFirst(client: Duplex): void {
  client.allowHalfOpen = true;
}

function keepUntilClosed<S extends Duplex>(socket: S, open: Set<Duplex>): S {
  open.add(socket);
  socket.once('close', () => open.delete(socket));
  // Errors are reported by the reader.
  socket.on('error', () => undefined);
  return socket;
}

async function onConnect(
  request: IncomingMessage,
  client: Duplex,
  head: Buffer,
  session: SessionContext,
): Promise<void> {
  const target = targetOf(request.url);
  if (target === null) {
    refuse(client, '400 Bad Request');
    return;
  }
  let onward: Socket | undefined;
  const ending = endingWith(client, session.withinMs);
  try {
    onward = keepUntilClosed(await dial(target, session.way, ending), session.open);
    // The client may have disconnected in the meantime.
    if (client.destroyed) {
      onward.destroy();
      return;
    }
    mayEndFirst(client);
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    if (head.length > 0) client.unshift(head);
    const certificate = certificateFor(target, session.clientCertificates);
    if (certificate === undefined) join(client, onward);
    else await interceptTls(client, onward, target, certificate, session);
  } catch (error) {
    session.note(error, target);
    if (onward === undefined) refuse(client, '502 Bad Gateway');
    else client.destroy();
    onward?.destroy();
  }
}

/** Creates the gateway of this process. It opens nothing until a run needs it. */
export function createGateway({ now, withinMs = usualWithinMs }: GatewayOptions): Gateway {
  const trusted = makeOwnAuthority('Monitoring agent', now);
  const untrusted = makeOwnAuthority('Not trusted by the monitoring agent', now);

  return {
    // Certificate errors of this key are ignored; trust is decided here.
    browserArgs: [`--ignore-certificate-errors-spki-list=${trusted.fingerprint}`],
    certificate: trusted.certificate,
    async open({ clientCertificates, proxyUrl, isForbidden = () => false, onProblem }) {
      const proxy = proxyUrl === null || proxyUrl === '' ? null : parseHttpProxy(proxyUrl);
      const open = new Set<Duplex>();
      const said = new Set<string>();
      const clients = new AllowedClients();
      let agentError: AgentError | null = null;
      const say = (sentence: string): void => {
        if (said.has(sentence) || said.size >= maxNotes) return;
        said.add(sentence);
        onProblem(sentence);
      };
      const session: SessionContext = {
        way: { proxy, isForbidden },
        ...{ withinMs, clientCertificates, trusted, untrusted, open, say },
        note(error, target) {
          if (error instanceof ClientGone) return;
          if (error instanceof AgentError) agentError ??= error;
          say(sentenceOf(error, target));
        },
      };
      const http = createHttpServer({ maxHeaderSize: 262_144, requestTimeout: 0 });
      http.on('connect', (request: IncomingMessage, client: Duplex, head: Buffer) => {
        client.on('error', () => undefined);
        void onConnect(request, client, head, session);
      });
      http.on('request', (request, response) => {
        void forward(request, response, session);
      });
      const server = createServer((socket) => {
        keepUntilClosed(socket, open);
        const onUnknown = (error: unknown): boolean => {
          const why = `who connected to the gateway could not be found out (${codeOf(error)})`;
          agentError ??= new AgentError('NETWORK_UNAVAILABLE', why, { cause: error });
          say(why);
          return false;
        };
        void clients
          .include(socket)
          .catch(onUnknown)
          .then((isAllowed) => {
            if (isAllowed) http.emit('connection', socket);
            else socket.destroy();
          });
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      return {
        server: `http://127.0.0.1:${port}`,
        admit(allowedClient) {
          clients.admit(allowedClient);
        },
        get agentError() {
          return agentError;
        },
        async [Symbol.asyncDispose]() {
          if (!server.listening) return;
          const closed = once(server, 'close');
          server.close();
          for (const socket of open) socket.destroy();
          http.closeAllConnections();
          await closed;
        },
      };
    },
  };
}
