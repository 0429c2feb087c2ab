/**
 * Takes a file that customers' code made. It may be a link to a file that is none of its business, a
 * pipe that never ends, or still be written to: what is taken is a regular file, as a copy that only
 * this user can open, or the file itself where it was this user's alone.
 */
import { constants, type Stats } from 'node:fs';
import { lstat, open, realpath, rename, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { maxArtifactBytes } from '@monitor/shared/contract/agent-protocol.ts';

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
const blockBytes = 1_048_576;

/** Why a file was not taken, in words for the result. */
export class NotTaken extends Error {}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  switch (code) {
    case 'ELOOP':
    case 'EMLINK':
      return 'it is a symbolic link';
    case 'ENOENT':
      return 'it no longer exists';
    case 'ENXIO':
      return 'it is not a regular file';
    case 'ENOSPC':
    case 'EDQUOT':
      return 'the disk of the agent is full';
    default:
      return `it cannot be read (${code === '' ? String(error) : code})`;
  }
}

/** Where an open file is, whatever has become of its name since. */
async function placeOf(handle: FileHandle, path: string): Promise<string> {
  return realpath(`/proc/self/fd/${handle.fd}`).catch(() => realpath(path));
}

const isOwnFile = (facts: Stats): boolean => facts.nlink === 1 && facts.uid === process.getuid?.();

/** Renames the file itself; false when that is not possible or another took its place. */
async function moveItself(path: string, facts: Stats, to: string): Promise<boolean> {
  try {
    await rename(path, to);
  } catch {
    return false;
  }
  const moved = await lstat(to);
  if (moved.ino === facts.ino && moved.dev === facts.dev) return true;
  await rm(to, { recursive: true, force: true });
  throw new NotTaken('it was replaced while it was being taken');
}

/**
 * Moves the file at `path` to `to`, with mode 0600, and gives its size in bytes. One that is larger
 * than an artifact may be need not be at `to` afterwards. With `within`, only from below that folder. Throws NotTaken.
 */
export async function takeFile(path: string, to: string, within: string | null): Promise<number> {
  try {
    await using handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const facts = await handle.stat();
    if (!facts.isFile()) throw new NotTaken('it is not a regular file');
    if (within !== null) {
      const place = await placeOf(handle, path);
      if (!place.startsWith((await realpath(within)) + sep)) {
        throw new NotTaken('it is outside of the folder of the run');
      }
    }
    if (isOwnFile(facts) && (await moveItself(path, facts, to))) {
      await handle.chmod(0o600);
      return (await handle.stat()).size;
    }
    if (facts.size > maxArtifactBytes) {
      await rm(path, { force: true }).catch(() => undefined);
      return facts.size;
    }
    // Opened before anything can go wrong: a file that is still being opened cannot be removed.
    const copy = (await open(to, 'wx', 0o600)).createWriteStream({ highWaterMark: blockBytes });
    await pipeline(
      handle.createReadStream({
        start: 0,
        end: maxArtifactBytes,
        autoClose: false,
        highWaterMark: blockBytes,
      }),
      copy,
    );
    await rm(path, { force: true }).catch(() => undefined);
    // It may have grown while it was read.
    return copy.bytesWritten > maxArtifactBytes ? (await handle.stat()).size : copy.bytesWritten;
  } catch (error) {
    await rm(to, { force: true });
    if (error instanceof NotTaken) throw error;
    throw new NotTaken(reasonOf(error), { cause: error });
  }
}

/** Writes a file that only this user can open, and gives its size. Throws NotTaken. */
export async function writeFresh(to: string, bytes: Uint8Array): Promise<number> {
  try {
    await writeFile(to, bytes, { flag: 'wx', mode: 0o600 });
    return bytes.length;
  } catch (error) {
    await rm(to, { force: true });
    throw new NotTaken(reasonOf(error), { cause: error });
  }
}
