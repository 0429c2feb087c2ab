/**
 * Stores files in a folder. A file is written under a temporary name, synced, and renamed, so that
 * a visible file is always complete. Leftovers of a crash are deleted at the next start; in a folder
 * of several replicas only once no upload can be writing them.
 */
import { randomBytes } from 'node:crypto';
import type { ReadStream } from 'node:fs';
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolders, tighten } from '@monitor/shared/private-files.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import type { ArtifactStore } from '../../core/artifact-store.ts';

const blockBytes = 1_048_576;
/** The disk begins to make durable what was written so far. */
const syncBytes = 16 * blockBytes;
/** No upload writes this long without a pause. */
const abandonedAfterMs = 24 * 3_600_000;

function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

/** Resolves when the directory entries are durable. */
async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const sizeOf = (block: readonly Buffer[]): number =>
  block.reduce((sum, { length }) => sum + length, 0);

/** Writes all of a block: a disk that becomes full may take a part of it. */
async function writeBlock(handle: FileHandle, block: readonly Buffer[]): Promise<void> {
  const { bytesWritten } = await handle.writev(block);
  if (bytesWritten === sizeOf(block)) return;
  await handle.writeFile(Buffer.concat(block).subarray(bytesWritten));
}

/**
 * Writes chunks to a file and gives their size once they are durable. A block is written while the next
 * one arrives, and the disk has its work long before the end.
 */
async function writeAll(handle: FileHandle, chunks: AsyncIterable<Buffer>): Promise<number> {
  let total = 0;
  let block: Buffer[] = [];
  let blockSize = 0;
  let unsynced = 0;
  let writing: Promise<void> = Promise.resolve();
  // A disk reports a failed write once: the first sync that fails ends the upload.
  let syncing: Promise<void> = Promise.resolve();
  const flush = async (): Promise<void> => {
    await writing;
    writing = writeBlock(handle, block);
    writing.catch(() => {});
    total += blockSize;
    unsynced += blockSize;
    block = [];
    blockSize = 0;
    if (unsynced < syncBytes) return;
    unsynced = 0;
    syncing = Promise.all([syncing, writing]).then(() => handle.datasync());
    syncing.catch(() => {});
  };
  try {
    for await (const chunk of chunks) {
      block.push(chunk);
      blockSize += chunk.length;
      if (blockSize >= blockBytes) await flush();
    }
    if (blockSize > 0) await flush();
    await Promise.all([writing, syncing]);
    await handle.sync();
    return total;
  } finally {
    await Promise.allSettled([writing, syncing]);
    await handle.close();
  }
}

/** Deletes partial files that no process has written to for a day. */
async function sweepAbandoned(partials: string, now: number): Promise<void> {
  for (const name of await readdir(partials).catch(() => [])) {
    const path = join(partials, name);
    const found = await stat(path).catch(() => null);
    if (found !== null && found.mtimeMs < now - abandonedAfterMs) await rm(path, { force: true });
  }
}

/**
 * A store in this folder, which is created when it is missing. Only one process may use it, unless
 * it is shared; `now` is the time of its files.
 */
export async function openFolderStore(
  root: string,
  { isShared = false, now = 0 } = {},
): Promise<ArtifactStore> {
  const partials = join(root, '.partial');
  try {
    if (isShared) await sweepAbandoned(partials, now);
    else await rm(partials, { recursive: true, force: true });
    makeFolders(partials);
    tighten(root);
  } catch (error) {
    throw new OperatorError(
      `files of results cannot be kept in ${root} (${String(error)}); make it writable or set ARTIFACTS_DIR`,
    );
  }

  const pathOf = (key: string): string => {
    if (key.split('/').some((part) => part === '' || part.startsWith('.'))) {
      throw new Error(`"${key}" is not the key of an object`);
    }
    return join(root, key);
  };

  const publish = async (partial: string, path: string): Promise<void> => {
    const folder = dirname(path);
    // In between, the last file of the same result and its folder may be deleted.
    for (let triesLeft = 3; ; triesLeft -= 1) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      try {
        await rename(partial, path);
        await syncFolder(folder);
        break;
      } catch (error) {
        if (triesLeft === 0 || !hasCode(error, 'ENOENT')) throw error;
      }
    }
    await syncFolder(dirname(folder));
  };

  return {
    async put(key, chunks) {
      const path = pathOf(key);
      const partial = join(partials, randomBytes(12).toString('hex'));
      // Opened before anything can fail: a file that is being opened cannot be deleted.
      const handle = await open(partial, 'wx', 0o600);
      try {
        const bytes = await writeAll(handle, chunks);
        await publish(partial, path);
        return bytes;
      } catch (error) {
        await rm(partial, { force: true });
        throw error;
      }
    },

    async open(key, range) {
      try {
        const handle = await open(pathOf(key), 'r');
        const stream: ReadStream = handle.createReadStream({ ...range, highWaterMark: blockBytes });
        return stream;
      } catch (error) {
        if (hasCode(error, 'ENOENT', 'ENOTDIR')) return null;
        throw error;
      }
    },

    async delete(keys) {
      for (const key of keys) {
        const path = pathOf(key);
        try {
          await unlink(path);
          await rmdir(dirname(path));
        } catch (error) {
          if (!hasCode(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST')) throw error;
        }
      }
    },

    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
