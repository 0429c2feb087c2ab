/**
 * The images there are, each after those it is built from. Charts, compose files, guide and console write the same names:
 * `test/scripts/images/names.test.ts` holds them to this table.
 */
import { thisArchitecture, type Architecture } from './architecture.ts';

export interface ImageTarget {
  /** Of an agent the flavour, which is in its tag. */
  name: string;
  repository: 'monitor-agent' | 'monitor-control-plane';
  file: string;
  /** The stage of the file. */
  stage: string;
  /** As it is built here. */
  image: string;
  /** An image that must be built before. */
  after?: { name: string; image: string };
  buildArgs?: Readonly<Record<string, string>>;
  /** What it is built on; Debian by default. An image on Alpine needs that base from a registry. */
  base?: 'alpine';
}

/** The targets for an architecture; those of another than this machine's have it in their tag. */
export function imageTargetsFor(arch: Architecture): readonly ImageTarget[] {
  const suffix = arch === thisArchitecture ? '' : `-${arch}`;
  const agent = (name: string): ImageTarget => ({
    name,
    repository: 'monitor-agent',
    file: 'Dockerfile.agent',
    stage: name,
    image: `localhost/monitor-agent:${name}${suffix}`,
  });
  const full = agent('full');
  return [
    {
      name: 'control-plane',
      repository: 'monitor-control-plane',
      file: 'Dockerfile.control-plane',
      stage: 'control-plane',
      image: `localhost/monitor-control-plane:latest${suffix}`,
    },
    agent('uptime'),
    { ...agent('uptime-alpine'), base: 'alpine' },
    full,
    agent('migration'),
    {
      ...agent('dev'),
      file: 'Dockerfile.dev',
      after: { name: full.name, image: full.image },
      buildArgs: { FULL_IMAGE: full.image },
    },
  ];
}

export const imageTargets = imageTargetsFor(thisArchitecture);

/** The file of an image in a release, and the name that an engine loads from it. */
export function publishedAs(
  { name, repository }: Pick<ImageTarget, 'name' | 'repository'>,
  version: string,
): { archive: string; reference: string } {
  return repository === 'monitor-agent'
    ? {
        archive: `${repository}-${name}-${version}.tar`,
        reference: `${repository}:${version}-${name}`,
      }
    : { archive: `${repository}-${version}.tar`, reference: `${repository}:${version}` };
}

/** The targets with these names, or the small ones without any. Throws for a name that is none. */
export function chooseTargets(
  names: readonly string[],
  arch: Architecture = thisArchitecture,
): ImageTarget[] {
  const targets = imageTargetsFor(arch);
  const wanted = names.length === 0 ? ['control-plane', 'uptime'] : names;
  const known = targets.map(({ name }) => name);
  const wrong = wanted.find((name) => name !== 'all' && !known.includes(name));
  if (wrong !== undefined) {
    throw new Error(`there is no target "${wrong}"; there are ${known.join(', ')} and all`);
  }
  return targets.filter(
    ({ name, base }) => wanted.includes(name) || (wanted.includes('all') && base === undefined),
  );
}
