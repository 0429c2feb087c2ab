/** Runs buildah, which builds images without a daemon. */
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, mkdirSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

async function canOverlay(): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'overlay-'));
  const [lower, upper, work, merged] = ['l', 'u', 'w', 'm'].map((name) => join(folder, name));
  try {
    for (const path of [lower, upper, work, merged]) mkdirSync(path ?? '');
    await execute('mount', [
      ...['-t', 'overlay', 'overlay', '-o'],
      `lowerdir=${lower ?? ''},upperdir=${upper ?? ''},workdir=${work ?? ''}`,
      merged ?? '',
    ]);
    await execute('umount', [merged ?? '']);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

let settled: Promise<NodeJS.ProcessEnv> | null = null;

/**
 * The environment of buildah: chroot isolation needs no daemon, no cgroups and no runtime. What is set
 * already stays; where layers cannot be overlaid they are copied.
 */
function environment(): Promise<NodeJS.ProcessEnv> {
  settled ??= (async () => {
    const { BUILDAH_ISOLATION = 'chroot', STORAGE_DRIVER } = process.env;
    const driver = STORAGE_DRIVER ?? ((await canOverlay()) ? 'overlay' : 'vfs');
    return { ...process.env, BUILDAH_ISOLATION, STORAGE_DRIVER: driver };
  })();
  return settled;
}

/** Debian's packages have the names of these programs. */
export function missingProgram(name: string): string {
  return `the program ${name} is missing; on Debian: apt-get install ${name}`;
}

/** Why images cannot be built on this machine; null where they can. */
export async function buildahProblem(): Promise<string | null> {
  if (process.platform !== 'linux') return 'buildah needs Linux; use docker build here';
  try {
    await execute('buildah', ['--version']);
    return null;
  } catch {
    return missingProgram('buildah');
  }
}

/** Runs buildah and gives what it printed. */
export async function buildah(...words: string[]): Promise<string> {
  const { stdout } = await execute('buildah', words, {
    env: await environment(),
    maxBuffer: 64 * 1_048_576,
  });
  return stdout.trim();
}

/** Runs buildah, or a program that does, with its output on the terminal. */
export async function runShown(program: string, ...words: string[]): Promise<void> {
  const child = spawn(program, words, {
    env: await environment(),
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${program} ${words[0] ?? ''} ended with ${String(code)}`);
}

/** True when an image of that name is in the store. */
export async function hasImage(image: string): Promise<boolean> {
  return buildah('inspect', '--type', 'image', image).then(
    () => true,
    () => false,
  );
}
