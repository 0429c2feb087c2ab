import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import test from 'node:test';
import { runUrl } from '../../../../agent/runners/url.ts';
import { definitionOf, runnerContext } from '../../../support/runner-context.ts';
import { tcpServer } from '../../../support/servers.ts';

const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`;
const chunk = (extension: string): string => `1;${extension}\r\nx\r\n`;
/** Members without content: decoding them gives nothing. */
const emptyMembers = gzipSync(Buffer.concat(Array(1_300_000).fill(gzipSync(''))));

for (const [what, answer, code] of [
  [
    'a flood of interim responses',
    'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(200),
    'TOO_MANY_INTERIM',
  ],
  [
    'a few interim responses',
    `${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(5)}${ok}content-length: 0\r\n\r\n`,
    null,
  ],
  [
    'chunks that are nearly all extension',
    chunked + chunk(`a=${'b'.repeat(8_000)}`).repeat(400),
    'CHUNK_OVERHEAD',
  ],
  ['a body in chunks of one byte', `${chunked}${chunk('a').repeat(50_000)}0\r\n\r\n`, null],
  [
    'encoded data in encoded data, without content',
    Buffer.concat([
      Buffer.from(
        `${ok}content-encoding: gzip, gzip\r\ncontent-length: ${emptyMembers.length}\r\n\r\n`,
      ),
      emptyMembers,
    ]),
    'ENCODING_BOMB',
  ],
] as const) {
  test(`${what}: ${code ?? 'an answer'}`, async () => {
    await using server = await tcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.write(answer));
    });
    const url = `http://127.0.0.1:${server.port}/`;
    const seen = await runUrl(definitionOf('URL', { url }), runnerContext(60_000));
    assert.equal(seen.failure?.code ?? null, code);
  });
}
