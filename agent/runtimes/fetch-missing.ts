/** Fetches runtimes that checks name and this agent does not have, one at a time, beside its work. */
import { AgentError } from '../errors.ts';
import { installRuntime } from './install-runtime.ts';
import { knownRuntimeIds, planOf } from './runtime-plan.ts';

const againAfterMs = 6 * 3_600_000;

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
  const triedAt = new Map<string, number>();
  let last: Promise<void> = Promise.resolve();
  const fetch = async (id: string): Promise<void> => {
    if (signal.aborted) return;
    try {
      await install({ plan: planOf(id), directory, environment, now, signal });
      options.onFetched(id);
    } catch (error) {
      // Stopping the agent ends it too.
      if (signal.aborted) return;
      options.onFailed(id, error instanceof AgentError ? error.message : String(error));
    }
  };
  return (id) => {
    if (!knownRuntimeIds.includes(id) || planOf(id).lockFolder === null) return;
    if (now() - (triedAt.get(id) ?? Number.NEGATIVE_INFINITY) < againAfterMs) return;
    triedAt.set(id, now());
    last = last.then(() => fetch(id));
  };
}
