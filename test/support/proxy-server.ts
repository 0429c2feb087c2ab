/** An HTTP proxy: tunnels for https, forwarding for http. */
import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TestServer } from './servers.ts';

export interface ProxyServer extends TestServer {
  /** What it was asked for: `CONNECT host:port` or `GET http://…`. */
  asked: string[];
}

interface Behaviour {
  /** `user:password` it wants. */
  credentials?: string;
  /** Answers every CONNECT with this status. */
  refusesWith?: number;
}

export async function proxyServer({
  credentials,
  refusesWith,
}: Behaviour = {}): Promise<ProxyServer> {
  const asked: string[] = [];
  const sockets = new Set<Duplex>();
  const wanted =
    credentials === undefined ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`;
  const keep = (socket: Duplex): void => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  };
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    if (request.headers['proxy-authorization'] !== wanted) {
      response.writeHead(407).end();
      return;
    }
    const { 'proxy-authorization': _credentials, ...headers } = request.headers;
    const onward = httpRequest(request.url ?? '', { method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.writeHead(502).end());
    request.pipe(onward);
  });
  server.on('connection', (socket: Socket) => {
    keep(socket);
  });
  server.on('connect', (request, client) => {
    asked.push(`CONNECT ${request.url}`);
    const isRefused = request.headers['proxy-authorization'] !== wanted;
    const status = isRefused ? 407 : refusesWith;
    if (status !== undefined) {
      client.end(`HTTP/1.1 ${status} No\r\n\r\n`);
      return;
    }
    const port = Number(request.url?.split(':').at(-1));
    const target = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      target.pipe(client);
      client.pipe(target);
    });
    keep(target);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    asked,
    url: `http://${credentials === undefined ? '' : `${credentials}@`}127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
