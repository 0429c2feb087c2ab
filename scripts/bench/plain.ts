/**
 * The floor: the plainest Node loop that makes the same calls, and nothing else. Arguments: kind, port, calls, calls
 * per second. Prints the CPU per call in ms.
 */
import { createSocket } from 'node:dgram';
import { get } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import dnsPacket from 'dns-packet';
import { ownCpuMs } from './measure.ts';

const [kind = '', ...numbers] = process.argv.slice(2);
const [port = 0, count = 0, rate = 0] = numbers.map(Number);

const calls: Record<string, (resolve: () => void, reject: (error: Error) => void) => void> = {
  http: (resolve, reject) => {
    get({ host: '127.0.0.1', port, path: '/', agent: false }, (response) => {
      response.resume().on('end', resolve);
    }).on('error', reject);
  },
  tcp: (resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve();
    }).on('error', reject);
  },
  dns: (resolve) => {
    const socket = createSocket('udp4');
    socket.on('message', (message) => {
      dnsPacket.decode(message);
      socket.close();
      resolve();
    });
    const query = dnsPacket.encode({
      ...{ type: 'query', id: 1, flags: dnsPacket.RECURSION_DESIRED },
      questions: [{ type: 'A', name: 'bench.example' }],
    });
    socket.send(query, port, '127.0.0.1');
  },
};
const start = calls[kind];
if (start === undefined) throw new Error(`no such kind: ${kind}`);
const call = (): Promise<void> => new Promise(start);

for (let warmUp = 0; warmUp < 200; warmUp += 1) await call();
const before = ownCpuMs();
const begunAt = performance.now();
const pending: Promise<void>[] = [];
for (let index = 0; index < count; index += 1) {
  const dueMs = begunAt + (index * 1000) / rate - performance.now();
  if (dueMs > 0) await pause(dueMs);
  pending.push(call());
}
await Promise.all(pending);
console.log((ownCpuMs() - before) / count);
process.exit(0);
