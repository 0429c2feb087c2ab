/** How the artefacts were made: an in-toto statement with the predicate of SLSA 1.0, for others to sign. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { artefactsIn, digestOf, type Artefact } from './checksums.ts';
import type { Finding, ReleaseContext } from './step.ts';

interface Origin {
  version: string;
  commit: string;
  lockfile: string;
  node: string;
}

const project = 'https://monitor.example.com';

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
