import type { InstalledRuntime } from '../../runtimes/installed-runtime.ts';

/** What a run says in its log when it has another runtime than its check names; null otherwise. */
export function substituteNote(wanted: string | null, { id }: InstalledRuntime): string | null {
  if (wanted === null || wanted === id) return null;
  const instead = id === 'builtin' ? 'the packages of the agent itself' : `runtime ${id}`;
  return `runtime ${wanted} is not on this agent: the run uses ${instead}; RUNTIME_POLICY=strict ends such runs instead`;
}
