/**
 * A control plane with one announced file of so many bytes, and beside it the plainest way to take a
 * file over HTTP. Prints where they are; prints its peak of memory whenever it is asked at `/peak`.
 */
import { createWriteStream, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { declaration, openArtifactApi } from '../../test/support/artifact-api.ts';
import { temporaryFolder } from '../../test/support/system.ts';

const [bytes = '0', rounds = '0'] = process.argv.slice(2);
using folder = temporaryFolder();
await using api = await openArtifactApi();
await api.announce(
  ...Array.from({ length: Number(rounds) }, (_, round) =>
    declaration(`round-${round}.bin`, Number(bytes)),
  ),
);

const plain = createServer((request, response) => {
  if (request.url === '/peak') {
    const peak = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    response.end(JSON.stringify({ peakMib: Number(peak) / 1024 }));
    return;
  }
  void pipeline(request, createWriteStream(join(folder.path, 'plain'), { flush: true })).then(() =>
    response.writeHead(204).end(),
  );
});
await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
const { port } = plain.address() as AddressInfo;
console.log(
  JSON.stringify({
    url: api.url,
    plainUrl: `http://127.0.0.1:${port}`,
    key: api.locationKey,
    resultId: api.resultId,
  }),
);
await new Promise((resolve) => process.once('SIGTERM', resolve));
plain.closeAllConnections();
plain.close();
