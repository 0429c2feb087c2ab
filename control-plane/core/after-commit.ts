/** What is to be done once a transaction is committed. Null where there is nothing to do. */
export type AfterCommit = (() => void) | null;

/** Does all of them, in order. */
export function runAll(steps: readonly AfterCommit[]): void {
  for (const step of steps) step?.();
}
