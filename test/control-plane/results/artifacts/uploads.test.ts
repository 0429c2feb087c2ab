// PostgreSQL in the long tier: prune-artifacts.test.ts runs its statements on both.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import test from 'node:test';
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { maxArtifactBytes } from '@monitor/shared/contract/agent-protocol.ts';
import type { ArtifactStore } from '../../../../control-plane/core/artifact-store.ts';
import {
  declaration,
  openArtifactApi,
  sha256Base64,
  type ArtifactApi,
} from '../../../support/artifact-api.ts';
import { eventually } from '../../../support/system.ts';

const hello = Buffer.from('hello, world\n');
const zeros = Buffer.alloc(1_048_576);

/** Every file in the store, partial ones included. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** What was half written is removed once the answer is on its way. */
const untilFiles = (folder: string, count: number): Promise<void> =>
  eventually(
    () => filesIn(folder).length === count,
    () => filesIn(folder).join(', '),
  );

function zerosDigest(bytes: number): string {
  const hash = createHash('sha256');
  for (let left = bytes; left > 0; left -= zeros.length) hash.update(zeros.subarray(0, left));
  return hash.digest('base64');
}

/** An upload that the test feeds itself. */
function open(api: ArtifactApi, name: string, headers: Record<string, string>): ClientRequest {
  return request(`${api.url}/v1/agent/artifacts/${api.resultId}/${encodeURIComponent(name)}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${api.locationKey}`, ...headers },
  });
}

/** Feeds zeros until all are sent or an answer comes, and gives its status. */
async function feed(upload: ClientRequest, bytes: number): Promise<number> {
  let status: number | null = null;
  const answered = new Promise<number>((resolve, reject) => {
    upload.once('response', (response: IncomingMessage) => {
      status = response.statusCode ?? 0;
      response.resume();
      resolve(status);
    });
    upload.once('error', reject);
  });
  for (let left = bytes; left > 0 && status === null; left -= zeros.length) {
    const isTaken = upload.write(zeros.subarray(0, left));
    if (!isTaken) await Promise.race([new Promise((done) => upload.once('drain', done)), answered]);
  }
  upload.end();
  return answered;
}

test('a file is visible once it has arrived, and twice is once', async () => {
  await using api = await openArtifactApi();
  await api.announce(declaration('logs/run.txt', hello.length, { contentType: 'text/plain' }));
  assert.deepEqual(
    [(await api.asset('logs/run.txt'))['state'], (await api.asset('logs/run.txt'))['url']],
    ['PENDING', null],
  );
  assert.equal((await api.upload('logs/run.txt', hello)).status, 204);
  assert.equal((await api.upload('logs/run.txt', hello)).status, 204);
  const { url, state } = await api.asset('logs/run.txt');
  assert.equal(state, 'STORED');
  assert.equal(await (await fetch(String(url))).text(), 'hello, world\n');
  assert.equal(filesIn(api.folder).length, 1);
});

test('another file of the same name does not replace the first', async () => {
  await using api = await openArtifactApi();
  await api.announce(declaration('a.txt', hello.length));
  await api.upload('a.txt', hello);
  assert.equal((await api.upload('a.txt', Buffer.from('HELLO, world\n'))).status, 409);
  const { url } = await api.asset('a.txt');
  assert.equal(await (await fetch(String(url))).text(), 'hello, world\n');
});

test('a result has the files that its own agent announced, not those of another that made the same run', async () => {
  await using api = await openArtifactApi();
  const theirs = Buffer.from('HELLO, world\n');
  await api.announce({
    ...declaration('a.txt', hello.length),
    digest: sha256Base64(hello),
  });
  assert.equal((await api.upload('a.txt', theirs)).status, 409, 'first');
  assert.equal((await api.upload('more.txt', theirs)).status, 409, 'the result has no such file');
  assert.equal((await api.upload('a.txt', hello)).status, 204);
  assert.equal((await api.upload('a.txt', theirs)).status, 409, 'last');
  const { url } = await api.asset('a.txt');
  assert.equal(await (await fetch(String(url))).text(), 'hello, world\n');
  assert.equal(filesIn(api.folder).length, 1);
});

