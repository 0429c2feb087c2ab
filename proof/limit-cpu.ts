import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';

/**
 * Puts a process into a control group with a CPU quota, a share of one CPU; null where that is not possible.
 */
export function limitCpu(pid: number, share: number): Disposable | null {
  const isFirst = existsSync('/sys/fs/cgroup/cpu');
  const root = isFirst ? '/sys/fs/cgroup/cpu' : '/sys/fs/cgroup';
  const folder = `${root}/proof-${pid}`;
  // The kernel gives no less than a millisecond at once.
  const periodUs = share < 0.01 ? 1_000_000 : 100_000;
  try {
    mkdirSync(folder);
    if (isFirst) {
      writeFileSync(`${folder}/cpu.cfs_period_us`, String(periodUs));
      writeFileSync(`${folder}/cpu.cfs_quota_us`, String(periodUs * share));
    } else writeFileSync(`${folder}/cpu.max`, `${periodUs * share} ${periodUs}`);
    writeFileSync(`${folder}/cgroup.procs`, String(pid));
  } catch {
    if (existsSync(folder)) rmdirSync(folder);
    return null;
  }
  return {
    [Symbol.dispose]: () => {
      try {
        writeFileSync(`${root}/cgroup.procs`, String(pid));
        rmdirSync(folder);
      } catch {
        // Its processes are not all gone; an empty group costs nothing.
      }
    },
  };
}
