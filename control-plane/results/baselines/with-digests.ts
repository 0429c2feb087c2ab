/** What the images of a result are, so that people see which of them are approved. */
import type { ScreenshotComparison } from '@monitor/shared/contract/baseline.ts';
import type { Db } from '../../db/tables.ts';
import { listArtifacts } from '../artifacts/store.ts';

interface Details {
  screenshotComparisons?: (Pick<ScreenshotComparison, 'actual'> & {
    actualDigest?: string | undefined;
  })[];
}

/** `json` is a result of the API with links, and so is the answer. */
export async function withDigests(
  db: Db,
  of: { accountId: string; resultId: string },
  json: string,
): Promise<string> {
  if (!json.includes('"screenshotComparisons":')) return json;
  const files = await listArtifacts(db, of.accountId, of.resultId);
  const digests = new Map(files.map(({ name, digest }) => [encodeURIComponent(name), digest]));
  const result = JSON.parse(json) as Record<string, unknown>;
  for (const key of ['browserCheckResult', 'playwrightCheckResult']) {
    const { screenshotComparisons = [] } = (result[key] ?? {}) as Details;
    for (const one of screenshotComparisons) {
      const [, name = ''] = /\/v1\/artifacts\/[^/?]+\/([^/?]+)\?/.exec(one.actual) ?? [];
      one.actualDigest = digests.get(name) ?? undefined;
    }
  }
  return JSON.stringify(result);
}
