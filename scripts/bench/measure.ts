/** What processes cost, from /proc; medians; and the rows that are shown and compared. */
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';

/** Linux counts CPU time of processes in hundredths of a second. */
const msPerTick = 10;

/** The fields of a process from its state on; null once it has ended. */
function statOf(pid: number | 'self'): number[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
  } catch {
    return null;
  }
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

function treeOf(root: number): { pid: number; cpuMs: number }[] {
  const stats = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? statOf(Number(name)) : null;
    if (stat !== null) stats.set(Number(name), stat);
  }
  const isBelow = (pid: number): boolean => {
    for (let at: number | undefined = pid; at !== undefined && at > 1; at = stats.get(at)?.[1]) {
      if (at === root) return true;
    }
    return false;
  };
  // The last two of its times are of children that have ended.
  return [...stats].flatMap(([pid, stat]) =>
    isBelow(pid) ? [{ pid, cpuMs: sum(stat.slice(11, 15)) * msPerTick }] : [],
  );
}

/** A process and its descendants. */
export const treePids = (root: number): number[] => treeOf(root).map(({ pid }) => pid);

/** CPU of a process and its descendants so far, in ms. */
export const treeCpuMs = (root: number): number => sum(treeOf(root).map(({ cpuMs }) => cpuMs));

/** CPU of all that this process has started and that has ended, with what that has waited for, in ms. */
export const endedCpuMs = (): number => sum(statOf('self')?.slice(13, 15) ?? []) * msPerTick;

/** CPU of this process so far, in ms. */
export function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** A figure in a file of each process of a tree, added up; nothing where it cannot be read. */
const treeFigure = (root: number, file: string, pattern: RegExp): number =>
  sum(
    treePids(root).map((pid) => {
      try {
        return Number(pattern.exec(readFileSync(`/proc/${pid}/${file}`, 'utf8'))?.[1] ?? 0);
      } catch {
        return 0;
      }
    }),
  );

/** What a process and its descendants gave the kernel to be written to disks. */
export const treeWrittenBytes = (root: number): number =>
  treeFigure(root, 'io', /^write_bytes: (\d+)$/m);

/** Proportional set size of a process and its descendants: shared pages count in part. */
export const treePssMib = (root: number): number =>
  treeFigure(root, 'smaps_rollup', /^Pss:\s+(\d+) kB/m) / 1024;

/** The value below which this share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** The median of what pairs of rounds differ by. */
export const medianRatio = (ours: readonly number[], theirs: readonly number[]): number =>
  median(ours.map((cost, round) => cost / (theirs[round] ?? Number.NaN)));

/** Measures ways in turn, so that all meet the same machine; what the first `warmUps` rounds took does not count. */
export async function inTurns<Cost, Name extends string>(
  ways: Readonly<Record<Name, () => Promise<Cost>>>,
  rounds: number,
  warmUps = 0,
): Promise<Record<Name, Cost[]>> {
  const names = Object.keys(ways) as Name[];
  const costs = Object.fromEntries(names.map((name) => [name, [] as Cost[]]));
  for (let round = -warmUps; round < rounds; round += 1) {
    for (const name of names) {
      const cost = await ways[name]();
      if (round >= 0) costs[name]?.push(cost);
    }
  }
  return costs as Record<Name, Cost[]>;
}

export const ms = (value: number, digits = 2): string => `${value.toFixed(digits)} ms`;

export interface ShownRow {
  label: string;
  /** By name, as text with a unit. */
  values: Record<string, string>;
}

/** Shows a row to people and, where BENCH_ROWS names a file, to programs that compare builds. */
export function show(label: string, values: Record<string, string>): void {
  const text = Object.entries(values).map(([name, value]) => `${name} ${value}`);
  console.log(`${label.padEnd(26)} ${text.join('   ')}`);
  const row: ShownRow = { label, values };
  const file = process.env['BENCH_ROWS'];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(row)}\n`);
}
