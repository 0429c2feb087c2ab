/** What those who read captures for a living see in ours. Needs tshark. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { openPacketCapture, type PacketCapture } from '../../agent/net/capture/packet-capture.ts';
import { visit } from '../support/captured-visit.ts';
import { selfSigned } from '../support/certificates.ts';
import { httpsServer, rawServer } from '../support/servers.ts';
import { temporaryFolder } from '../support/system.ts';

const canary = 'canary-90aa';

/** Lines of fields, one for each packet. */
function dissect(file: Buffer | undefined, ...fields: string[]): string[] {
  using folder = temporaryFolder();
  const path = join(folder.path, 'capture.pcap');
  writeFileSync(path, file ?? Buffer.alloc(0));
  const words = ['-r', path, '-T', 'fields', ...fields.flatMap((field) => ['-e', field])];
  return execFileSync('tshark', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    .trimEnd()
    .split('\n');
}

suite('a capture opened by tshark', () => {
  let capture: PacketCapture;
  before(() => {
    assert.equal(spawnSync('tshark', ['--version']).status, 0, 'install the package tshark');
    const opened = openPacketCapture({ bufferMb: 4 });
    assert.ok(opened.capture !== null, 'this test needs the right to capture (CAP_NET_RAW)');
    ({ capture } = opened);
  });
  after(() => {
    capture[Symbol.dispose]();
  });

  test('shows one stream from its SYN to its RST, with the lengths of what was cut off', async () => {
    await using server = await rawServer(`HTTP/1.1 200 OK\r\nx: ${canary}`, 'reset');
    const url = `${server.url.replace('tcp', 'http')}/${canary}`;
    const { files } = await visit(url, { capture });
    const file = files.get('capture.pcap');
    const lines = dissect(file, 'tcp.stream', 'tcp.flags.str', 'tcp.len', 'tcp.dstport');
    assert.deepEqual([...new Set(lines.map((line) => line.split('\t')[0]))], ['0']);
    assert.match(lines[0] ?? '', /S·\t0\t/);
    assert.ok(lines[0]?.endsWith(String(server.port)));
    assert.ok(lines.some((line) => /R/.test(line.split('\t')[1] ?? '')));
    const sizes = lines.map((line) => Number(line.split('\t')[2]));
    assert.ok(sizes.some((size) => size > canary.length));
    assert.equal(file?.includes('canary'), false);
  });

  test('shows the hello of a handshake that failed', async () => {
    const { key, cert } = await selfSigned({ host: 'localhost', validForDays: 9 });
    await using server = await httpsServer(key, cert);
    const { files } = await visit(`https://localhost:${server.port}/`, { capture });
    const file = files.get('capture.pcap');
    const lines = dissect(file, 'tcp.flags.str', 'tcp.len', 'tcp.payload');
    const payloads = lines.map((line) => line.split('\t')[2] ?? '').filter((hex) => hex !== '');
    assert.match(payloads[0] ?? '', /^1603[0-9a-f]{6}01/);
    for (const payload of payloads) assert.equal(payload.length, 14);
  });
});
