/**
 * A target of the lab with everything that can be wrong with one, as a program to be started in its host. Gets
 * by IPC the certificates of its TLS ports and the zone of its name server; says "ready" when it serves.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import type { SecureVersion } from 'node:tls';

export interface AilingServices {
  /** By port. */
  secure: Record<
    string,
    { key: string; cert: string; maxVersion?: SecureVersion; wantsCertificate?: boolean }
  >;
}

/** Paths that are their own status, and others that never end well. */
const web = createServer((request, response) => {
  const path = request.url ?? '/';
  if (path === '/silent') return;
  if (path === '/cut') request.socket.destroy();
  else if (path === '/half') {
    response.writeHead(200, { 'content-length': '1000' }).write('half');
    setTimeout(() => request.socket.destroy(), 50);
  } else if (/^\/\d+$/.test(path)) response.writeHead(Number(path.slice(1))).end('status');
  else if (path === '/slow') setTimeout(() => response.end('late'), 600);
  else response.end('shop');
});

async function serve({ secure }: AilingServices): Promise<void> {
  for (const [port, { key, cert, maxVersion, wantsCertificate = false }] of Object.entries(
    secure,
  )) {
    const server = createSecureServer(
      {
        ...{ key, cert, requestCert: wantsCertificate, rejectUnauthorized: wantsCertificate },
        ...(maxVersion === undefined
          ? {}
          : { maxVersion, minVersion: maxVersion, ciphers: 'DEFAULT@SECLEVEL=0' }),
      },
      (_request, response) => response.end('secure'),
    );
    server.on('tlsClientError', () => undefined);
    server.listen(Number(port), '0.0.0.0');
    await once(server, 'listening');
  }
  web.listen(8080, '0.0.0.0');
  await once(web, 'listening');
  const open = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.end('hello');
  });
  open.listen(2222, '0.0.0.0');
  await once(open, 'listening');
  process.send?.('ready');
}

process.once('message', (message: AilingServices) => {
  void serve(message);
});
