/** Images that screenshots are compared with, in a folder of the agent: each is fetched once. */
import { hash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentError } from '../errors.ts';

const maxBytes = 536_870_912;
const isDigest = /^[0-9a-f]{64}$/;

/** Deletes what was not used for longest, beyond what may be kept. */
async function prune(folder: string): Promise<void> {
  const files = await Promise.all(
    (await readdir(folder)).map(async (name) => ({ name, ...(await stat(join(folder, name))) })),
  );
  let bytes = 0;
  for (const { name, size } of files.sort((one, other) => other.mtimeMs - one.mtimeMs)) {
    bytes += size;
    if (bytes > maxBytes) await rm(join(folder, name), { force: true });
  }
}

async function keep(folder: string, digest: string, bytes: Buffer): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const arriving = join(folder, `${digest}.${process.hrtime.bigint()}`);
  try {
    await writeFile(arriving, bytes, { mode: 0o600 });
    await rename(arriving, join(folder, digest));
    await prune(folder);
  } catch {
    // The run has its image; the next one fetches it again.
    await rm(arriving, { force: true });
  }
}

/** Null where there is none any more. */
type FetchImage = (checkId: string, digest: string, signal: AbortSignal) => Promise<Buffer | null>;

export function cachedImages(folder: string, download: FetchImage): FetchImage {
  return async (checkId, digest, signal) => {
    if (!isDigest.test(digest)) return null;
    const file = join(folder, digest);
    const kept = await readFile(file).catch(() => null);
    if (kept !== null && hash('sha256', kept, 'hex') === digest) {
      await utimes(file, new Date(), new Date()).catch(() => undefined);
      return kept;
    }
    const bytes = await download(checkId, digest, signal);
    if (bytes === null) return null;
    if (hash('sha256', bytes, 'hex') !== digest) {
      throw new AgentError(
        'CODE_BUNDLE_UNAVAILABLE',
        `an image that check ${checkId} compares with arrived damaged; the next run tries again`,
      );
    }
    await keep(folder, digest, bytes);
    return bytes;
  };
}
