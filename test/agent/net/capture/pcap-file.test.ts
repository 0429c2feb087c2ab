import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pcapFile } from '../../../../agent/net/capture/pcap-file.ts';
import { createScrubber } from '../../../../agent/scrub/create-scrubber.ts';
import { readPcap } from '../../../support/pcap-reader.ts';
import { temporaryFolder } from '../../../support/system.ts';

test('a capture passes the removal of secrets as it is, though an address is one', async () => {
  using folder = temporaryFolder();
  // From 192.0.2.7 to 10.0.0.1, port 443.
  const headers =
    '450000280000400040060000c00002070a000001c35001bb00000000000000005002ffff00000000';
  const packet = Buffer.from(headers, 'hex');
  const record = Buffer.alloc(16);
  record.writeUInt32LE(packet.length, 8);
  record.writeUInt32LE(packet.length, 12);
  const bytes = pcapFile(Buffer.concat([record, packet]));
  const path = join(folder.path, 'capture.pcap');
  writeFileSync(path, bytes);
  const secrets = ['192.0.2.7', '10.0.0.1:443', 'c00002070a000001', 'fd01::2'];
  const scrubber = createScrubber({ secrets, detect: true });
  await scrubber.file(path, 'application/vnd.tcpdump.pcap');
  assert.deepEqual(readFileSync(path), bytes);
  assert.equal(readPcap(bytes)[0]?.to, '10.0.0.1 443');
  // In words it is a secret like any other.
  assert.equal(scrubber.text('connecting to 192.0.2.7:443'), 'connecting to *********:443');
});
