/**
 * The tables. Modules declare theirs in their `tables.ts`. Instants (`*_at`, `*_for`, `*_until`,
 * `*_before`) are integer milliseconds since the epoch, `*_ms` durations in milliseconds, flags 0 or 1,
 * `*_json` JSON text, ids UUIDs unless said.
 */

/** Single facts about the installation, by name. */
export interface InstallationTable {
  name: string;
  value: string;
}

export interface Database {
  installation: InstallationTable;
}
