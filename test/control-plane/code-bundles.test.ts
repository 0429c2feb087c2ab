import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm, stat, unlink } from 'node:fs/promises';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import test from 'node:test';
import { pino } from 'pino';
import { agentCodeBundleRoutes } from '@monitor/shared/contract/agent-protocol.ts';
import { codeBundleRoutes, maxCodeBundleBytes } from '@monitor/shared/contract/code-bundle.ts';
import { buildApp } from '../../control-plane/app/app.ts';
import { readConfig } from '../../control-plane/core/config.ts';
import { WriteWatch } from '../../control-plane/core/write-watch.ts';
import { CommitQueue } from '../../control-plane/db/commit-queue.ts';
import { migrateToLatest } from '../../control-plane/db/migrate.ts';
import { openDatabase } from '../../control-plane/db/open.ts';
import { bind } from '../../control-plane/http/handlers.ts';
import { implement } from '../../control-plane/http/implement.ts';
import { sha256Hex } from '../../control-plane/core/keys.ts';
import { pruneCodeBundles } from '../../control-plane/checks/prune-code-bundles.ts';
import {
  agentCodeBundleHandlers,
  codeBundleHandlers,
} from '../../control-plane/checks/code-bundles/handlers.ts';
import { CodeBundleStore } from '../../control-plane/checks/code-bundles/store.ts';
import { openArtifactStore } from '../../control-plane/results/artifacts/open-artifact-store.ts';
import { ownedObjects } from '../../control-plane/results/owned-objects.ts';
import { pruneArtifacts } from '../../control-plane/results/prune-artifacts.ts';
import { startS3 } from '../support/s3.ts';
import { TestClock } from '../support/test-clock.ts';
import { longestWaitMs } from '../../proof/system.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const dayMs = 86_400_000;
const hourMs = 3_600_000;
const location = 'office';

