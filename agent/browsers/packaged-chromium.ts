/**
 * The Chromium of the npm package `@sparticuz/chromium`, unpacked into a folder for temporary files.
 *
 *   absent    nothing, or what an interrupted unpacking or a cleaning of temporary files left
 *   partial   `<version>.partial-…`: one process, which holds the lock, unpacks into it
 *   whole     `<version>/`, by rename, with `whole.json`: what is in it and how large each file is
 *
 * Only what is whole is ever started, so no process sees a file that another still writes.
 */
import { execFile } from 'node:child_process';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { z } from 'zod';
import { sha256Of } from '../script-host/file-digest.ts';
import { tryFileLock } from '../file-lock.ts';

const wholeFile = 'whole.json';
const unpackWithinMs = 120_000;
const askEveryMs = 50;

const wholeSchema = z.object({
  /** Paths below the folder. */
  executable: z.string(),
  libraries: z.string(),
  fonts: z.string(),
  files: z.record(z.string(), z.object({ size: z.int(), sha256: z.string() })),
});
type Whole = z.output<typeof wholeSchema>;

export interface UnpackedChromium {
  readonly executablePath: string;
  readonly environment: Record<string, string>;
  /** Reads every file: false when one is not what was unpacked. */
  isIntact(): Promise<boolean>;
}

async function canEverybodyEnter(folder: string): Promise<boolean> {
  for (let path = await realpath(folder); ; path = dirname(path)) {
    if (((await stat(path)).mode & 0o001) === 0) return false;
    if (path === dirname(path)) return true;
  }
}

/** Runs of an agent of root have users of their own, who may be kept out of its temporary files. */
async function parentFolder(): Promise<string> {
  if (process.getuid?.() !== 0) return tmpdir();
  for (const folder of [tmpdir(), '/var/tmp', '/tmp']) {
    if (await canEverybodyEnter(folder).catch(() => false)) return folder;
  }
  return tmpdir();
}

