/** The releases before this one: by their tags, else by the commits that set their versions. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { cloneInstalled, git } from './programs.ts';
import type { Finding, ReleaseContext } from './step.ts';

export interface Release {
  version: string;
  /** A commit, or a folder with a checkout. */
  at: string;
}

/** What a step that needs one says without one. */
export const noRelease: Finding = {
  summary: 'nothing to compare with',
  notChecked: 'there is no release before; --previous names a checkout or a commit',
};

const howMany = 3;
/** Before the first release, numbers began with 0. */
const released = /^[1-9]\d*\.\d+\.\d+$/;

function byTags(repository: string): Release[] {
  return git(repository, 'tag', '--list', 'v*', '--sort=-v:refname')
    .split('\n')
    .map((tag) => ({ version: tag.slice(1), at: tag }));
}

function byCommits(repository: string): Release[] {
  const changes = git(
    ...([repository, 'log', '--format=commit %H', '-p', '-G"version":'] as const),
    ...['--', 'agent/package.json'],
  );
  return [...changes.matchAll(/^commit (\w+)$|^\+ +"version": "(.+?)"/gm)].flatMap(
    ([, commit, version], index, all) => {
      if (commit !== undefined || version === undefined) return [];
      const at = all.slice(0, index).findLast(([, hash]) => hash !== undefined)?.[1];
      return at === undefined ? [] : [{ version, at }];
    },
  );
}

/** The newest first. */
export function previousReleases({ repository, commit, previous }: ReleaseContext): Release[] {
  if (previous !== null) return [{ version: previous, at: previous }];
  const found = new Map<string, Release>();
  for (const each of [...byTags(repository), ...byCommits(repository)]) {
    if (!released.test(each.version) || found.has(each.version)) continue;
    if (git(repository, 'rev-parse', `${each.at}^{commit}`) === commit) continue;
    found.set(each.version, each);
  }
  return [...found.values()].slice(0, howMany);
}

/** A checkout of it, with its packages; made once. */
export async function installedPrevious(context: ReleaseContext, { at }: Release): Promise<string> {
  if (existsSync(join(at, 'package.json'))) return resolve(at);
  const commit = git(context.repository, 'rev-parse', `${at}^{commit}`);
  const folder = join(context.work, `release-${commit.slice(0, 8)}`);
  if (existsSync(join(folder, 'node_modules', '.package-lock.json'))) return folder;
  await cloneInstalled(context, commit, folder);
  return folder;
}
