/** Processes of this machine, as /proc shows them. Without /proc there are none. */
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

export interface ProcessFacts {
  readonly pid: number;
  readonly parent: number;
  readonly session: number;
  /** In ticks since boot: together with the id it names one process. */
  readonly startTime: string;
  /** False for one that has ended and that its parent has not waited for. */
  readonly isAlive: boolean;
  readonly threads: number;
  /** CPU time of all of them. */
  readonly cpuMs: number;
}

/** Clock ticks in /proc: 100 a second on every Linux that Node runs on. */
const tickMs = 10;

function lookUp<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    // The process has ended, or its facts are not readable.
    return otherwise;
  }
}

/** The text of a file of a process; empty when it has ended or must not be read. */
export function readOf(pid: number | 'self', file: string): string {
  return lookUp(() => readFileSync(`/proc/${pid}/${file}`, 'latin1'), '');
}

/** Where a link of a process leads; empty when it has ended or must not be read. */
export function linkOf(pid: number, link: string): string {
  return lookUp(() => readlinkSync(`/proc/${pid}/${link}`), '');
}

/** Null for a missing process. */
export function readProcess(pid: number): ProcessFacts | null {
  const stat = readOf(pid, 'stat');
  if (stat === '') return null;
  // The name in parentheses can hold anything; field 3 comes after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const threads = Number(fields[17]);
  const hasEnded = fields[0] === 'Z' || fields[0] === 'X';
  return {
    pid,
    parent: Number(fields[1]),
    session: Number(fields[3]),
    startTime: fields[19] ?? '',
    // A process whose first thread has ended looks like one that has, and its other threads run on.
    isAlive: !hasEnded || threads > 1,
    threads,
    cpuMs: (Number(fields[11]) + Number(fields[12])) * tickMs,
  };
}

function numbersIn(folder: string): number[] {
  return lookUp(() => readdirSync(folder), [])
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number);
}

const pids = (): number[] => numbersIn('/proc');

/** True when no thread of a process runs: each is stopped, or has ended. A call of the system ends first. */
export function isStopped(pid: number): boolean {
  return numbersIn(`/proc/${pid}/task`).every((thread) => {
    const stat = readOf(pid, `task/${thread}/stat`);
    return stat === '' || /^[TtZX]$/.test(stat[stat.lastIndexOf(')') + 2] ?? '');
  });
}

/** All processes by id. */
export function listProcesses(): Map<number, ProcessFacts> {
  const found = new Map<number, ProcessFacts>();
  for (const pid of pids()) {
    const facts = readProcess(pid);
    if (facts !== null) found.set(pid, facts);
  }
  return found;
}

/** Looking at all processes takes less time than at more threads than these. */
const mostThreads = 512;

/** The processes that descend from this one, by id; null where the kernel does not list children, or they have too many threads. */
export function listDescendants(): Map<number, ProcessFacts> | null {
  const found = new Map<number, ProcessFacts>();
  const own = lookUp(() => readFileSync(`/proc/self/task/${process.pid}/children`), null);
  if (own === null) return null;
  const queue = [process.pid];
  let threads = 0;
  for (let parent = queue.pop(); parent !== undefined; parent = queue.pop()) {
    threads += found.get(parent)?.threads ?? 0;
    if (threads > mostThreads) return null;
    // Children are listed by the thread that started them.
    for (const thread of numbersIn(`/proc/${parent}/task`)) {
      for (const text of readOf(parent, `task/${thread}/children`).split(' ')) {
        const facts = text === '' ? null : readProcess(Number(text));
        if (facts === null || found.has(facts.pid)) continue;
        found.set(facts.pid, facts);
        // What has ended has no children any more.
        if (facts.isAlive) queue.push(facts.pid);
      }
    }
  }
  return found;
}

/** The user of a process; null when it has ended. Root, of one that is closed to its own user. */
export function ownerOf(pid: number): number | null {
  return lookUp(() => lstatSync(`/proc/${pid}`).uid, null);
}

/** Ids of the processes of a user. */
export function processesOfUser(uid: number): number[] {
  return pids().filter((pid) => ownerOf(pid) === uid);
}

/** True for a process that is in the folder, or has a path in it in its environment. */
export function isProcessIn(folder: string, pid: number): boolean {
  const isInside = (path: string): boolean => path === folder || path.startsWith(`${folder}/`);
  return (
    isInside(linkOf(pid, 'cwd')) ||
    readOf(pid, 'environ')
      .split('\0')
      .some((entry) => isInside(entry.slice(entry.indexOf('=') + 1)))
  );
}

/** Ids of the processes for which `isProcessIn` is true, without this one. */
export function processesIn(folder: string): number[] {
  return pids().filter((pid) => pid !== process.pid && isProcessIn(folder, pid));
}

/** Sends a signal, unless the process has ended. A negative id is that of a process group. */
export function signalTo(pid: number, signal: NodeJS.Signals): void {
  lookUp(() => process.kill(pid, signal), false);
}

const giveUpAfterMs = 3_000;

/** Kills what is left of a run: by its user, where it had one, otherwise by its folder. */
export async function endProcessesOf(folder: string, uid: number | null): Promise<void> {
  const until = performance.now() + giveUpAfterMs;
  while (performance.now() < until) {
    const left = uid === null ? processesIn(folder) : processesOfUser(uid);
    if (left.length === 0) return;
    for (const signal of ['SIGSTOP', 'SIGKILL'] as const) {
      for (const pid of left) signalTo(pid, signal);
    }
    await pause(10);
  }
}
