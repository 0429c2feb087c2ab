/** The servers that are probed, in a process of their own. Prints their ports as JSON. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import dnsPacket from 'dns-packet';

const delayMs = 50;

const http = createHttpServer(({ url }, response) => {
  if (url === '/missing') {
    response.writeHead(404).end('not found');
    return;
  }
  if (url !== '/delayed') {
    response.end('ok');
    return;
  }
  const arrivedAt = performance.now();
  setTimeout(() => {
    // The delay as it was, not as it was meant: timers are late by a millisecond or so.
    response.writeHead(200, { 'x-took-ms': String(performance.now() - arrivedAt) }).end('ok');
  }, delayMs);
}).listen(0, '127.0.0.1');
const tcp = createTcpServer((socket) => {
  socket.on('error', () => undefined);
  socket.end();
}).listen(0, '127.0.0.1');
const dns = createSocket('udp4');
dns.on('message', (message, from) => {
  const { id, questions } = dnsPacket.decode(message);
  const encoded = dnsPacket.encode({
    ...{ type: 'response', id: id ?? 0, flags: dnsPacket.RECURSION_DESIRED },
    questions: questions ?? [],
    answers: [{ type: 'A', name: questions?.[0]?.name ?? '', ttl: 60, data: '192.0.2.1' }],
  });
  dns.send(encoded, from.port, from.address);
});
dns.bind(0, '127.0.0.1');
await Promise.all([http, tcp, dns].map((server) => once(server, 'listening')));
const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port;
console.log(JSON.stringify({ http: portOf(http), tcp: portOf(tcp), dns: portOf(dns) }));
