/** Ends work on this thread that takes too much CPU time. */
import { createContext, runInContext } from 'node:vm';

const timed = createContext({ work: (): unknown => undefined });

/** The thread had too little of a CPU for the work: nobody knows whether it would have kept its limit. */
export class WithoutCpuError extends Error {}

/** Work that gets less than half a CPU is stopped without an outcome. */
const maxWallFactor = 2;

/** What this thread has used of a CPU, in ms. */
function cpuOfThread(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/**
 * Calls `work`, and throws `problem` when it took `ms` of CPU time, however busy the machine is. Returns
 * what it used as well.
 */
export function within<T>(
  ms: number,
  problem: string,
  work: () => T,
  cpu = cpuOfThread,
): { value: T; usedMs: number } {
  if (ms < 1) throw new Error(problem);
  const before = cpu();
  const usedMs = (): number => cpu() - before;
  timed['work'] = work;
  let value: T;
  try {
    value = runInContext('work()', timed, { timeout: Math.ceil(ms * maxWallFactor) }) as T;
  } catch (error) {
    const isLate = (error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
    if (isLate && usedMs() < ms) throw new WithoutCpuError(problem);
    throw isLate ? new Error(problem) : error;
  } finally {
    timed['work'] = undefined;
  }
  if (usedMs() >= ms) throw new Error(problem);
  return { value, usedMs: usedMs() };
}
