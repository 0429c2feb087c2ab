/** Fetches runtimes that checks name and this agent does not have, one at a time, beside its work. */
import { AgentError } from '../errors.ts';
import { installRuntime } from './install-runtime.ts';
import { knownRuntimeIds, planOf } from './runtime-plan.ts';

/** A registry may be away for a moment only. The pause doubles with each failure in a row. */
const shortestPauseMs = 60_000;
const longestPauseMs = 6 * 3_600_000;

export interface FetchOptions {
  directory: string;
  environment: Readonly<Record<string, string | undefined>>;
  now: () => number;
  signal: AbortSignal;
  onFetched: (id: string) => void;
  /** Without a network nothing can be done about it, so this is no warning. */
  onFailed: (id: string, reason: string) => void;
  install?: typeof installRuntime;
}

/** Asks for a runtime. Only locked ones are fetched: what npm would choose is not what checks were made for. */
export function fetchMissing(options: FetchOptions): (id: string) => void {
  const { directory, environment, now, signal, install = installRuntime } = options;
  const tries = new Map<string, { notBefore: number; failures: number }>();
  let last: Promise<void> = Promise.resolve();
  const fetch = async (id: string, failures: number): Promise<void> => {
    if (signal.aborted) return;
    try {
      await install({ plan: planOf(id), directory, environment, now, signal });
      tries.set(id, { notBefore: now() + longestPauseMs, failures: 0 });
      options.onFetched(id);
    } catch (error) {
      // Stopping the agent ends it too.
      if (signal.aborted) return;
      const pauseMs = Math.min(shortestPauseMs * 2 ** failures, longestPauseMs);
      tries.set(id, { notBefore: now() + pauseMs, failures: failures + 1 });
      options.onFailed(id, error instanceof AgentError ? error.message : String(error));
    }
  };
  return (id) => {
    if (!knownRuntimeIds.includes(id) || planOf(id).lockFolder === null) return;
    const { notBefore, failures } = tries.get(id) ?? { notBefore: -Infinity, failures: 0 };
    if (now() < notBefore) return;
    tries.set(id, { notBefore: Infinity, failures });
    last = last.then(() => fetch(id, failures));
  };
}
