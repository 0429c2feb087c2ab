import type { Clock } from '@monitor/shared/clock.ts';
import type { CodeBundleStore } from './code-bundles/store.ts';

/** Promised in the description of the upload. */
const keptUnusedMs = 30 * 86_400_000;

/** Deletes code bundles that no check has used for 30 days and none names; gives how many. */
export async function pruneCodeBundles(store: CodeBundleStore, clock: Clock): Promise<number> {
  return store.prune(clock.now() - keptUnusedMs);
}
