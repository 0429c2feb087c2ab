/**
 * `npm run bench -- artifact`: files of 150 MB a second, sent over HTTP, counted, hashed, and stored in a
 * folder until they are durable; without the look-up of the announced file. CPU and memory are those of
 * the receiver.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { finished } from 'node:stream/promises';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { openFolderStore } from '../../control-plane/results/artifacts/folder-store.ts';
import { receiveArtifact } from '../../control-plane/results/artifacts/receive-artifact.ts';
import { temporaryFolder } from '../../test/support/system.ts';
import { median } from './process-cost.ts';
import { show } from './show.ts';

const sizeBytes = 150_000_000;
const block = Buffer.alloc(1_048_576, 'what a browser saw');

function* blocks(): Generator<Buffer> {
  for (let left = sizeBytes; left > 0; left -= block.length) yield block.subarray(0, left);
}

/** Sends one file and resolves with the answer. */
async function sendFile(port: number): Promise<void> {
  const sent = request({ port, method: 'PUT', headers: { 'content-length': sizeBytes } });
  const answered = once(sent, 'response');
  for (const bytes of blocks()) if (!sent.write(bytes)) await once(sent, 'drain');
  sent.end();
  const [response] = (await answered) as [NodeJS.ReadableStream & { resume(): void }];
  response.resume();
  await finished(response);
}

if (!isMainThread) {
  const { port } = workerData as { port: number };
  parentPort?.on('message', () => {
    void sendFile(port).then(() => parentPort?.postMessage('sent'));
  });
}

export async function benchArtifact(rounds: number): Promise<void> {
  using folder = temporaryFolder();
  await using store = await openFolderStore(folder.path);
  const hash = createHash('sha256');
  for (const bytes of blocks()) hash.update(bytes);
  const expected = { encoding: null, sizeBytes, digest: hash.digest(), isEncrypted: false };
  let files = 0;
  let largestMib = 0;
  const server = createServer((received, response) => {
    files += 1;
    void store
      .put(`account/result/file.${files}`, receiveArtifact(received, expected))
      .then(() => response.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sender = new Worker(new URL(import.meta.url), { workerData: { port } });
  const watch = setInterval(() => {
    largestMib = Math.max(largestMib, process.memoryUsage().external / 1_048_576);
  }, 10);
  const perSecond: number[] = [];
  const cpuMs: number[] = [];
  for (let round = 0; round < rounds + 1; round += 1) {
    const start = performance.now();
    const cpu = process.threadCpuUsage();
    sender.postMessage('send');
    await once(sender, 'message');
    const { user, system } = process.threadCpuUsage(cpu);
    const tookMs = performance.now() - start;
    await store.delete([`account/result/file.${files}`]);
    // The first one is a warm-up.
    if (round === 0) continue;
    perSecond.push(sizeBytes / 1_000 / tookMs);
    cpuMs.push((user + system) / 1_000);
  }
  clearInterval(watch);
  await sender.terminate();
  server.closeAllConnections();
  server.close();
  show('artifact of 150 MB', {
    received: `${median(perSecond).toFixed(0)} MB/s`,
    'CPU of the event loop': `${median(cpuMs).toFixed(0)} ms`,
    'buffers at most': `${largestMib.toFixed(0)} MiB`,
  });
}
