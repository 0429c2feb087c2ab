/**
 * The folder that agents of this machine share for their runs. Each agent has one in it, with a file
 * that says whose it is; what agents that are dead have left is swept when another one starts.
 */
import { randomBytes } from 'node:crypto';
import { lstatSync, readFileSync, readlinkSync, readdirSync, statSync, utimesSync } from 'node:fs';
import {
  access,
  chmod,
  constants,
  lstat,
  mkdir,
  readdir,
  readFile,
  rm,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { makeFolders } from '@monitor/shared/private-files.ts';
import { AgentError } from '../errors.ts';
import { readProcess } from './processes.ts';

const ownerFile = 'owner';
const touchEveryMs = 60_000;

/** An owner in another container cannot be looked up: it is dead when it has not touched its file. */
const staleAfterMs = 5 * touchEveryMs;

/** Short and without meaning: a browser's sockets in the folder must have paths below 107 bytes. */
export const shortName = (): string => randomBytes(4).toString('hex');

function readOr(fallback: string, read: () => string): string {
  try {
    return read().trim();
  } catch {
    return fallback;
  }
}

/** Where process ids mean something: this boot, and this container. */
function whereabouts(): { boot: string; container: string } {
  return {
    boot: readOr('?', () => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')),
    container: readOr('?', () => readlinkSync('/proc/self/ns/pid')),
  };
}

interface Owner {
  readonly pid: number;
  readonly startTime: string | null;
  readonly boot: string;
  readonly container: string;
}

async function isOwned(folder: string): Promise<boolean> {
  const file = join(folder, ownerFile);
  const modifiedAt = (await lstat(file).catch(() => lstat(folder))).mtimeMs;
  const isFresh = Date.now() - modifiedAt < staleAfterMs;
  let owner: Owner;
  try {
    owner = JSON.parse(await readFile(file, 'utf8')) as Owner;
  } catch {
    // Being made this very moment, or by something that died in the middle of it.
    return isFresh;
  }
  const here = whereabouts();
  if (owner.boot !== here.boot) return false;
  if (owner.container !== here.container) return isFresh;
  return (readProcess(owner.pid)?.startTime ?? null) === owner.startTime;
}

/** Folders that were made on the way to the shared one, from the first on. */
async function openWayTo(path: string, made: string): Promise<void> {
  for (let folder = path; folder.length >= made.length; folder = dirname(folder)) {
    await chmod(folder, 0o711);
  }
}

/**
 * Why runs may not use a folder that is there: it is a link, or another user made it where all may, and could
 * replace their files. Null when they may. Volumes belong to root, and a folder in another place was chosen.
 */
export function distrustOf(path: string): string | null {
  const uid = process.getuid?.() ?? 0;
  const facts = lstatSync(path);
  if (facts.isSymbolicLink()) return 'it is a symbolic link';
  const { uid: owner } = facts;
  if (owner === uid || owner === 0) return null;
  const isMadeByAnyone = (statSync(dirname(path)).mode & 0o002) !== 0;
  return isMadeByAnyone ? `it belongs to the user with the id ${owner}; this is ${uid}` : null;
}

async function makeShared(path: string): Promise<void> {
  const uid = process.getuid?.() ?? 0;
  try {
    const made = makeFolders(path);
    if (made !== undefined) await openWayTo(path, made);
    const distrust = distrustOf(path);
    if (distrust !== null) throw new Error(distrust);
    // Only root gives runs a user of their own, who must get through to their folders.
    if (lstatSync(path).uid === uid) await chmod(path, uid === 0 ? 0o711 : 0o700);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new AgentError(
      'SCRIPTING_UNAVAILABLE',
      `the folder for the files of runs, ${path}, cannot be used: ${reason}. ` +
        'Set AGENT_WORK_DIR to a folder of this user alone, with a path of at most 60 characters.',
      { cause: error },
    );
  }
}

export interface OwnFolder extends AsyncDisposable {
  readonly path: string;
}

/**
 * Takes a folder of our own in the shared one. `sweep` is given the folders of agents that are dead,
 * before they are deleted.
 */
export async function openWorkFolder(
  shared: string,
  sweep: (folder: string) => Promise<void>,
): Promise<OwnFolder> {
  await makeShared(shared);
  for (const entry of await readdir(shared)) {
    const folder = join(shared, entry);
    if (!(await isOwned(folder).catch(() => true))) await sweep(folder);
  }
  const path = join(shared, shortName());
  const file = join(path, ownerFile);
  const owner: Owner = {
    pid: process.pid,
    startTime: readProcess(process.pid)?.startTime ?? null,
    ...whereabouts(),
  };
  await mkdir(path, { mode: 0o700 });
  await chmod(path, 0o711);
  await writeFile(file, JSON.stringify(owner), { mode: 0o600 });
  const timer = setInterval(() => {
    try {
      utimesSync(file, new Date(), new Date());
    } catch {
      // Another program cleans the temporary folder; runs then fail with an error that says so.
    }
  }, touchEveryMs).unref();
  return {
    path,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await rm(path, { recursive: true, force: true });
    },
  };
}

/** The folders of runs in the folder of an agent. */
export function runFoldersIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(folder, entry.name));
}

/** The folder of the run that a file is in, for a path below the shared folder; else the shared folder. */
export function runFolderOf(shared: string, path: string): string {
  const [agent = '', run = ''] = relative(shared, path).split(sep);
  return agent === '..' ? shared : join(shared, agent, run);
}
