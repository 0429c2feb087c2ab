/** Where the control groups of this process are, in versions 1 and 2, and what the kernel did in them. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const base = '/sys/fs/cgroup';

/** What reading takes; null where a file cannot be read. */
export interface Reader {
  read(path: string): string | null;
}

export const kernelReader: Reader = {
  read(path) {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return null;
    }
  },
};

/** Groups of this process: its path by controller; version 2 has the controller ''. */
export function parseCgroups(text: string): Map<string, string> {
  const paths = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, , controllers, path] = /^(\d+):([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    for (const controller of controllers.split(',')) paths.set(controller, path);
  }
  return paths;
}

/** A folder and those above it, down to the base. In a container the path may lie outside of it. */
function upwards(folder: string, path: string): string[] {
  const folders: string[] = [];
  let at = join(folder, path);
  while (at.startsWith(folder) && at !== folder) {
    folders.push(at);
    at = dirname(at);
  }
  return [...folders, folder];
}

/** Folders of the groups that bind this process for a controller, its own first. */
export function groupFolders(reader: Reader, controller: string): string[] {
  const groups = parseCgroups(reader.read('/proc/self/cgroup') ?? '');
  const own = groups.get(controller);
  const version1 = own === undefined ? [] : upwards(join(base, controller), own);
  const unified = groups.get('');
  const version2 = unified === undefined ? [] : upwards(base, unified);
  return [...version1, ...version2];
}

const countedIn = (text: string | null): number | null => {
  const count = /^oom_kill (\d+)$/m.exec(text ?? '')?.[1];
  return count === undefined ? null : Number(count);
};

/** How many processes the kernel has ended for want of memory in a group; null where it is not known. */
export function killsIn(reader: Reader, folder: string): number | null {
  const names = ['memory.events', 'memory.oom_control'];
  const counts = names.map((name) => countedIn(reader.read(join(folder, name))));
  return counts.find((count) => count !== null) ?? null;
}

/**
 * How many processes the kernel has ended for want of memory, in the group of this process and below.
 * Null where it is not known.
 */
export function memoryKills(reader: Reader): number | null {
  const counts = groupFolders(reader, 'memory').map((folder) => killsIn(reader, folder));
  return counts.find((count) => count !== null) ?? null;
}

/** Time in which the groups of this process were not let run, in ms; 0 where there is no limit. */
export function throttledMs(reader: Reader): number {
  const times = groupFolders(reader, 'cpu').map((folder) => {
    const text = reader.read(join(folder, 'cpu.stat')) ?? '';
    const [, unit, amount] = /^throttled_(usec|time) (\d+)$/m.exec(text) ?? [];
    return Number(amount ?? 0) / (unit === 'usec' ? 1e3 : 1e6);
  });
  return times.reduce((sum, time) => sum + time, 0);
}