/** The routes of code bundles alone, with the real router, a real database and a real store. */
async function setUp({ inS3 = false, quotaBytes = 0 } = {}) {
  await using stack = new AsyncDisposableStack();
  const root = await mkdtemp(join(tmpdir(), 'bundles-'));
  stack.defer(() => rm(root, { recursive: true, force: true }));
  const s3 = inS3 ? stack.use(await startS3()) : null;
  const kept = s3?.folder ?? join(root, 'artifacts');
  const artifacts = stack.use(
    await openArtifactStore(
      readConfig(s3?.settings ?? { DATABASE_FILE: join(root, 'control-plane.db') }),
    ),
  );
  const db = openDatabase(':memory:');
  stack.defer(() => db.destroy());
  await migrateToLatest(db);
  const clock = new TestClock(start);
  const accounts = { mine: randomUUID(), other: randomUUID() };
  for (const [name, id] of Object.entries(accounts)) {
    await db.insertInto('accounts').values({ id, name, created_at: start }).execute();
  }
  const logger = pino({ level: 'silent' });
  const services = { artifacts, clock, commits: new CommitQueue(db), db, logger };
  const parts = { ...services, objects: ownedObjects(services), quotaBytes };
  const store = new CodeBundleStore(parts);
  const accountOf = new Map(Object.entries(accounts).map(([name, id]) => [name, id]));
  const find = (keyHash: string, prefix: string) =>
    [...accountOf].find(([name]) => sha256Hex(`${prefix}-${name}-key`) === keyHash)?.[1];
  const api = implement(
    [
      ...bind(codeBundleRoutes, codeBundleHandlers(store)),
      ...bind(agentCodeBundleRoutes, agentCodeBundleHandlers(store)),
    ],
    {
      keys: {
        findSession: () => Promise.resolve(undefined),
        noteRefusal: () => Promise.resolve(),
        findHolder: () => Promise.resolve(undefined),
        findApiKey: (keyHash) => {
          const accountId = find(keyHash, 'api');
          if (accountId === undefined) return Promise.resolve(undefined);
          return Promise.resolve({ kind: 'apiKey', accountId, keyId: 'k', role: 'OWNER', keyHash });
        },
        findLocationKey: (keyHash) => {
          const accountId = find(keyHash, 'location');
          if (accountId === undefined) return Promise.resolve(undefined);
          return Promise.resolve({ kind: 'locationKey', accountId, keyId: 'k', location, keyHash });
        },
      },
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      checkResponses: true,
      requestsPerMinute: 0,
    },
  );
  const server = createServer();
  server.on(
    'request',
    buildApp({
      publicUrl: 'http://127.0.0.1',
      before: [api],
      doors: {} as never,
      trustedProxies: [],
      logger,
      writes: new WriteWatch(clock, logger),
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stack.defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const opened = stack.move();
  return {
    ...{ db, clock, store, accounts, port, url, kept },
    async upload(body: Uint8Array, who = 'mine') {
      const response = await fetch(`${url}/v1/code-bundles`, {
        method: 'POST',
        headers: { authorization: `Bearer api-${who}-key` },
        body,
      });
      return { status: response.status, body: (await response.json()) as Record<string, never> };
    },
    download: (checkId: string, who = 'mine') =>
      fetch(`${url}/v1/agent/code-bundles/${checkId}`, {
        headers: { authorization: `Bearer location-${who}-key` },
      }),
    /** A suite as the database has it. */
    async suite(path: string, fields: { at?: string; type?: string; who?: 'mine' | 'other' } = {}) {
      const { at = location, type = 'PLAYWRIGHT', who = 'mine' } = fields;
      const id = randomUUID();
      const account_id = accounts[who];
      await db
        .insertInto('checks')
        .values({
          ...{ id, account_id, type, name: 'suite', activated: 1, frequency: 10 },
          ...{ frequency_offset: 0, run_parallel: 0, group_id: null, group_order: null },
          body_json: JSON.stringify({ codeBundlePath: path }),
          ...{ revision: 1, created_at: start, updated_at: null },
        } as never)
        .execute();
      await db
        .insertInto('check_locations')
        .values({ check_id: id, account_id, location: at, position: 0 })
        .execute();
      return id;
    },
    /** Everything that is kept, once what nobody owns is deleted. */
    async files() {
      while (await pruneArtifacts(services, 30 * dayMs));
      return (await readdir(kept, { recursive: true, withFileTypes: true }).catch(() => []))
        .filter((entry) => entry.isFile() && !/_S3rver_(?!object$)/.test(entry.name))
        .map((entry) => relative(kept, join(entry.parentPath, entry.name)));
    },
    /** Files that are being written, too. */
    incoming: () => readdir(join(kept, '.partial')),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const gzip = (text: string) => Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.from(text)]);

for (const inS3 of [false, true]) {
  test(`a bundle in ${inS3 ? 'an S3 store' : 'a folder'} comes back as it was, and goes with its row`, async () => {
    await using cp = await setUp({ inS3 });
    const bytes = gzip('a suite'.repeat(500_000));
    const path = String((await cp.upload(bytes)).body['codeBundlePath']);
    const answer = await cp.download(await cp.suite(path));
    assert.equal(answer.status, 200);
    assert.deepEqual(Buffer.from(await answer.arrayBuffer()), bytes);
    const [file = '', ...others] = await cp.files();
    assert.match(file, new RegExp(`^bundles/${cp.accounts.mine}/[0-9a-f]{24}\\.tgz`));
    assert.deepEqual(others, []);
    await cp.db.deleteFrom('checks').execute();
    cp.clock.advance(31 * dayMs);
    assert.equal(await pruneCodeBundles(cp.store, cp.clock), 1);
    assert.deepEqual(await cp.files(), []);
  });
}

test('a bundle is named after what it holds, and the same one twice is stored once', async () => {
  await using cp = await setUp();
  const bytes = gzip('a suite');
  const digest = createHash('sha256').update(bytes).digest('hex');
  const answer = { codeBundlePath: `bundles/${digest}.tgz`, cacheHash: digest, size: bytes.length };
  assert.deepEqual(await cp.upload(bytes), { status: 201, body: answer });
  assert.deepEqual(await cp.upload(bytes), { status: 201, body: answer });
  const [file = '', ...others] = await cp.files();
  assert.deepEqual(others, []);
  assert.equal((await stat(join(cp.kept, file))).size, bytes.length);
});

test('an account keeps no more than its quota, whether uploads come one by one or at once', async () => {
  const size = 300_000;
  const bundle = () => gzip(randomBytes(size).toString('hex'));
  const quotaBytes = 5 * bundle().length;
  await using cp = await setUp({ quotaBytes });
  const same = bundle();
  const first = await cp.upload(same);
  const answers = [
    first,
    ...(await Promise.all(Array.from({ length: 20 }, () => cp.upload(bundle())))),
  ];
  const kept = answers.filter(({ status }) => status === 201);
  assert.ok(kept.length >= 1 && kept.length <= 5, `${kept.length} are kept`);
  assert.equal((await cp.files()).length, kept.length, 'nothing of a refused one stays');
  const refused = answers.find(({ status }) => status !== 201);
  assert.equal(refused?.status, 413);
  assert.match(JSON.stringify(refused?.body), /over its quota of \d+ bytes \(BUNDLE_MIB\)/);
  // One after the other, what is free is used up to the last.
  while ((await cp.upload(bundle())).status === 201);
  assert.equal((await cp.files()).length, 5);
  assert.equal((await cp.upload(same)).status, 201, 'what is kept already needs no room');
  assert.equal((await cp.files()).length, 5);
  const stranger = await cp.upload(bundle(), 'other');
  assert.equal(stranger.status, 201, 'the quota of one account is not that of another');
  cp.clock.advance(2 * dayMs);
  assert.equal(await pruneCodeBundles(cp.store, cp.clock), 6);
  assert.equal((await cp.upload(bundle())).status, 201);
});

test('twenty uploads of the same bundle at once are one bundle', async () => {
  await using cp = await setUp();
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => cp.upload(gzip('the same'.repeat(5_000)))),
  );
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
  assert.equal((await cp.files()).length, 1);
});

test('what is not gzip is refused with words, and nothing stays', async () => {
  await using cp = await setUp();
  for (const bytes of [Buffer.from('PK\u0003\u0004zip'), Buffer.from([0x1f]), Buffer.alloc(0)]) {
    const { status, body } = await cp.upload(bytes);
    assert.equal(status, 400);
    assert.match(String(body['message']), /not a gzip-compressed tar; make it with/);
  }
  assert.deepEqual(await cp.files(), []);
});

/** Sends a body without fetch, which would not lie about its length. */
function send(
  port: number,
  headers: Record<string, string>,
  write: (send: (bytes: Buffer) => Promise<void>) => Promise<void>,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      ...{ port, host: '127.0.0.1', method: 'POST', path: '/v1/code-bundles' },
      headers: { authorization: 'Bearer api-mine-key', ...headers },
    });
    request.on('error', reject);
    request.on('response', (response: IncomingMessage) => {
      response.setEncoding('utf8');
      let text = '';
      response.on('data', (part: string) => (text += part));
      response.on('end', () => {
        request.destroy();
        resolve({ status: response.statusCode ?? 0, text });
      });
    });
    const sendBytes = (bytes: Buffer) =>
      new Promise<void>((done) => {
        const go = () => {
          request.off('drain', go).off('close', go);
          done();
        };
        if (request.destroyed || request.write(bytes)) done();
        else request.once('drain', go).once('close', go);
      });
    void write(sendBytes).then(() => {
      if (!request.destroyed) request.end();
    });
  });
}