test('two uploads of one file at once leave one object and the digest that belongs to it', async () => {
  await using api = await openArtifactApi();
  await api.announce(declaration('a.txt', hello.length));
  const [first, second] = [
    open(api, 'a.txt', { digest: `sha-256=${sha256Base64(hello)}` }),
    open(api, 'a.txt', { digest: `sha-256=${sha256Base64(hello)}` }),
  ];
  const statuses = [first, second].map(
    (upload) =>
      new Promise((resolve) => {
        upload.once('response', (response: IncomingMessage) => {
          response.resume();
          resolve(response.statusCode);
        });
      }),
  );
  first.write(hello.subarray(0, 3));
  second.write(hello.subarray(0, 3));
  first.end(hello.subarray(3));
  second.end(hello.subarray(3));
  assert.deepEqual(await Promise.all(statuses), [204, 204]);
  const { url } = await api.asset('a.txt');
  assert.equal(await (await fetch(String(url))).text(), 'hello, world\n');
  const garbage = await api.services.db.selectFrom('artifact_garbage').selectAll().execute();
  assert.equal(filesIn(api.folder).length - garbage.length, 1);
});

test('an unannounced file, or one of another location or account, is not found', async () => {
  await using api = await openArtifactApi();
  await api.announce(declaration('a.txt', hello.length));
  assert.equal((await api.upload('b.txt', hello)).status, 409);
  const elsewhere = await api.bench.cp.locationKey('us-east-1');
  const asElsewhere = { authorization: `Bearer ${elsewhere}` };
  assert.equal((await api.upload('a.txt', hello, asElsewhere)).status, 404);
  assert.equal(filesIn(api.folder).length, 0);
});

test('a file that is not the announced one leaves nothing behind', async () => {
  await using api = await openArtifactApi();
  await api.announce(declaration('a.txt', hello.length));
  const cases: [what: string, content: Buffer<ArrayBuffer>, headers: Record<string, string>][] = [
    ['damaged', Buffer.from('hellO, world\n'), { digest: `sha-256=${sha256Base64(hello)}` }],
    ['short', hello.subarray(1), {}],
    ['long', Buffer.concat([hello, hello]), {}],
    ['no digest', hello, { digest: 'md5=abc' }],
    ['not gzip', hello, { 'content-encoding': 'gzip' }],
    ['half a gzip', gzipSync(hello).subarray(0, 20), { 'content-encoding': 'gzip' }],
    ['unknown encoding', hello, { 'content-encoding': 'br' }],
  ];
  for (const [what, content, headers] of cases) {
    assert.equal((await api.upload('a.txt', content, headers)).status, 400, what);
  }
  await untilFiles(api.folder, 0);
  assert.equal((await api.asset('a.txt'))['state'], 'PENDING');
  assert.equal((await api.upload('a.txt', hello)).status, 204);
});

test('exactly 157,286,400 bytes pass, chunked', async () => {
  await using api = await openArtifactApi();
  await api.announce(declaration('big.bin', maxArtifactBytes));
  const upload = open(api, 'big.bin', {
    digest: `sha-256=${zerosDigest(maxArtifactBytes)}`,
    'transfer-encoding': 'chunked',
  });
  assert.equal(await feed(upload, maxArtifactBytes), 204);
  assert.equal((await api.asset('big.bin'))['state'], 'STORED');
});

