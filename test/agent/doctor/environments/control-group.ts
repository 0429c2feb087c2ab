/** A control group of the kernel, of version 1 or 2, below that of this process. */
import { existsSync, mkdtempSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseCgroups } from '../../../../agent/control-group.ts';
import { eventually } from '../../../support/system.ts';

const base = '/sys/fs/cgroup';

export interface ControlGroup extends AsyncDisposable {
  limitMemory(bytes: number): void;
  limitProcesses(count: number): void;
  /** The words that start a command in it: put them before it. */
  readonly prefix: readonly string[];
}

function givesLimits(folder: string, controller: string): boolean {
  const given = readFileSync(join(folder, 'cgroup.subtree_control'), 'utf8');
  return given.split(/\s/).includes(controller);
}

/**
 * Where a group that `controller` governs can be made: in this process's own group, or for version 2,
 * which gives no limits below a group with processes in it, in the nearest above that already does.
 */
function folderFor(controller: string): { folder: string; version: 1 | 2 } {
  const groups = parseCgroups(readFileSync('/proc/self/cgroup', 'utf8'));
  const [own, unified] = [groups.get(controller), groups.get('')];
  if (own !== undefined) return { folder: join(base, controller, own), version: 1 };
  if (unified === undefined) throw new Error(`no control group governs ${controller} here`);
  let folder = join(base, unified);
  while (folder !== base && !givesLimits(folder, controller)) folder = dirname(folder);
  return { folder, version: 2 };
}

/** Needs root, and control groups that may be written; says so where they may not. */
export function openControlGroup(controller: 'memory' | 'pids'): ControlGroup {
  const { folder: above, version } = folderFor(controller);
  let folder: string;
  try {
    if (version === 2) writeFileSync(join(above, 'cgroup.subtree_control'), `+${controller}`);
    folder = mkdtempSync(join(above, 'doctor-'));
  } catch (error) {
    throw new Error(`${above} must be a control group in which others can be made`, {
      cause: error,
    });
  }
  const limit = (names: readonly string[], value: number): void => {
    for (const name of names) {
      const file = join(folder, name);
      if (existsSync(file)) writeFileSync(file, String(value));
    }
  };
  return {
    limitMemory(bytes) {
      limit(['memory.max', 'memory.limit_in_bytes'], bytes);
    },
    limitProcesses(count) {
      limit(['pids.max'], count);
    },
    prefix: ['sh', '-c', 'echo $$ > "$0/cgroup.procs"; exec "$@"', folder],
    async [Symbol.asyncDispose]() {
      // Whoever was in it has ended, but the kernel may not have noticed.
      await eventually(
        () => readFileSync(join(folder, 'cgroup.procs'), 'utf8') === '',
        () => `${folder} is still in use`,
      );
      rmdirSync(folder);
    },
  };
}
