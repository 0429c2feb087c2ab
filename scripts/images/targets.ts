/** The images there are, each after those it is built from. */
export interface ImageTarget {
  name: string;
  file: string;
  /** The stage of the file. */
  stage: string;
  image: string;
  /** An image that must be built before. */
  after?: string;
  buildArgs?: Readonly<Record<string, string>>;
}

const registry = 'localhost';

export const imageTargets: readonly ImageTarget[] = [
  {
    name: 'control-plane',
    file: 'Dockerfile.control-plane',
    stage: 'control-plane',
    image: `${registry}/control-plane:latest`,
  },
  {
    name: 'uptime',
    file: 'Dockerfile.agent',
    stage: 'uptime',
    image: `${registry}/monitor-agent:uptime`,
  },
  {
    name: 'full',
    file: 'Dockerfile.agent',
    stage: 'full',
    image: `${registry}/monitor-agent:full`,
  },
  {
    name: 'migration',
    file: 'Dockerfile.agent',
    stage: 'migration',
    image: `${registry}/monitor-agent:migration`,
  },
  {
    name: 'dev',
    file: 'Dockerfile.dev',
    stage: 'dev',
    image: `${registry}/monitor-agent:dev`,
    after: 'full',
    buildArgs: { FULL_IMAGE: `${registry}/monitor-agent:full` },
  },
];

/** The targets with these names, or the small ones without any. Throws for a name that is none. */
export function chooseTargets(names: readonly string[]): ImageTarget[] {
  const wanted = names.length === 0 ? ['control-plane', 'uptime'] : names;
  const known = imageTargets.map(({ name }) => name);
  const wrong = wanted.find((name) => name !== 'all' && !known.includes(name));
  if (wrong !== undefined) {
    throw new Error(`there is no target "${wrong}"; there are ${known.join(', ')} and all`);
  }
  return imageTargets.filter(({ name }) => wanted.includes('all') || wanted.includes(name));
}
