/**
 * Uploads one file as an agent does, or as plainly as Node can. Arguments: `agent` or `plain`, base
 * URL, key, result, name, path, digest. Prints milliseconds, those of CPU, and by how much memory grew at
 * its peak.
 */
import { createReadStream, readFileSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { ControlPlaneClient } from '../../agent/link/control-plane-client.ts';
import { createDispatcher } from '../../agent/link/dispatcher.ts';

const [how, url = '', key = '', resultId = '', name = '', path = '', digest = ''] =
  process.argv.slice(2);
const size = statSync(path).size;

const peakMib = (): number =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024;

function plainUpload(): Promise<void> {
  return new Promise((resolve, reject) => {
    const upload = request(url, { method: 'PUT', headers: { 'content-length': size } });
    upload.once('error', reject);
    upload.once('response', (response) => {
      response.resume();
      response.once('end', resolve);
    });
    createReadStream(path).pipe(upload);
  });
}

const client = new ControlPlaneClient({
  baseUrl: url,
  apiKey: { reveal: () => key },
  dispatcher: createDispatcher({}),
  agentId: '99999999-2222-4333-8444-555555555555',
  version: 'bench',
});
// A running agent has spoken to its control plane before.
await client.goodbye().catch(() => undefined);
const before = peakMib();
const cpuBefore = process.cpuUsage();
const start = performance.now();
if (how === 'agent') {
  const upload = { resultId, name, path, size, digest, isCompressed: false };
  await client.uploadArtifact(upload, new AbortController().signal);
} else {
  await plainUpload();
}
const ms = performance.now() - start;
const { user, system } = process.cpuUsage(cpuBefore);
console.log(JSON.stringify({ ms, cpuMs: (user + system) / 1000, grewMib: peakMib() - before }));
process.exit(0);
