import { AgentError } from '../errors.ts';
import type { InstalledRuntime } from './installed-runtime.ts';

/**
 * The runtime of a run. A check that names one gets that one, or, unless `isStrict`, the packages of the
 * agent itself; one that does not gets the newest there is, and the packages of the agent itself where
 * nothing is installed. Throws RUNTIME_MISSING with the command that helps.
 */
export function chooseRuntime(
  id: string | null,
  installed: readonly InstalledRuntime[],
  builtin: InstalledRuntime | null,
  isStrict = true,
): InstalledRuntime {
  if (id !== null) {
    const named = [...installed, ...(builtin === null ? [] : [builtin])].find(
      (runtime) => runtime.id === id,
    );
    if (named !== undefined) return named;
    if (!isStrict && builtin !== null) return builtin;
    const others = installed.map((runtime) => runtime.id).join(', ');
    throw new AgentError(
      'RUNTIME_MISSING',
      `the check names runtime ${id}, which this agent does not have (it has ${others || 'none'}); ` +
        `install it with "monitor-agent runtime install ${id}", or name another one in the check`,
    );
  }
  const [newest] = [...installed].sort((one, other) => (one.id < other.id ? 1 : -1));
  const chosen = newest ?? builtin;
  if (chosen !== null) return chosen;
  throw new AgentError(
    'RUNTIME_MISSING',
    'the check runs code, and this agent has no runtime; install one with "monitor-agent runtime install 2026.04"',
  );
}
