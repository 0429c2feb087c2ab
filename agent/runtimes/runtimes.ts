/** The runtimes of a running agent. */
import { statSync } from 'node:fs';
import type { InstalledRuntime } from './installed-runtime.ts';
import {
  listRuntimes,
  toInstalled,
  unusableFolder,
  type RuntimeOnDisk,
} from './installed-runtimes.ts';
import { chooseRuntime } from './runtime-choice.ts';
import { verifyRuntime } from './verify-runtime.ts';

export interface RuntimesOptions {
  directory: string;
  builtin: InstalledRuntime | null;
  now: () => number;
  /** Whether a run whose runtime is missing ends; by default it does. */
  isStrict?: boolean;
  /** Called when a check names a runtime that is missing. */
  onMissing?: (id: string) => void;
  /** Why runs cannot start a program, which only they know for sure; null when they can. */
  problemOfRuns?: (program: string) => Promise<string | null>;
  /** A runtime that is there and cannot be used, with what to do. */
  onUnusable: (problem: { id: string; problem: string }) => void;
}

export interface Runtimes {
  /** What this agent reports as its `capabilities.runtimes`: ids, `builtin` included. */
  readonly ids: readonly string[];
  /** The runtime of a run. Throws RUNTIME_MISSING. */
  choose(id: string | null): InstalledRuntime;
  /** Looks again. Gives true when `ids` changed. */
  refresh(): Promise<boolean>;
  /** Looks again if the folder has changed, for the next reading of `ids`. */
  lookAgain(): void;
}

/** Changes when an entry of the folder comes, goes, or gets its name. */
function changedAt(directory: string): number {
  try {
    return statSync(directory, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  } catch (error) {
    throw unusableFolder(directory, error);
  }
}

async function offered(
  runtime: RuntimeOnDisk,
  { now, onUnusable, problemOfRuns }: RuntimesOptions,
): Promise<InstalledRuntime | null> {
  const { id, folder, state } = runtime;
  if (state === 'unfinished') return null;
  try {
    const verification =
      state === 'untested' ? await verifyRuntime({ id, folder, now }) : runtime.verification;
    if (verification === null || verification.failures.length > 0) {
      const packages = verification?.failures.map((failure) => failure.package).join(', ');
      const problem = `does not load ${packages}; see "monitor-agent runtime verify ${id}"`;
      onUnusable({ id, problem });
      return null;
    }
    const usable = toInstalled({ ...runtime, state: 'ready', verification });
    const reason = usable && (await problemOfRuns?.(usable.nodePath));
    if (typeof reason !== 'string') return usable;
    const problem = `runs cannot use it (${reason}); name a folder that every user may read with AGENT_RUNTIMES_DIR`;
    onUnusable({ id, problem });
    return null;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    onUnusable({ id, problem: `cannot be tested (${reason}); remove it and install it again` });
    return null;
  }
}

/**
 * The runtimes in a folder that work, and the agent's own packages. One that was never tested, or
 * changed since, is tested first.
 */
export async function openRuntimes(options: RuntimesOptions): Promise<Runtimes> {
  const { directory, builtin, isStrict = true } = options;
  let installed: InstalledRuntime[] = [];
  const idsNow = (): string[] =>
    [...installed, ...(builtin === null ? [] : [builtin])].map(({ id }) => id);
  let seen = changedAt(directory);
  let looking: Promise<unknown> | null = null;
  const refresh = async (): Promise<boolean> => {
    const before = idsNow().join();
    const found: InstalledRuntime[] = [];
    for (const runtime of listRuntimes(directory)) {
      const usable = await offered(runtime, options);
      if (usable !== null) found.push(usable);
    }
    installed = found;
    return idsNow().join() !== before;
  };
  await refresh();
  return {
    get ids() {
      return idsNow();
    },
    choose(id) {
      if (id !== null && !idsNow().includes(id)) options.onMissing?.(id);
      return chooseRuntime(id, installed, builtin, isStrict);
    },
    refresh,
    lookAgain() {
      const at = changedAt(directory);
      if (at === seen || looking !== null) return;
      seen = at;
      looking = refresh()
        .catch((error: unknown) => {
          options.onUnusable({ id: 'all', problem: `cannot be listed (${String(error)})` });
        })
        .finally(() => (looking = null));
    },
  };
}