function bytesOf(count: number) {
  return async (send: (bytes: Buffer) => Promise<void>) => {
    const piece = Buffer.alloc(1_048_576, 'x');
    let left = count;
    let at = 0;
    while (left > 0) {
      const part = Buffer.from(piece.subarray(0, Math.min(left, piece.length)));
      if (at === 0) part.set([0x1f, 0x8b]);
      await send(part);
      at += part.length;
      left -= part.length;
    }
  };
}

test('a bundle of exactly the limit passes and one byte more is 413, announced or chunked', async () => {
  await using cp = await setUp();
  const exact = await send(
    cp.port,
    { 'content-length': String(maxCodeBundleBytes) },
    bytesOf(maxCodeBundleBytes),
  );
  assert.equal(exact.status, 201, exact.text);
  assert.equal((await cp.files()).length, 1);
  for (const headers of [
    { 'content-length': String(maxCodeBundleBytes + 1) },
    { 'transfer-encoding': 'chunked' },
  ]) {
    const over = await send(cp.port, headers, bytesOf(maxCodeBundleBytes + 1));
    assert.equal(over.status, 413, JSON.stringify(headers));
    assert.match(over.text, /157286400 bytes/);
  }
  assert.equal((await cp.files()).length, 1, 'nothing of a refused bundle stays');
});

