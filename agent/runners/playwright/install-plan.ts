/** How the dependencies of a suite are installed: decided by what its bundle holds. Pure. */
import { posix } from 'node:path';

export interface InstallPlan {
  readonly tool: 'npm' | 'pnpm' | 'yarn' | 'bun' | 'custom';
  /** Relative to the root of the bundle; `.` is the root itself. */
  readonly folder: string;
  readonly command: string;
  /** The lock file that decided; null without one. */
  readonly lockFile: string | null;
}

/** Text of a file of the bundle by its path; undefined when it is not there. */
export type ReadProjectFile = (path: string) => string | undefined;

const lockFiles = [
  'package-lock.json',
  'npm-shrinkwrap.json',
  'pnpm-lock.yaml',
  'yarn.lock',
  'bun.lock',
  'bun.lockb',
] as const;

/** The folder and those above it, up to the root of the bundle. */
export function foldersUpFrom(folder: string): string[] {
  const folders = [folder];
  while (folders[0] !== '.') folders.unshift(posix.dirname(folders[0] ?? '.'));
  return folders.reverse();
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function yarnCommand(folder: string, lock: string, read: ReadProjectFile): string {
  const isClassic = !lock.includes('__metadata:');
  if (isClassic) return 'yarn install --frozen-lockfile --non-interactive';
  // The release that the project carries is the one its lock file was written by.
  const settings = read(posix.join(folder, '.yarnrc.yml')) ?? '';
  const release = /^yarnPath:\s*["']?([^"'\n]+?)["']?\s*$/m.exec(settings)?.[1];
  return release === undefined
    ? 'yarn install --immutable'
    : `node ${quoted(release)} install --immutable`;
}

function commandFor(
  lockFile: string,
  folder: string,
  read: ReadProjectFile,
): Pick<InstallPlan, 'tool' | 'command'> {
  switch (lockFile) {
    case 'pnpm-lock.yaml':
      return { tool: 'pnpm', command: 'pnpm install --frozen-lockfile' };
    case 'yarn.lock':
      return {
        tool: 'yarn',
        command: yarnCommand(folder, read(posix.join(folder, lockFile)) ?? '', read),
      };
    case 'bun.lock':
    case 'bun.lockb':
      return { tool: 'bun', command: 'bun install --frozen-lockfile' };
    default:
      return { tool: 'npm', command: 'npm ci --include=dev' };
  }
}

/**
 * The installation of a bundle, or null when there is nothing to install. The nearest lock file counts,
 * from the working folder upwards: in a monorepo it stands at the root.
 */
export function planInstall(
  files: ReadonlySet<string>,
  workingDir: string,
  installCommand: string | null,
  read: ReadProjectFile,
): InstallPlan | null {
  const found = foldersUpFrom(workingDir).flatMap((folder) =>
    lockFiles
      .filter((name) => files.has(posix.join(folder, name)))
      .map((name) => ({ folder, name })),
  )[0];
  const lockFile = found === undefined ? null : posix.join(found.folder, found.name);
  const own = installCommand?.trim() ?? '';
  if (own !== '') return { tool: 'custom', folder: workingDir, command: own, lockFile };
  if (found !== undefined) {
    return { ...commandFor(found.name, found.folder, read), folder: found.folder, lockFile };
  }
  const folder = foldersUpFrom(workingDir).find((one) =>
    files.has(posix.join(one, 'package.json')),
  );
  if (folder === undefined) return null;
  return { tool: 'npm', folder, command: 'npm install --include=dev', lockFile: null };
}

const newestMajors = { pnpm: '10', yarn: '1', bun: '1' } as const;

/** The version of a package manager that suits a bundle, as npm names packages. */
export function packageOfTool(
  tool: 'pnpm' | 'yarn' | 'bun',
  folder: string,
  read: ReadProjectFile,
): string {
  const manifest = read(posix.join(folder, 'package.json')) ?? '';
  const wish = /"packageManager"\s*:\s*"(pnpm|yarn|bun)@(\d[\w.-]*)/.exec(manifest);
  const version = wish?.[1] === tool ? wish[2] : undefined;
  if (tool === 'yarn') {
    const isBerry =
      version === undefined
        ? (read(posix.join(folder, 'yarn.lock')) ?? '').includes('__metadata:')
        : !version.startsWith('1.');
    return isBerry ? `@yarnpkg/cli-dist@${version ?? '4'}` : `yarn@${version ?? newestMajors.yarn}`;
  }
  if (tool === 'pnpm' && version === undefined) {
    const lock = read(posix.join(folder, 'pnpm-lock.yaml')) ?? '';
    const format = /^lockfileVersion:\s*["']?(\d+)/m.exec(lock)?.[1];
    if (format === '5') return 'pnpm@7';
    if (format === '6') return 'pnpm@8';
  }
  return `${tool}@${version ?? newestMajors[tool]}`;
}
