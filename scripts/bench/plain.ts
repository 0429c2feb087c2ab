/**
 * The floor: the plainest Node loop that makes the same calls, and nothing else. Arguments: kind,
 * port, calls, calls per second (0 for flat out). Prints the CPU per call in ms.
 */
import { createSocket } from 'node:dgram';
import { get } from 'node:http';
import { connect } from 'node:net';
import dnsPacket from 'dns-packet';

const [kind = '', portText = '', countText = '', rateText = ''] = process.argv.slice(2);
const port = Number(portText);
const count = Number(countText);
const rate = Number(rateText);
const concurrency = 8;

const calls: Record<string, () => Promise<void>> = {
  http: () =>
    new Promise((resolve, reject) => {
      get({ host: '127.0.0.1', port, path: '/', agent: false }, (response) => {
        response.resume().on('end', resolve);
      }).on('error', reject);
    }),
  tcp: () =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.destroy();
        resolve();
      }).on('error', reject);
    }),
  dns: () =>
    new Promise((resolve) => {
      const socket = createSocket('udp4');
      socket.on('message', (message) => {
        dnsPacket.decode(message);
        socket.close();
        resolve();
      });
      const query = dnsPacket.encode({
        type: 'query',
        id: 1,
        flags: dnsPacket.RECURSION_DESIRED,
        questions: [{ type: 'A', name: 'bench.example' }],
      });
      socket.send(query, port, '127.0.0.1');
    }),
};
const call = calls[kind];
if (call === undefined) throw new Error(`no such kind: ${kind}`);

for (let warmUp = 0; warmUp < 200; warmUp += 1) await call();
const before = process.cpuUsage();
if (rate === 0) {
  let left = count;
  const work = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await call();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
} else {
  const start = performance.now();
  const pending: Promise<void>[] = [];
  for (let index = 0; index < count; index += 1) {
    const dueMs = start + (index * 1000) / rate - performance.now();
    if (dueMs > 0) await new Promise((resolve) => setTimeout(resolve, dueMs));
    pending.push(call());
  }
  await Promise.all(pending);
}
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ cpuMs: (user + system) / 1000 / count }));
process.exit(0);
