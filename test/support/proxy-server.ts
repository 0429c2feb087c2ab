/** An HTTP proxy: tunnels for https, forwarding for http. */
import { createServer, request as httpRequest } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, TLSSocket } from 'node:tls';
import type { TestServer } from './servers.ts';
import { listening } from './servers.ts';

export interface ProxyServer extends TestServer {
  /** What it was asked for: `CONNECT host:port` or `GET http://…`. */
  asked: string[];
}

interface Behaviour {
  /** `user:password` it wants. */
  credentials?: string;
  /** Answers every CONNECT with this status. */
  refusesWith?: number;
  /** The schemes it names with 407. */
  offers?: readonly string[];
  /** Answers every CONNECT with a page. */
  answersPage?: boolean;
  /** Is spoken to in TLS. */
  tls?: { key: string; cert: string };
  /** Where it listens. */
  host?: string;
  /** Reads what passes: shows a certificate of its own for any host, and asks the true one itself. */
  intercept?: (host: string) => Promise<{ key: string; cert: string }>;
}

/** `host:port` of a CONNECT, and `[v6]:port`. */
function partsOf(authority: string): { host: string; port: number } {
  const [, host = '', port = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(authority) ?? [];
  return { host, port: Number(port) };
}

/** Every name leads to this machine; what it really leads to is of no concern to a test. */
function addressOf(host: string): string {
  const bare = host.replace(/^\[|\]$/g, '');
  return isIP(bare) === 0 ? '127.0.0.1' : bare;
}

export async function proxyServer({
  credentials,
  refusesWith,
  offers = ['Basic realm="test"'],
  answersPage = false,
  tls,
  host = '127.0.0.1',
  intercept,
}: Behaviour = {}): Promise<ProxyServer> {
  const asked: string[] = [];
  const further = new Set<Duplex>();
  const wanted =
    credentials === undefined ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`;
  const keep = <S extends Duplex>(socket: S): S => {
    further.add(socket);
    socket.on('error', () => undefined);
    return socket;
  };
  const server = tls === undefined ? createServer() : createSecureServer(tls);
  server.on('request', (request, response) => {
    asked.push(`${request.method} ${request.url}`);
    if (request.headers['proxy-authorization'] !== wanted) {
      response.writeHead(407, { 'proxy-authenticate': [...offers] }).end();
      return;
    }
    const { 'proxy-authorization': _credentials, ...headers } = request.headers;
    const { hostname, port, pathname, search } = new URL(request.url ?? '');
    const target = { host: addressOf(hostname), port, path: pathname + search };
    const onward = httpRequest({ ...target, method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.writeHead(502).end());
    request.pipe(onward);
  });
  server.on('connect', (request, client) => {
    asked.push(`CONNECT ${request.url}`);
    if (answersPage) {
      client.end('HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<html>Please log in</html>');
      return;
    }
    const isRefused = request.headers['proxy-authorization'] !== wanted;
    const status = isRefused ? 407 : refusesWith;
    if (status !== undefined) {
      const headers = offers.map((scheme) => `proxy-authenticate: ${scheme}\r\n`).join('');
      client.end(`HTTP/1.1 ${status} No\r\n${status === 407 ? headers : ''}\r\n`);
      return;
    }
    const to = partsOf(request.url ?? '');
    const below = connect({ host: addressOf(to.host), port: to.port, autoSelectFamily: false });
    keep(below);
    below.once('error', () => client.end('HTTP/1.1 503 Unreachable\r\n\r\n'));
    below.once('connect', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      void (async () => {
        const [inner, target] =
          intercept === undefined
            ? [client, below]
            : [
                keep(
                  new TLSSocket(client as Socket, {
                    isServer: true,
                    ...(await intercept(to.host)),
                  }),
                ),
                keep(
                  connectTls({
                    socket: below,
                    rejectUnauthorized: false,
                    ...(isIP(to.host) === 0 ? { servername: to.host } : {}),
                  }),
                ),
              ];
        target.pipe(inner);
        inner.pipe(target);
      })();
    });
  });
  const opened = await listening(server, tls === undefined ? 'http' : 'https', host);
  return {
    ...{ ...opened, asked },
    url: opened.url.replace('//', credentials === undefined ? '//' : `//${credentials}@`),
    [Symbol.asyncDispose]() {
      for (const socket of further) socket.destroy();
      return opened[Symbol.asyncDispose]();
    },
  };
}
