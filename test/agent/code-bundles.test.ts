import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { maxCodeBundleBytes } from '@monitor/shared/contract/code-bundle.ts';
import { openArtifactReceiver } from '../support/artifact-receiver.ts';
import { temporaryFolder } from '../support/system.ts';

const never = new AbortController().signal;

test('a code bundle is written to a file of the agent alone', async () => {
  using folder = temporaryFolder();
  await using server = await openArtifactReceiver();
  server.answer = (request, response) => {
    assert.equal(request.url, '/v1/agent/code-bundles/check%2F1');
    response.writeHead(200, { 'content-type': 'application/gzip' }).end('bundle');
  };
  const file = join(folder.path, 'bundle.tgz');
  await server.client.downloadCodeBundle('check/1', file, never);
  assert.equal(readFileSync(file, 'utf8'), 'bundle');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  await assert.rejects(server.client.downloadCodeBundle('check/1', file, never), /EEXIST/);
  assert.equal(readFileSync(file, 'utf8'), 'bundle');
});

test('a bundle that breaks off, is too large or does not exist leaves nothing', async () => {
  using folder = temporaryFolder();
  await using server = await openArtifactReceiver();
  const file = join(folder.path, 'bundle.tgz');
  const block = Buffer.alloc(1_048_576);
  const answers: (typeof server.answer)[] = [
    (_request, response) => response.writeHead(404).end('{"message":"no bundle"}'),
    (request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('half', () => {
        request.socket.destroy();
      });
    },
    (_request, response) => {
      let left = maxCodeBundleBytes + 1;
      const more = (): void => {
        while (left > 0 && !response.destroyed) {
          const piece = block.subarray(0, left);
          left -= piece.length;
          if (!response.write(piece)) {
            response.once('drain', more);
            return;
          }
        }
        response.end();
      };
      more();
    },
  ];
  for (const answer of answers) {
    server.answer = answer;
    await assert.rejects(server.client.downloadCodeBundle('check', file, never), {
      code: 'CODE_BUNDLE_UNAVAILABLE',
    });
    assert.equal(existsSync(file), false);
  }
});
