/** The machine as steps see it. Everything is read below one folder, which is `/` but in tests. */
import { execFile } from 'node:child_process';
import {
  accessSync,
  constants,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statfsSync,
  statSync,
  type Stats,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import { codeOf } from '../net/failure.ts';

/** What a file system says of itself. */
export interface FileSystem {
  totalBytes: number;
  freeBytes: number;
  /** 0 where the file system does not count them. */
  inodes: number;
  freeInodes: number;
}

/** How a program ended. `problem` is the code of an error when it could not even be started. */
export interface Ended {
  exitCode: number | null;
  stdout: string;
  stderr: string;
  problem: string | null;
  isTimeout: boolean;
}

export interface Machine {
  /** Where all paths begin. */
  readonly root: string;
  /** Where a path really is. */
  at(path: string): string;
  /** Null where it cannot be read. */
  read(path: string): string | null;
  /** Names; none where it cannot be read. */
  list(path: string): string[];
  stat(path: string): Stats | null;
  link(path: string): string | null;
  /** Where a path leads, links on the way followed; the path itself where it is not there. */
  real(path: string): string;
  fileSystem(path: string): FileSystem | null;
  may(path: string, right: 'read' | 'write' | 'execute'): boolean;
  /** Runs a program of this machine with no more environment than it is given. */
  run(
    program: string,
    words: readonly string[],
    options: { environment?: Record<string, string>; timeoutMs: number },
  ): Promise<Ended>;
}

const rights = { read: constants.R_OK, write: constants.W_OK, execute: constants.X_OK };

function attempt<T>(work: () => T): T | null {
  try {
    return work();
  } catch {
    return null;
  }
}

/** The machine below a folder; programs are ended by the clock. */
export function openMachine(root = '/', clock: Clock = systemClock): Machine {
  const at = (path: string): string => (root === '/' ? path : join(root, path));
  return {
    root,
    at,
    read: (path) => attempt(() => readFileSync(at(path), 'utf8')),
    list: (path) => attempt(() => readdirSync(at(path))) ?? [],
    stat: (path) => attempt(() => statSync(at(path))),
    link: (path) => attempt(() => readlinkSync(at(path))),
    real: (path) => {
      const found = attempt(() => realpathSync(at(path)));
      if (found === null || root === '/') return found ?? path;
      const top = realpathSync(root);
      return found.startsWith(`${top}/`) ? found.slice(top.length) : path;
    },
    fileSystem: (path) =>
      attempt(() => {
        const { bsize, blocks, bavail, files, ffree } = statfsSync(at(path));
        return {
          totalBytes: bsize * blocks,
          freeBytes: bsize * bavail,
          inodes: files,
          freeInodes: ffree,
        };
      }),
    may: (path, right) =>
      attempt(() => {
        accessSync(at(path), rights[right]);
        return true;
      }) ?? false,
    run: (program, words, { environment = {}, timeoutMs }) =>
      new Promise((resolve) => {
        const env = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', ...environment };
        let isTimeout = false;
        try {
          const child = execFile(program, [...words], { env }, (error, stdout, stderr) => {
            cancel();
            const isStarted = typeof error?.code !== 'string';
            const failedWith = typeof error?.code === 'number' ? error.code : null;
            const exitCode = error === null ? 0 : failedWith;
            const problem = isStarted ? null : String(error.code);
            resolve({ stdout, stderr, isTimeout, exitCode, problem });
          });
          const cancel = clock.after(timeoutMs, () => {
            isTimeout = child.kill('SIGKILL');
          });
        } catch (error) {
          // Some errors are thrown at once, as EPERM for a file capability that is not allowed here.
          const nothing = { stdout: '', stderr: '', isTimeout: false, exitCode: null };
          resolve({ ...nothing, problem: codeOf(error) });
        }
      }),
  };
}

/** The folder itself, or the nearest one above it that exists. */
export function nearestFolder(machine: Machine, path: string): string {
  let folder = path;
  while (machine.stat(folder) === null && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}
