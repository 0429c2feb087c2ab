/** Real servers that behave well or badly, each on a free port of 127.0.0.1. */
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import {
  createServer as createHttp2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import {
  createServer as createTcpServer,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net';

export interface TestServer extends AsyncDisposable {
  port: number;
  url: string;
}

/** Lets a server listen; it ends at once with all its connections. */
export async function listening(
  server: Server,
  scheme = 'http',
  host = '127.0.0.1',
): Promise<TestServer> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** An HTTP server with this behaviour. */
export function httpServer(listener: RequestListener): Promise<TestServer> {
  return listening(createHttpServer(listener), 'http');
}

/** An HTTPS server with this key and certificate in PEM, which answers 200 unless a listener is given. */
export function httpsServer(
  key: string,
  cert: string,
  listener: RequestListener = (_request, response) => response.end('secure'),
): Promise<TestServer> {
  return listening(createHttpsServer({ key, cert }, listener), 'https');
}

/** A server of HTTP/2 without TLS that answers each call by hand. */
export function http2Server(
  answer: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
): Promise<TestServer> {
  const server = createHttp2Server();
  server.on('sessionError', () => undefined);
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    answer(stream, headers);
  });
  return listening(server, 'http');
}

/** A TCP server with this behaviour. */
export function tcpServer(onSocket: (socket: Socket) => void): Promise<TestServer> {
  return listening(createTcpServer(onSocket), 'tcp');
}

/** Answers every connection with these bytes after the first data, then ends or resets it. */
export function rawServer(
  answer: string | Buffer,
  then: 'end' | 'reset' | 'stay',
): Promise<TestServer> {
  return tcpServer((socket) => {
    socket.once('data', () => {
      socket.write(answer, () => {
        if (then === 'end') socket.end();
        if (then === 'reset') socket.resetAndDestroy();
      });
    });
  });
}

export interface TlsTestServer extends TestServer {
  /** Completed ones. */
  handshakes: number;
  /** What came behind them. */
  receivedBytes: number;
  /** Resolves when a connection with a completed handshake has ended. */
  closed(): Promise<void>;
}

/** A TLS server that says nothing behind the handshake. */
export async function tlsServer(
  options: TlsOptions,
  prepare: (server: Server) => void = () => undefined,
): Promise<TlsTestServer> {
  const server = createTlsServer(options);
  prepare(server);
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const counts = { handshakes: 0, receivedBytes: 0, closed: () => promise };
  const counted = Object.assign(await listening(server, 'tls'), counts);
  server.on('secureConnection', (socket) => {
    counted.handshakes += 1;
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => {
      counted.receivedBytes += bytes.length;
    });
    socket.once('end', () => {
      resolve(undefined);
    });
  });
  return counted;
}
