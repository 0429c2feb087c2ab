/** Snapshots that a run made anew for a client, which stores them in its project and deploys them from there. */
import type { CheckResult } from '@monitor/shared/contract/check-result-routes.ts';
import type { Services } from '../../core/services.ts';
import { listArtifacts } from '../../results/index.ts';

/** Files follow their result; one that an agent cannot upload must not keep a client waiting. */
const arriveWithinMs = 60_000;
const keyPattern = /^results\/([0-9a-f-]{36})\/(.{1,200})$/;

/** The file that a key of `snapshotsOf` names; null for other keys. */
export function nameOfSnapshot(key: string): { resultId: string; name: string } | null {
  const [, resultId, name] = keyPattern.exec(key) ?? [];
  return resultId === undefined || name === undefined ? null : { resultId, name };
}

/** Those that are here; null while they arrive. A run that failed gives none. */
export async function snapshotsOf(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  accountId: string,
  result: CheckResult,
): Promise<{ key: string; path: string }[] | null> {
  const updated = result.browserCheckResult?.updatedSnapshots ?? [];
  if (updated.length === 0 || result.hasFailures || result.hasErrors) return [];
  const files = await listArtifacts(db, accountId, result.id);
  const isLate = clock.now() - Date.parse(result.created_at) > arriveWithinMs;
  if (!isLate && files.some(({ state }) => state === 'PENDING')) return null;
  const stored = new Set(files.flatMap(({ name, state }) => (state === 'STORED' ? [name] : [])));
  return updated.flatMap(({ path, name }) =>
    stored.has(name) ? [{ key: `results/${result.id}/${name}`, path }] : [],
  );
}