test('a length that promises more than comes leaves nothing behind', async () => {
  await using cp = await setUp();
  const request = httpRequest({
    ...{ port: cp.port, host: '127.0.0.1', method: 'POST', path: '/v1/code-bundles' },
    headers: { authorization: 'Bearer api-mine-key', 'content-length': '5000' },
  });
  request.on('error', () => undefined);
  request.write(gzip('only this'));
  const until = Date.now() + longestWaitMs;
  const eventually = async (isThere: boolean) => {
    while ((await cp.incoming()).length > 0 !== isThere) {
      assert.ok(Date.now() < until, isThere ? 'never began' : 'the partial file stays');
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await eventually(true);
  request.destroy();
  await eventually(false);
  assert.deepEqual(await cp.files(), []);
});

test('an agent gets the bundle of a suite of its account and location, and no other', async () => {
  await using cp = await setUp();
  const bytes = gzip('suite');
  const { codeBundlePath: path } = (await cp.upload(bytes)).body as unknown as Record<
    string,
    string
  >;
  assert.ok(path !== undefined);
  const mine = await cp.download(await cp.suite(path));
  assert.equal(mine.status, 200);
  assert.equal(mine.headers.get('content-type'), 'application/gzip');
  assert.deepEqual(Buffer.from(await mine.arrayBuffer()), bytes);
  assert.equal(
    mine.headers.get('digest'),
    `sha-256=${createHash('sha256').update(bytes).digest('base64')}`,
  );
  for (const id of [
    await cp.suite(path, { at: 'elsewhere' }),
    await cp.suite(path, { type: 'BROWSER' }),
    await cp.suite(path, { who: 'other' }),
    randomUUID(),
  ]) {
    assert.equal((await cp.download(id)).status, 404);
  }
  const foreign = await cp.suite(path, { who: 'other' });
  const answer = await cp.download(foreign, 'other');
  assert.equal(answer.status, 404, 'the same path in another account is another bundle');
  assert.match(((await answer.json()) as { message: string }).message, /no code bundle .* upload/);
});

test('bundles without use for a day are deleted, unless a check names them', async () => {
  await using cp = await setUp();
  const paths: string[] = [];
  for (const text of ['named', 'used', 'forgotten']) {
    paths.push(String((await cp.upload(gzip(text))).body['codeBundlePath']));
  }
  const [named = '', used = ''] = paths;
  await cp.suite(named);
  cp.clock.advance(20 * hourMs);
  const check = await cp.suite(used);
  await (await cp.download(check)).arrayBuffer();
  await cp.db.deleteFrom('checks').where('id', '=', check).execute();
  cp.clock.advance(3 * hourMs);
  // The timer looks every hour.
  assert.equal(await pruneCodeBundles(cp.store, cp.clock), 0, 'after 23 hours it is still there');
  cp.clock.advance(1);
  assert.equal(await pruneCodeBundles(cp.store, cp.clock), 1);
  assert.equal((await cp.files()).length, 2);
  for (const path of [named, used]) {
    assert.equal((await cp.download(await cp.suite(path))).status, 200);
  }
});

test('a bundle with a missing file is an internal error, not a broken answer', async () => {
  await using cp = await setUp();
  const path = String((await cp.upload(gzip('lost'))).body['codeBundlePath']);
  for (const file of await cp.files()) await unlink(join(cp.kept, file));
  assert.equal((await cp.download(await cp.suite(path))).status, 500);
});
