/** Ends work on this thread that may take too long. */
import { createContext, runInContext } from 'node:vm';

const timed = createContext({ work: (): unknown => undefined });

/** Calls `work`, and throws `problem` when it is not done after so many ms. */
export function within<T>(ms: number, problem: string, work: () => T): T {
  if (ms < 1) throw new Error(problem);
  timed['work'] = work;
  try {
    return runInContext('work()', timed, { timeout: Math.ceil(ms) }) as T;
  } catch (error) {
    const isLate = (error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
    throw isLate ? new Error(problem) : error;
  } finally {
    timed['work'] = undefined;
  }
}
