/** Where `monitor-agent run` puts the files of a run: a folder of the user's, or nowhere. */
import { access, constants, copyFile, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { ArtifactDeclaration } from '@monitor/shared/contract/agent-protocol.ts';
import { artifactReference } from '@monitor/shared/contract/check-result.ts';
import type { RunArtifacts } from '../../artifacts/run-artifacts.ts';
import { AgentError } from '../../errors.ts';
import { codeOf } from '../../net/failure.ts';
import type { Scrubber } from '../../scrub/scrubber.ts';
import { makeTemporaryFolder } from '../../temporary-folder.ts';

function unusable(folder: string, cause: unknown): AgentError {
  return new AgentError(
    'CONFIG_INVALID',
    `files cannot be kept in ${folder} (${codeOf(cause)}); name a folder that this user may write to`,
    { cause },
  );
}

/**
 * Makes a folder, level by level from the first that is there: where the kernel makes the folders,
 * as in /proc, Node's own way of making all of them never ends.
 */
async function makeFolder(folder: string): Promise<void> {
  const missing: string[] = [];
  let at = resolve(folder);
  for (;;) {
    const found = await stat(at).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return null;
      throw error;
    });
    if (found !== null) break;
    missing.unshift(at);
    at = dirname(at);
  }
  for (const one of missing) {
    await mkdir(one).catch((error: unknown) => {
      // Another process was faster.
      if (codeOf(error) !== 'EEXIST') throw error;
    });
  }
  if (!(await stat(folder)).isDirectory()) {
    throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' });
  }
  await access(folder, constants.W_OK | constants.X_OK);
}

async function move(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  // Across file systems a file cannot be renamed.
  await rename(from, to).catch(() => copyFile(from, to));
}

/**
 * Files go to `folder` once secrets are removed from them; with null they are dropped. Throws
 * CONFIG_INVALID, before anything is run, where the folder cannot be made or written to.
 */
export async function keepFilesIn(
  folder: string | null,
): Promise<AsyncDisposable & { of(scrubber: Scrubber): RunArtifacts }> {
  if (folder !== null) {
    await makeFolder(folder).catch((error: unknown) => {
      throw unusable(folder, error);
    });
  }
  let made: Promise<string> | null = null;
  // Most runs have no files, and need no place for them.
  const waitingFolder = (): Promise<string> => (made ??= makeTemporaryFolder('monitor-run-'));
  return {
    of(scrubber) {
      const files: { name: string; type: ArtifactDeclaration['type']; contentType: string }[] = [];
      return {
        async add({ name, type, contentType, ...given }) {
          const waiting = await waitingFolder();
          if ('bytes' in given) await writeFile(join(waiting, name), given.bytes);
          else await move(given.path, join(waiting, name));
          files.push({ name, type, contentType });
          return folder === null ? artifactReference(name) : join(folder, name);
        },
        async finish() {
          const kept: ArtifactDeclaration[] = [];
          for (const file of files) {
            const from = join(await waitingFolder(), file.name);
            await scrubber.file(from, file.contentType);
            const { size } = await stat(from);
            if (folder !== null) await move(from, join(folder, file.name));
            kept.push({ ...file, size, withheld: null });
          }
          return kept;
        },
        async discard() {
          for (const { name } of files)
            await rm(join(await waitingFolder(), name), { force: true });
        },
      };
    },
    async [Symbol.asyncDispose]() {
      const waiting = await made?.catch(() => null);
      if (waiting != null) await rm(waiting, { recursive: true, force: true });
    },
  };
}
