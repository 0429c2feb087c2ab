/**
 * What installations made, kept for the next run: one tar each, named after what it was made from
 * and what it holds, so that a damaged one is never taken for a good one. Belongs to one account:
 * what a suite installs, only suites of the same account get.
 */
import { createHash, randomUUID } from 'node:crypto';
import { lstat, mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { create, extract } from 'tar';
import { sha256Of } from '../../script-host/file-digest.ts';
import type { BundleListing } from './bundle-listing.ts';
import { ownerOf } from './unpack-bundle.ts';

const keptMs = 30 * 86_400_000;

export interface DependencyCacheOptions {
  readonly folder: string;
  readonly maxBytes: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** All that an installation depends on, as one text. */
export function cacheKey(parts: {
  accountId: string;
  command: string;
  folder: string;
  engine: string;
  nodeVersion: string;
  /** Tests can change what is kept: a suite that nobody signed must not fill the entry of a signed one. */
  isWorkSigned: boolean;
  /** Path and content of lock files, manifests and settings of installers. */
  files: readonly (readonly [string, string])[];
}): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 40);
}

/** The files of a bundle that decide what an installation gives. */
export function isInstallInput(path: string): boolean {
  return /(^|\/)(package\.json|package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|pnpm-workspace\.yaml|yarn\.lock|bun\.lockb?|\.npmrc|\.yarnrc|\.yarnrc\.yml|\.pnpmfile\.cjs)$/.test(
    path,
  );
}

/** The topmost files and folders that did not come with the bundle. */
async function madeSince(project: string, listing: BundleListing): Promise<string[]> {
  const made: string[] = [];
  const walk = async (folder: string): Promise<void> => {
    for (const entry of await readdir(join(project, folder), { withFileTypes: true })) {
      const path = posix.join(folder, entry.name);
      if (!listing.has(path)) made.push(path);
      else if (entry.isDirectory()) await walk(path);
    }
  };
  await walk('.');
  return made;
}

export class DependencyCache {
  readonly #options: DependencyCacheOptions;

  constructor(options: DependencyCacheOptions) {
    this.#options = options;
  }

  async #entries(): Promise<string[]> {
    try {
      return (await readdir(this.#options.folder)).filter((name) => name.endsWith('.tar'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  }

  /**
   * Puts what an earlier installation made into the project. `miss` and `damaged` leave the project
   * as it was; a damaged entry is gone afterwards.
   */
  async restore(key: string, project: string): Promise<'hit' | 'miss' | 'damaged'> {
    const name = (await this.#entries()).find((entry) => entry.startsWith(`${key}.`));
    if (name === undefined) return 'miss';
    const file = join(this.#options.folder, name);
    try {
      if (`${key}.${await sha256Of(file)}.tar` !== name) {
        await rm(file, { force: true });
        return 'damaged';
      }
    } catch (error) {
      // Another run made room meanwhile.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'miss';
      throw error;
    }
    const owner = await ownerOf(project);
    await extract({
      file,
      cwd: project,
      strict: true,
      ...(owner === null ? { preserveOwner: false } : owner),
    });
    const now = this.#options.now() / 1000;
    await utimes(file, now, now).catch(() => undefined);
    return 'hit';
  }

  /**
   * Keeps what the installation made, and makes room; gives its size, 0 when it made nothing. The suite
   * could do as it liked in the project: what is not its own is not read for it. Call it when every
   * process of the run is gone.
   */
  async save(key: string, project: string, listing: BundleListing): Promise<number> {
    const { folder, maxBytes } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const facts = await lstat(project);
    if (!facts.isDirectory()) throw new Error('the folder of the suite is no longer a folder');
    const paths = await madeSince(project, listing);
    if (paths.length === 0) return 0;
    const partial = join(folder, `${key}.${randomUUID()}.partial`);
    try {
      const target = await open(partial, 'wx', 0o600);
      const hash = createHash('sha256');
      let bytes = 0;
      await pipeline(
        create(
          {
            ...{ cwd: project, portable: true },
            filter: (_path, found) => !('uid' in found) || found.uid === facts.uid,
          },
          paths,
        ),
        new Transform({
          transform(chunk: Buffer, _encoding, done) {
            bytes += chunk.length;
            if (bytes > maxBytes) {
              done(new Error(`they have more than the ${maxBytes} bytes of the whole cache`));
              return;
            }
            hash.update(chunk);
            done(null, chunk);
          },
        }),
        target.createWriteStream(),
      );
      const { size } = await stat(partial);
      await this.#forget((name) => name.startsWith(`${key}.`));
      await rename(partial, join(folder, `${key}.${hash.digest('hex')}.tar`));
      await this.prune();
      return size;
    } finally {
      await rm(partial, { force: true });
    }
  }

  async #forget(isMeant: (name: string) => boolean): Promise<void> {
    for (const name of (await this.#entries()).filter(isMeant)) {
      await rm(join(this.#options.folder, name), { force: true });
    }
  }

  /** Deletes what was not used for 30 days, then what was unused for longest until the rest fits. */
  async prune(): Promise<void> {
    const { folder, maxBytes, now } = this.#options;
    const kept: { name: string; bytes: number; usedAt: number }[] = [];
    for (const name of await this.#entries()) {
      const facts = await stat(join(folder, name)).catch(() => undefined);
      if (facts === undefined) continue;
      kept.push({ name, bytes: facts.size, usedAt: facts.mtimeMs });
    }
    kept.sort((left, right) => right.usedAt - left.usedAt);
    let bytes = 0;
    for (const entry of kept) {
      bytes += entry.bytes;
      if (bytes > maxBytes || entry.usedAt < now() - keptMs) {
        await rm(join(folder, entry.name), { force: true });
      }
    }
  }
}
