/**
 * What a host of the lab offers to the others, as a program to be started in it: a web server on port
 * 80 and a DNS server on each address of the first argument, which is JSON: `{ "10.77.0.2": zone }`.
 * A zone gives for each name its addresses, or what happens: "SERVFAIL", "REFUSED", "silence", or
 * `{ "lateMs": 4000, "addresses": […] }`. Says "ready" when it serves.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { isIP } from 'node:net';
import { answerTo } from './dns-server.ts';
import dnsPacket from 'dns-packet';

type Entry =
  'SERVFAIL' | 'REFUSED' | 'silence' | string[] | { lateMs: number; addresses: string[] };
export type Zone = Record<string, Entry>;

const rcodes = { SERVFAIL: 2, REFUSED: 5 };

async function serveDns(address: string, zone: Zone): Promise<void> {
  const socket = createSocket(isIP(address) === 6 ? 'udp6' : 'udp4');
  socket.on('message', (message, client) => {
    const { id = 0, questions } = dnsPacket.decode(message);
    const { name = '', type = 'A' } = questions?.[0] ?? {};
    const query = { id, name, type };
    const entry = zone[name.toLowerCase()];
    const send = (answer: Buffer): void => {
      socket.send(answer, client.port, client.address);
    };
    if (entry === 'silence') return;
    if (entry === undefined) {
      send(answerTo(query, { rcode: name === '' ? 0 : 3 }));
      return;
    }
    if (typeof entry === 'string') {
      send(answerTo(query, { rcode: rcodes[entry] }));
      return;
    }
    const { addresses, lateMs } = Array.isArray(entry) ? { addresses: entry, lateMs: 0 } : entry;
    const family = type === 'AAAA' ? 6 : 4;
    const answers = addresses
      .filter((data) => isIP(data) === family && (type === 'A' || type === 'AAAA'))
      .map((data) => ({ name, type: type as 'A', ttl: 1, data }));
    setTimeout(send, lateMs, answerTo(query, { answers }));
  });
  socket.bind(53, address);
  await once(socket, 'listening');
}

const zones = JSON.parse(process.argv[2] ?? '{}') as Record<string, Zone>;
const web = createServer((_request, response) => response.end('here'));
web.listen(80, '::');
await once(web, 'listening');
for (const [address, zone] of Object.entries(zones)) await serveDns(address, zone);
console.log('ready');
