/** What processes cost, from /proc: CPU of a tree, what it writes, memory that is its own. */
import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts CPU time of processes in hundredths of a second. */
const ticksPerSecond = 100;

interface Stat {
  parent: number;
  cpuMs: number;
}

function statOf(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    // The last two are of children that have ended.
    const ticks = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0);
    return { parent: Number(fields[1]), cpuMs: (ticks * 1000) / ticksPerSecond };
  } catch {
    return null;
  }
}

function treeOf(root: number): { pid: number; cpuMs: number }[] {
  const stats = new Map<number, Stat>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = statOf(Number(name));
    if (stat !== null) stats.set(Number(name), stat);
  }
  const isBelow = (pid: number): boolean => {
    for (let at: number | undefined = pid; at !== undefined && at > 1; at = stats.get(at)?.parent) {
      if (at === root) return true;
    }
    return false;
  };
  return [...stats].flatMap(([pid, { cpuMs }]) => (isBelow(pid) ? [{ pid, cpuMs }] : []));
}

/** A process and its descendants. */
export function treePids(root: number): number[] {
  return treeOf(root).map(({ pid }) => pid);
}

/** CPU of a process and its descendants so far, in ms. */
export function treeCpuMs(root: number): number {
  return treeOf(root).reduce((sum, { cpuMs }) => sum + cpuMs, 0);
}

/** What a process and its descendants have cost so far. */
export interface TreeCost {
  cpuMs: number;
  /** What they gave the kernel to be written to disks. */
  writtenBytes: number;
}

function writtenBytes(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/io`, 'utf8');
    return Number(/^write_bytes: (\d+)$/m.exec(text)?.[1] ?? 0);
  } catch {
    return 0;
  }
}

export function treeCost(root: number): TreeCost {
  const tree = treeOf(root);
  return {
    cpuMs: tree.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
    writtenBytes: tree.reduce((sum, { pid }) => sum + writtenBytes(pid), 0),
  };
}

/** CPU of all that this process has started and that has ended, with what that has waited for, in ms. */
export function endedCpuMs(): number {
  const text = readFileSync('/proc/self/stat', 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[13]) + Number(fields[14])) * 1000) / ticksPerSecond;
}

/** Proportional set size of a process in MiB: shared pages count in part. */
export function pssMib(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? Number.NaN) / 1024;
}

/** That of a process and its descendants. */
export function treePssMib(root: number): number {
  return treeOf(root).reduce((sum, { pid }) => sum + pssMib(pid), 0);
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** The value below which this share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
