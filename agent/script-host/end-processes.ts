/** Ending what belongs to a run when the one who watched over it is gone. */
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const giveUpAfterMs = 3_000;

function lookUp(read: () => string): string {
  try {
    return read();
  } catch {
    // The process has ended, or its facts are not readable.
    return '';
  }
}

function ownerOf(pid: string): number | null {
  try {
    return lstatSync(`/proc/${pid}`).uid;
  } catch {
    return null;
  }
}

/** Ids of the processes of a user. */
export function processesOfUser(uid: number): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && ownerOf(entry) === uid)
    .map(Number);
}

/** Ids of the processes that have the folder in their environment, or are in it. */
export function processesIn(folder: string): number[] {
  const isInside = (path: string): boolean => path === folder || path.startsWith(`${folder}/`);
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)
    .filter(
      (pid) =>
        isInside(lookUp(() => readlinkSync(`/proc/${pid}/cwd`))) ||
        lookUp(() => readFileSync(`/proc/${pid}/environ`, 'utf8'))
          .split('\0')
          .some((entry) => isInside(entry.slice(entry.indexOf('=') + 1))),
    )
    .map(Number);
}

/** Kills what is left of a run: by its user, where it had one, otherwise by its folder. */
export async function endProcessesOf(folder: string, uid: number | null): Promise<void> {
  const until = performance.now() + giveUpAfterMs;
  while (performance.now() < until) {
    const pids = uid === null ? processesIn(folder) : processesOfUser(uid);
    if (pids.length === 0) return;
    for (const signal of ['SIGSTOP', 'SIGKILL'] as const) {
      for (const pid of pids) {
        try {
          process.kill(pid, signal);
        } catch {
          // Gone meanwhile.
        }
      }
    }
    await pause(10);
  }
}
