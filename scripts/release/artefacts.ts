/** What a release makes, with digests of all of it and a statement of how it was made. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { create } from 'tar';
import { parse, stringify } from 'yaml';
import type { Finding, ReleaseContext } from './step.ts';

interface Artefact {
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
  return readdirSync(out)
    .flatMap((name) => {
      if (name === 'CHANGELOG.md') return [name];
      if (!folders.includes(name)) return [];
      return readdirSync(join(out, name)).map((file) => `${name}/${file}`);
    })
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

interface Origin {
  version: string;
  commit: string;
  lockfile: string;
  node: string;
}

const project = 'https://monitor.example.com';

/** An in-toto statement with the predicate of SLSA 1.0, for others to sign. */
export function statementOf(artefacts: readonly Artefact[], origin: Origin): object {
  const { version, commit, lockfile, node } = origin;
  const source = { uri: `git+${project}`, digest: { gitCommit: commit } };
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: artefacts.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: `${project}/release/v1`,
        externalParameters: { version, source },
        internalParameters: { command: `npm run release -- ${version}` },
        resolvedDependencies: [
          source,
          { name: 'package-lock.json', digest: { sha256: lockfile } },
          { uri: `pkg:generic/node@${node}` },
        ],
      },
      runDetails: {
        builder: { id: `${project}/release/by-hand` },
        metadata: { invocationId: `${commit}/${version}` },
      },
    },
  };
}

export function writeProvenance(context: ReleaseContext): Promise<Finding> {
  const { out, checkout, version, commit } = context;
  const artefacts = artefactsIn(out);
  const statement = statementOf(artefacts, {
    ...{ version, commit, node: process.versions.node },
    lockfile: digestOf(join(checkout, 'package-lock.json')),
  });
  writeFileSync(join(out, 'provenance.json'), `${JSON.stringify(statement, null, 1)}\n`);
  return Promise.resolve({ summary: `an unsigned statement on ${artefacts.length} artefacts` });
}

/** The same files give the same bytes: in order, of one time, without owners. */
async function packChart(charts: string, name: string, file: string, mtime: Date): Promise<void> {
  const files = readdirSync(join(charts, name), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(charts.length + 1))
    .sort();
  await create(
    {
      ...{ cwd: charts, file, gzip: true, portable: true, noDirRecurse: true, mtime },
      // Modes depend on the umask under which git made the files.
      onWriteEntry: (entry) => {
        if (entry.stat !== undefined) entry.stat.mode = (entry.stat.mode & ~0o777) | 0o644;
      },
    },
    files,
  );
}

/** Packs every chart below a folder into one that Helm adds as a repository. Gives the names of the archives. */
export async function makeChartRepository(
  charts: string,
  out: string,
  epoch: number,
): Promise<string[]> {
  mkdirSync(out, { recursive: true });
  const mtime = new Date(epoch * 1000);
  const created = mtime.toISOString();
  const entries: Record<string, object[]> = {};
  const made: string[] = [];
  for (const folder of readdirSync(charts).sort()) {
    const facts = parse(readFileSync(join(charts, folder, 'Chart.yaml'), 'utf8')) as {
      name: string;
      version: string;
    };
    const archive = `${facts.name}-${facts.version}.tgz`;
    await packChart(charts, folder, join(out, archive), mtime);
    const digest = digestOf(join(out, archive));
    entries[facts.name] = [{ ...facts, created, digest, urls: [archive] }];
    made.push(archive);
  }
  const index = { apiVersion: 'v1', entries, generated: created };
  writeFileSync(join(out, 'index.yaml'), stringify(index));
  return made;
}
