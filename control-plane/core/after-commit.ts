/** Work to do after a transaction is committed; null for none. */
export type AfterCommit = (() => void) | null;

/** Runs all of it, in order. */
export function runAll(steps: readonly AfterCommit[]): void {
  for (const step of steps) step?.();
}
