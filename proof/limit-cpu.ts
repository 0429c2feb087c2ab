import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';

/**
 * Puts a process into a control group with a CPU quota, a share of one CPU; null where that is not possible.
 */
export function limitCpu(pid: number, share: number): Disposable | null {
  const folder = `/sys/fs/cgroup/cpu/proof-${pid}`;
  // The kernel gives no less than a millisecond at once.
  const periodUs = share < 0.01 ? 1_000_000 : 100_000;
  try {
    mkdirSync(folder);
    writeFileSync(`${folder}/cpu.cfs_period_us`, String(periodUs));
    writeFileSync(`${folder}/cpu.cfs_quota_us`, String(periodUs * share));
    writeFileSync(`${folder}/cgroup.procs`, String(pid));
  } catch {
    return null;
  }
  return {
    [Symbol.dispose]: () => {
      try {
        writeFileSync('/sys/fs/cgroup/cpu/cgroup.procs', String(pid));
        rmdirSync(folder);
      } catch {
        // Its processes are not all gone; an empty group costs nothing.
      }
    },
  };
}
