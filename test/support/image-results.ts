/** Results of browser checks with images that had no baseline, or differed from it. */
import assert from 'node:assert/strict';
import type { ArtifactDeclaration } from '@monitor/shared/contract/agent-protocol.ts';
import type { ScreenshotComparison } from '@monitor/shared/contract/baseline.ts';
import { declaration, sha256Base64 } from './artifact-api.ts';
import { now, type Bench } from './results.ts';

export const location = 'eu-west-1';

export const comparison = (
  path: string,
  fields: Partial<ScreenshotComparison> = {},
): ScreenshotComparison => ({
  ...{ path, project: 'chromium', platform: 'linux-x64', outcome: 'MISSING' },
  ...{ deployedDigest: null, expected: null, actual: `artifact:${path}`, diff: null },
  ...fields,
});

export const detailsOf = (screenshotComparisons: ScreenshotComparison[]) => ({
  ...{ type: 'PLAYWRIGHT_TEST', errors: [], startTime: now, endTime: now, runtimeVersion: '' },
  ...{ jobLog: [], jobAssets: [], playwrightTestTraces: [], playwrightTestJsonReportFile: null },
  ...{ tests: [], pages: [], playwrightTestVideos: [], screenshotComparisons },
  traceSummary: { consoleErrors: 0, networkErrors: 0, documentErrors: 0, userScriptErrors: 0 },
});

/** Hands in a result with images, and the images that are given; gives the id of the result. */
export async function handIn(
  bench: Bench,
  key: string,
  checkId: string,
  given: {
    comparisons: ScreenshotComparison[];
    updatedSnapshots?: { path: string; name: string }[];
    files: Record<string, Buffer>;
    withheld?: string;
    at?: number;
  },
): Promise<string> {
  const artifacts: ArtifactDeclaration[] = Object.entries(given.files).map(([name, bytes]) =>
    declaration(name, bytes.length, {
      ...{ type: 'screenshot', contentType: 'image/png' },
      withheld: given.withheld ?? null,
    }),
  );
  const { updatedSnapshots } = given;
  const browserCheckResult = {
    ...detailsOf(given.comparisons),
    ...(updatedSnapshots !== undefined && { updatedSnapshots }),
  };
  const fields = { browserCheckResult, artifacts, runLocation: location };
  const result = bench.result(checkId, 'BROWSER', given.at ?? now, fields);
  await bench.submitAll([result]);
  for (const [name, bytes] of Object.entries(given.files)) {
    if (given.withheld !== undefined) continue;
    const sent = await fetch(
      `${bench.cp.url}/v1/agent/artifacts/${result.id}/${encodeURIComponent(name)}`,
      {
        ...{ method: 'PUT', body: new Uint8Array(bytes) },
        headers: { authorization: `Bearer ${key}`, digest: `sha-256=${sha256Base64(bytes)}` },
      },
    );
    assert.equal(sent.status, 204, await sent.text());
  }
  return result.id;
}
