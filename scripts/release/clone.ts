/** The first command of the README in a clean clone: everything after it works on what is committed. */
import { execFileSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runLogged, type Finding, type ReleaseContext } from './step.ts';

export function git(folder: string, ...words: string[]): string {
  return execFileSync('git', ['-C', folder, ...words], { encoding: 'utf8' }).trim();
}

/** A clone at a commit, with its packages installed as the README says. */
export async function cloneInstalled(
  context: ReleaseContext,
  commit: string,
  folder: string,
): Promise<void> {
  const name = `clone-${commit.slice(0, 8)}`;
  rmSync(folder, { recursive: true, force: true });
  git('.', 'clone', '--quiet', '--no-checkout', context.repository, folder);
  git(folder, 'checkout', '--quiet', '--detach', commit);
  await runLogged(context, {
    name,
    words: ['npm', 'ci', '--prefer-offline'],
    folder,
    next: 'mend package-lock.json with `npm install --package-lock-only`, and commit it',
  });
}

/** Whether an earlier run has made it whole. */
export function isCloned({ checkout }: ReleaseContext): boolean {
  return existsSync(join(checkout, 'node_modules', '.package-lock.json'));
}

export async function clone(context: ReleaseContext): Promise<Finding> {
  await cloneInstalled(context, context.commit, context.checkout);
  const changes = git(context.repository, 'status', '--porcelain').split('\n').filter(Boolean);
  const left =
    changes.length === 0 ? '' : `; ${changes.length} changes are not committed, so not in it`;
  return { summary: `${context.commit.slice(0, 8)} is cloned and installed${left}` };
}
