import type { Clock } from '@monitor/shared/clock.ts';
import type { CodeBundleStore } from './code-bundles/store.ts';

/** The description of the upload promises this retention. */
const keptUnusedMs = 30 * 86_400_000;

/** Deletes code bundles that no check names or has used for 30 days; gives their number. */
export async function pruneCodeBundles(store: CodeBundleStore, clock: Clock): Promise<number> {
  return store.prune(clock.now() - keptUnusedMs);
}
