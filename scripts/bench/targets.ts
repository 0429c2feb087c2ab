/**
 * The servers that are probed, in a process of their own. Prints their ports as JSON. HTTPS needs a
 * certificate: TARGET_KEY and TARGET_CERTIFICATE, in PEM.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import dnsPacket from 'dns-packet';

const delayMs = 50;
/** What answers took, by the number in their query, for clients that keep no headers. */
const tookMs = new Map<string, number>();

const answer: RequestListener = (request, response) => {
  const [path, query] = (request.url ?? '').split('?');
  if (path === '/took') {
    response.end(JSON.stringify(Object.fromEntries(tookMs)));
    return;
  }
  if (path === '/missing') {
    response.writeHead(404).end('not found');
    return;
  }
  if (path !== '/delayed') {
    response.end('ok');
    return;
  }
  const arrivedAt = performance.now();
  setTimeout(() => {
    // The delay as it was, not as it was meant: timers are late by a millisecond or so.
    const took = performance.now() - arrivedAt;
    if (query?.startsWith('n=') === true) tookMs.set(query.slice(2), took);
    response.writeHead(200, { 'x-took-ms': String(took) }).end('ok');
  }, delayMs);
};
const { TARGET_KEY: key, TARGET_CERTIFICATE: cert } = process.env;
const http = createHttpServer(answer).listen(0, '127.0.0.1');
const https = createHttpsServer({ key, cert }, answer).listen(0, '127.0.0.1');
const tcp = createTcpServer((socket) => {
  socket.on('error', () => undefined);
  socket.end();
}).listen(0, '127.0.0.1');
const dns = createSocket('udp4');
dns.on('message', (message, from) => {
  const { id, questions } = dnsPacket.decode(message);
  const encoded = dnsPacket.encode({
    type: 'response',
    id: id ?? 0,
    flags: dnsPacket.RECURSION_DESIRED,
    questions: questions ?? [],
    answers: [{ type: 'A', name: questions?.[0]?.name ?? '', ttl: 60, data: '192.0.2.1' }],
  });
  dns.send(encoded, from.port, from.address);
});
dns.bind(0, '127.0.0.1');
await Promise.all([http, https, tcp, dns].map((server) => once(server, 'listening')));
console.log(
  JSON.stringify({
    http: (http.address() as AddressInfo).port,
    https: (https.address() as AddressInfo).port,
    tcp: (tcp.address() as AddressInfo).port,
    dns: dns.address().port,
  }),
);