/** A folder that no other user could have filled, because its content is executed. */
async function ownFolder(): Promise<string> {
  const uid = process.getuid?.() ?? 0;
  const folder = join(await parentFolder(), `monitor-agent-chromium-${uid}`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const facts = await lstat(folder);
  if (!facts.isDirectory() || facts.uid !== uid || (facts.mode & 0o022) !== 0) {
    throw new Error(`${folder} belongs to somebody else; delete it`);
  }
  // Runs may have a user of their own.
  await chmod(folder, 0o755);
  return folder;
}

/** What is there as a whole; null when a file is missing or has another size. */
async function readWhole(folder: string): Promise<Whole | null> {
  const text = await readFile(join(folder, wholeFile), 'utf8').catch(() => null);
  if (text === null) return null;
  try {
    const whole = wholeSchema.parse(JSON.parse(text));
    for (const [path, { size }] of Object.entries(whole.files)) {
      if ((await stat(join(folder, path))).size !== size) return null;
    }
    return whole;
  } catch {
    return null;
  }
}

function unpackedIn(folder: string, whole: Whole): UnpackedChromium {
  return {
    executablePath: join(folder, whole.executable),
    environment: {
      LD_LIBRARY_PATH: join(folder, whole.libraries),
      FONTCONFIG_PATH: join(folder, whole.fonts),
    },
    async isIntact() {
      try {
        for (const [path, { sha256 }] of Object.entries(whole.files)) {
          if ((await sha256Of(join(folder, path))) !== sha256) return false;
        }
        return true;
      } catch {
        return false;
      }
    },
  };
}

/** The package names folders it does not unpack to here; without any font, an input field ends the browser. */
function fontsConfig(folder: string): string {
  return [
    '<?xml version="1.0"?>',
    '<!DOCTYPE fontconfig SYSTEM "fonts.dtd">',
    '<fontconfig>',
    ...[folder, '/usr/share/fonts', '/usr/local/share/fonts'].map((one) => `<dir>${one}</dir>`),
    `<cachedir>${join(folder, 'cache')}</cachedir>`,
    '</fontconfig>',
  ].join('\n');
}

/** Unpacks into `partial` what is to be at `target` later. */
async function unpack(entry: string, partial: string, target: string): Promise<void> {
  // The package unpacks its libraries only where it believes to be in AWS Lambda, and decides so when
  // it is imported: hence a process of its own, with that variable.
  const script =
    // Runs may have a user of their own.
    `process.umask(0o022); import(${JSON.stringify(entry)}).then(async ({ default: chromium }) => ` +
    'console.log(JSON.stringify({ executable: await chromium.executablePath(), libraries: process.env.LD_LIBRARY_PATH, fonts: process.env.FONTCONFIG_PATH })))' +
    '.catch((error) => { console.error(error.message); process.exit(1); })';
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], {
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      HOME: dirname(entry),
      AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs22.x',
      TMPDIR: partial,
    },
    timeout: unpackWithinMs,
  });
  const places = z
    .object({ executable: z.string(), libraries: z.string(), fonts: z.string() })
    .parse(JSON.parse(stdout));
  await chmod(partial, 0o755);
  await chmod(places.executable, 0o755);
  const fonts = relative(partial, places.fonts);
  const fontsFile = join(places.fonts, 'fonts.conf');
  await writeFile(fontsFile, fontsConfig(join(target, fonts)));
  await chmod(fontsFile, 0o644);
  const whole: Whole = {
    executable: relative(partial, places.executable),
    libraries: relative(partial, places.libraries),
    fonts,
    files: {},
  };
  for (const found of await readdir(partial, { recursive: true, withFileTypes: true })) {
    if (!found.isFile()) continue;
    const path = join(found.parentPath, found.name);
    const { size } = await stat(path);
    whole.files[relative(partial, path)] = { size, sha256: await sha256Of(path) };
  }
  await writeFile(join(partial, wholeFile), JSON.stringify(whole));
}

async function lockOf(folder: string): Promise<Disposable> {
  const until = performance.now() + 2 * unpackWithinMs;
  for (;;) {
    const lock = tryFileLock(join(folder, '.lock'));
    if (lock !== null) return lock;
    if (performance.now() > until) {
      throw new Error(`another process has been unpacking into ${folder} for too long`);
    }
    await sleep(askEveryMs);
  }
}

/**
 * Finds it unpacked, or unpacks it: once for all processes of this user, again when what is there is not
 * whole, or `damaged`. Throws when the package is not installed or there is no room.
 */
export async function unpackedChromium(
  packagesFolder: string,
  damaged?: UnpackedChromium,
): Promise<UnpackedChromium> {
  const require = createRequire(join(packagesFolder, 'package.json'));
  const entry = require.resolve('@sparticuz/chromium');
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(await readFile(join(dirname(entry), '..', 'package.json'), 'utf8')));
  const folder = await ownFolder();
  const target = join(folder, version);
  const known = await readWhole(target);
  if (known !== null && damaged === undefined) return unpackedIn(target, known);
  using _lock = await lockOf(folder);
  const meanwhile = await readWhole(target);
  if (meanwhile !== null) {
    const unpacked = unpackedIn(target, meanwhile);
    if (damaged === undefined || (await unpacked.isIntact())) return unpacked;
  }
  // Only who has the lock makes these: others were interrupted.
  for (const name of await readdir(folder)) {
    if (name.includes('.partial-')) await rm(join(folder, name), { recursive: true, force: true });
  }
  const partial = await mkdtemp(`${target}.partial-`);
  try {
    await unpack(entry, partial, target);
    await rm(target, { recursive: true, force: true });
    await rename(partial, target);
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
  const whole = await readWhole(target);
  if (whole === null) throw new Error(`${target} is not whole right after it was unpacked`);
  return unpackedIn(target, whole);
}
