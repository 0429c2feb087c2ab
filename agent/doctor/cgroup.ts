/** The limits of control groups, versions 1 and 2, on this process or on any group above it. */
import { join } from 'node:path';
import { groupFolders } from '../control-group.ts';
import type { Machine } from './machine.ts';

/** Version 1 says "no limit" by a number near 2^63. */
const unlimitedFrom = 2 ** 60;

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
    groupFolders(machine, 'memory').flatMap((folder) => [
      numberIn(machine, join(folder, 'memory.max')),
      numberIn(machine, join(folder, 'memory.limit_in_bytes')),
    ]),
  );
}

/** Cores, with fractions; null without a limit. */
export function cpuLimit(machine: Machine): number | null {
  return smallest(
    groupFolders(machine, 'cpu').map((folder) => {
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
  const limits = groupFolders(machine, 'pids').flatMap((folder) => {
    const limit = numberIn(machine, join(folder, 'pids.max'));
    const current = numberIn(machine, join(folder, 'pids.current')) ?? 0;
    return limit === null ? [] : [{ limit, left: limit - current }];
  });
  return limits.toSorted((one, other) => one.left - other.left)[0] ?? null;
}
