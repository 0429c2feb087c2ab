import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import test from 'node:test';
import type { ArtifactStore } from '../../../../control-plane/core/artifact-store.ts';
import { openFolderStore } from '../../../../control-plane/results/artifacts/folder-store.ts';
import { openArtifactStore } from '../../../../control-plane/results/artifacts/open-artifact-store.ts';
import { readConfig } from '../../../../control-plane/core/config.ts';
import { startS3 } from '../../../support/s3.ts';
import { temporaryFolder } from '../../../support/system.ts';

interface Opened extends AsyncDisposable {
  store: ArtifactStore;
  /** Names of everything that is kept. */
  kept(): string[];
}

function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

async function openFolder(): Promise<Opened> {
  const folder = temporaryFolder();
  const store = await openFolderStore(folder.path);
  return {
    store,
    kept: () => filesBelow(folder.path),
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

async function openS3(): Promise<Opened> {
  const server = await startS3();
  const store = await openArtifactStore(
    readConfig({ ...server.settings, ARTIFACTS_S3_PREFIX: 'monitor/' }),
  );
  return {
    store,
    // This server cannot abort an upload: its parts stay, though no object appears.
    kept: () => filesBelow(join(server.folder, 'monitor')),
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function* pieces(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) {
    await Promise.resolve();
    yield Buffer.from(text);
  }
}

async function* failing(bytes: number): AsyncGenerator<Buffer> {
  for (let sent = 0; sent < bytes; sent += 1_048_576) {
    await Promise.resolve();
    yield Buffer.alloc(1_048_576);
  }
  throw new Error('cut off');
}

async function read(store: ArtifactStore, key: string, start?: number, end?: number) {
  const range = start === undefined || end === undefined ? undefined : { start, end };
  const stream = await store.open(key, range);
  return stream === null ? null : (await buffer(stream)).toString();
}

for (const [name, open] of [
  ['folder', openFolder],
  ['S3 store', openS3],
] as const) {
  test(`a ${name} gives back what was put, whole or in part, until it is deleted`, async () => {
    await using opened = await open();
    const { store } = opened;
    assert.equal(await store.put('account/result/a b.txt.1', pieces('hello, ', 'world')), 12);
    assert.equal(await read(store, 'account/result/a b.txt.1'), 'hello, world');
    assert.equal(await read(store, 'account/result/a b.txt.1', 7, 10), 'worl');
    assert.equal(await store.put('account/result/empty', pieces()), 0);
    assert.equal(await read(store, 'account/result/empty'), '');
    assert.equal(await read(store, 'account/result/absent'), null);
    await store.delete(['account/result/a b.txt.1', 'account/result/absent']);
    assert.equal(await read(store, 'account/result/a b.txt.1'), null);
    assert.equal(await read(store, 'account/result/empty'), '');
  });

  test(`a ${name} keeps 20 MB in several parts`, async () => {
    await using opened = await open();
    const block = 'x'.repeat(1_048_576);
    const blocks = Array.from({ length: 20 }, () => block);
    assert.equal(await opened.store.put('a/b/large', pieces(...blocks)), 20 * block.length);
    assert.equal((await read(opened.store, 'a/b/large'))?.length, 20 * block.length);
  });

  test(`a ${name} keeps nothing of content that ends in an error`, async () => {
    await using opened = await open();
    for (const bytes of [1, 20_000_000]) {
      await assert.rejects(opened.store.put('a/b/broken', failing(bytes)), /cut off/);
      assert.equal(await read(opened.store, 'a/b/broken'), null);
    }
    assert.deepEqual(opened.kept(), []);
  });
}

test('a folder is swept of what a crash left, and of nothing else', async () => {
  using folder = temporaryFolder();
  await using first = await openFolderStore(folder.path);
  await first.put('a/b/c', pieces('kept'));
  writeFileSync(join(folder.path, '.partial', 'half'), 'half');
  await using second = await openFolderStore(folder.path);
  assert.equal(existsSync(join(folder.path, '.partial', 'half')), false);
  assert.equal(await read(second, 'a/b/c'), 'kept');
});

test('a replica that starts leaves alone what others are writing to a shared folder', async () => {
  using folder = temporaryFolder();
  const now = Date.now();
  const shared = { isShared: true, now };
  await using first = await openFolderStore(folder.path, shared);
  const written = first.put(
    'a/b/c',
    (async function* () {
      yield Buffer.from('half, ');
      await using second = await openFolderStore(folder.path, shared);
      assert.equal(await read(second, 'a/b/c'), null);
      yield Buffer.from('whole');
    })(),
  );
  assert.equal(await written, 11);
  const left = join(folder.path, '.partial', 'half');
  writeFileSync(left, 'half');
  await using third = await openFolderStore(folder.path, { isShared: true, now: now + 80_000_000 });
  assert.equal(existsSync(left), true);
  await using fourth = await openFolderStore(folder.path, {
    isShared: true,
    now: now + 100_000_000,
  });
  assert.equal(existsSync(left), false);
  assert.equal(await read(third, 'a/b/c'), 'half, whole');
  assert.equal(await read(fourth, 'a/b/c'), 'half, whole');
});

test('a folder that cannot be used is named, with what to do', async () => {
  using folder = temporaryFolder();
  mkdirSync(join(folder.path, 'x'));
  writeFileSync(join(folder.path, 'x', 'file'), '');
  await assert.rejects(openFolderStore(join(folder.path, 'x', 'file')), /ARTIFACTS_DIR/);
});

test('a key that leads out of the folder is refused', async () => {
  await using opened = await openFolder();
  for (const key of ['../a', 'a/../b', 'a//b', '.partial/x']) {
    await assert.rejects(opened.store.put(key, pieces('x')), /not the key/, key);
  }
});
