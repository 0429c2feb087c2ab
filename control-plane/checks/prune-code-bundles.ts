import type { Clock } from '@monitor/shared/clock.ts';
import type { CodeBundleStore } from './code-bundles/store.ts';

/** The description of the upload promises this retention. */
const keptUnusedMs = 23 * 3_600_000;

/** Deletes what nothing names or has used for 23 hours, which is looked at every hour; gives the number. */
export async function pruneCodeBundles(store: CodeBundleStore, clock: Clock): Promise<number> {
  return store.prune(clock.now() - keptUnusedMs);
}
