/** Where `monitor-agent run` puts the files of a run: a folder of the user's, or nowhere. */
import { copyFile, mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ArtifactDeclaration } from '@monitor/shared/contract/agent-protocol.ts';
import { artifactReference } from '@monitor/shared/contract/check-result.ts';
import type { RunArtifacts } from '../artifacts/run-artifacts.ts';
import type { Scrubber } from '../scrub/scrubber.ts';

async function move(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  // Across file systems a file cannot be renamed.
  await rename(from, to).catch(() => copyFile(from, to));
}

/** Files go to `folder` once secrets are removed from them; with null they are dropped. */
export async function keepFilesIn(
  folder: string | null,
): Promise<AsyncDisposable & { of(scrubber: Scrubber): RunArtifacts }> {
  const waiting = await mkdtemp(join(tmpdir(), 'monitor-run-'));
  return {
    of(scrubber) {
      const files: { name: string; type: ArtifactDeclaration['type']; contentType: string }[] = [];
      return {
        async add({ name, type, contentType, ...given }) {
          if ('bytes' in given) await writeFile(join(waiting, name), given.bytes);
          else await move(given.path, join(waiting, name));
          files.push({ name, type, contentType });
          return folder === null ? artifactReference(name) : join(folder, name);
        },
        async finish() {
          const kept: ArtifactDeclaration[] = [];
          for (const file of files) {
            const from = join(waiting, file.name);
            await scrubber.file(from, file.contentType);
            const { size } = await stat(from);
            if (folder !== null) await move(from, join(folder, file.name));
            kept.push({ ...file, size, withheld: null });
          }
          return kept;
        },
        async discard() {
          for (const { name } of files) await rm(join(waiting, name), { force: true });
        },
      };
    },
    [Symbol.asyncDispose]: () => rm(waiting, { recursive: true, force: true }),
  };
}