test('one byte more is 413, chunked, announced as the limit or as what it is; others go on', async () => {
  await using api = await openArtifactApi();
  await api.announce(
    declaration('big.bin', maxArtifactBytes),
    declaration('bigger.bin', maxArtifactBytes + 1),
    declaration('small.txt', hello.length),
  );
  const headers = {
    digest: `sha-256=${zerosDigest(maxArtifactBytes + 1)}`,
    'transfer-encoding': 'chunked',
  };
  const small = open(api, 'small.txt', { digest: `sha-256=${sha256Base64(hello)}` });
  const smallDone = new Promise((resolve) => {
    small.once('response', (response: IncomingMessage) => {
      response.resume();
      resolve(response.statusCode);
    });
  });
  small.write(hello.subarray(0, 5));
  assert.equal(await feed(open(api, 'big.bin', headers), maxArtifactBytes + 1), 413);
  assert.equal(await feed(open(api, 'bigger.bin', headers), maxArtifactBytes + 1), 413);
  small.end(hello.subarray(5));
  assert.equal(await smallDone, 204);
  await untilFiles(api.folder, 1);
});

test('a Content-Length beyond the limit is refused before the body', async () => {
  await using api = await openArtifactApi();
  await api.announce(declaration('big.bin', maxArtifactBytes));
  const upload = open(api, 'big.bin', {
    digest: `sha-256=${sha256Base64(hello)}`,
    'content-length': String(maxArtifactBytes + 1),
  });
  upload.flushHeaders();
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    upload.once('response', resolve);
    upload.once('error', reject);
  });
  assert.equal(response.statusCode, 413);
  upload.once('error', () => undefined);
  upload.destroy();
});

test('a gzip bomb stops at the limit', async () => {
  await using api = await openArtifactApi();
  await api.announce(declaration('bomb.txt', maxArtifactBytes));
  const bomb = gzipSync(Buffer.alloc(maxArtifactBytes + 1), { level: 9 });
  assert.ok(bomb.length < 200_000);
  const headers = { 'content-encoding': 'gzip' };
  assert.equal((await api.upload('bomb.txt', bomb, headers)).status, 413);
  const twice = Buffer.concat([bomb, bomb]);
  assert.equal((await api.upload('bomb.txt', twice, headers)).status, 413);
  await untilFiles(api.folder, 0);
});

test('a store that is full says to come again, however small the file', async () => {
  const full: ArtifactStore = {
    async put(_key, chunks) {
      for await (const _chunk of chunks);
      // Until the request knows that its body has ended.
      await new Promise(setImmediate);
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    },
    open: () => Promise.resolve(null),
    delete: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  await using api = await openArtifactApi({ store: full });
  await api.announce(declaration('a.txt', hello.length));
  const answer = await api.upload('a.txt', hello);
  assert.equal(answer.status, 503, await answer.text());
  assert.equal((await api.asset('a.txt'))['state'], 'PENDING');
});

test('an upload that is cut off leaves nothing', async () => {
  await using api = await openArtifactApi();
  await api.announce(declaration('a.bin', 3 * zeros.length));
  const upload = open(api, 'a.bin', {
    digest: `sha-256=${zerosDigest(3 * zeros.length)}`,
    'content-length': String(3 * zeros.length),
  });
  upload.on('error', () => undefined);
  const { services } = api;
  await new Promise((resolve) => upload.write(zeros, resolve));
  const garbage = () => services.db.selectFrom('artifact_garbage').selectAll().execute();
  while ((await garbage()).length === 0) await new Promise(setImmediate);
  upload.destroy();
  while ((await garbage())[0]?.due_at !== 0) await new Promise(setImmediate);
  assert.deepEqual(filesIn(api.folder), []);
  assert.equal((await api.asset('a.bin'))['state'], 'PENDING');
});

test('what was withheld cannot be uploaded, and says why', async () => {
  await using api = await openArtifactApi();
  await api.announce(declaration('a.txt', 5, { withheld: 'it is a symbolic link' }));
  assert.equal((await api.upload('a.txt', hello)).status, 400);
  const { state, reason, url } = await api.asset('a.txt');
  assert.deepEqual([state, reason, url], ['WITHHELD', 'it is a symbolic link', null]);
});
