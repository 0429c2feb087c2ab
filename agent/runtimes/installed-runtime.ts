/** A set of packages that scripts can use, with the Node that runs them. */
export interface InstalledRuntime {
  /** `2026.04`; `builtin` for the packages the agent itself came with. */
  readonly id: string;
  /** Holds `node_modules`. */
  readonly folder: string;
  readonly nodePath: string;
  /** Versions by package. */
  readonly packages: Readonly<Record<string, string>>;
}

/** What a run says in its log when it has another runtime than its check names; null otherwise. */
export function substituteNote(wanted: string | null, { id }: InstalledRuntime): string | null {
  if (wanted === null || wanted === id) return null;
  const instead = id === 'builtin' ? 'the packages of the agent itself' : `runtime ${id}`;
  return `runtime ${wanted} is not on this agent: the run uses ${instead}; RUNTIME_POLICY=strict ends such runs instead`;
}
