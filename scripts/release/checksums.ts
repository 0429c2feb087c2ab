/** Digests of everything that a release made. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Finding, ReleaseContext } from './step.ts';

export interface Artefact {
  /** Below the folder of the release, with slashes. */
  name: string;
  sha256: string;
}

/** Folders of artefacts. What is beside them is about the release. */
const folders = ['packages', 'images', 'charts', 'bills'];

export function digestOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

export function artefactsIn(out: string): Artefact[] {
  const present = readdirSync(out).filter(
    (name) => folders.includes(name) || name === 'CHANGELOG.md',
  );
  return present
    .flatMap((name) =>
      folders.includes(name)
        ? readdirSync(join(out, name)).map((file) => `${name}/${file}`)
        : [name],
    )
    .sort()
    .map((name) => ({ name, sha256: digestOf(join(out, name)) }));
}

/** In the format that `sha256sum --check` reads. */
export function writeChecksums({ out }: ReleaseContext): Promise<Finding> {
  const artefacts = artefactsIn(out);
  const lines = artefacts.map(({ name, sha256 }) => `${sha256}  ${name}\n`);
  writeFileSync(join(out, 'SHA256SUMS'), lines.join(''));
  return Promise.resolve({ summary: `${artefacts.length} artefacts, in SHA256SUMS` });
}
