/** The limits of control groups, versions 1 and 2, on this process or on any group above it. */
import { dirname, join } from 'node:path';
import type { Machine } from './machine.ts';

const base = '/sys/fs/cgroup';
/** Version 1 says "no limit" by a number near 2^63. */
const unlimitedFrom = 2 ** 60;

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

function foldersOf(machine: Machine, controller: string): string[] {
  const groups = parseCgroups(machine.read('/proc/self/cgroup') ?? '');
  const own = groups.get(controller);
  const version1 = own === undefined ? [] : upwards(join(base, controller), own);
  const unified = groups.get('');
  const version2 = unified === undefined ? [] : upwards(base, unified);
  return [...version1, ...version2];
}

function numberIn(machine: Machine, path: string): number | null {
  const text = machine.read(path)?.trim();
  if (text === undefined || !/^\d+$/.test(text)) return null;
  const number = Number(text);
  return number >= unlimitedFrom ? null : number;
}

function smallest(numbers: readonly (number | null)[]): number | null {
  const known = numbers.filter((number) => number !== null);
  return known.length === 0 ? null : Math.min(...known);
}

/** Bytes; null without a limit. */
export function memoryLimit(machine: Machine): number | null {
  return smallest(
    foldersOf(machine, 'memory').flatMap((folder) => [
      numberIn(machine, join(folder, 'memory.max')),
      numberIn(machine, join(folder, 'memory.limit_in_bytes')),
    ]),
  );
}

/** Cores, with fractions; null without a limit. */
export function cpuLimit(machine: Machine): number | null {
  return smallest(
    foldersOf(machine, 'cpu').map((folder) => {
      const [quota, period] = (machine.read(join(folder, 'cpu.max')) ?? '').trim().split(' ');
      if (quota !== undefined && /^\d+$/.test(quota)) return Number(quota) / Number(period);
      const old = numberIn(machine, join(folder, 'cpu.cfs_quota_us'));
      const oldPeriod = numberIn(machine, join(folder, 'cpu.cfs_period_us'));
      return old === null || oldPeriod === null ? null : old / oldPeriod;
    }),
  );
}

/** Processes and threads that may exist, and how many more that is; null without a limit. */
export function processLimit(machine: Machine): { limit: number; left: number } | null {
  const limits = foldersOf(machine, 'pids').flatMap((folder) => {
    const limit = numberIn(machine, join(folder, 'pids.max'));
    const current = numberIn(machine, join(folder, 'pids.current')) ?? 0;
    return limit === null ? [] : [{ limit, left: limit - current }];
  });
  return limits.toSorted((one, other) => one.left - other.left)[0] ?? null;
}
