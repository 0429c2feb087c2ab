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
