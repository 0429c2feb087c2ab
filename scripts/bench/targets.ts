/** The servers that are probed, in a process of their own. Prints their ports as JSON. */
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { listen } from '../../proof/listen.ts';
import { openNameServer } from '../../proof/name-server.ts';

const http = await listen(
  createHttpServer(({ url }, response) => {
    response.writeHead(url === '/missing' ? 404 : 200, { 'content-type': 'text/html' });
    response.end('<!doctype html><title>Shop</title>ok');
  }),
);
const tcp = createTcpServer((socket) => {
  socket.on('error', () => undefined);
  socket.end();
}).listen(0, '127.0.0.1');
await once(tcp, 'listening');
const dns = await openNameServer((_name, answer) => answer(true));
const { port } = tcp.address() as AddressInfo;
console.log(JSON.stringify({ http: http.port, tcp: port, dns: dns.port }));
