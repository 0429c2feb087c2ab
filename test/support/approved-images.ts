/** What a control plane does with images of runs, in memory: people approve them, and agents fetch them. */
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { AssignedBaseline } from '@monitor/shared/contract/agent-protocol.ts';
import type { ScreenshotComparison } from '@monitor/shared/contract/baseline.ts';
import type { Observation } from '../../agent/runners/runner.ts';

/** The comparisons of a run. */
export function comparisonsOf({ details }: Observation): readonly ScreenshotComparison[] {
  const { browserCheckResult, playwrightCheckResult } = details ?? {};
  return (browserCheckResult ?? playwrightCheckResult)?.screenshotComparisons ?? [];
}

export class ApprovedImages {
  readonly #images = new Map<string, Buffer>();
  readonly #byLocation = new Map<string, Map<string, AssignedBaseline>>();

  put(bytes: Buffer): string {
    const digest = hash('sha256', bytes, 'hex');
    this.#images.set(digest, bytes);
    return digest;
  }

  image = (_checkId: string, digest: string): Promise<Buffer | null> =>
    Promise.resolve(this.#images.get(digest) ?? null);

  of(location: string): AssignedBaseline[] {
    return [...(this.#byLocation.get(location)?.values() ?? [])];
  }

  /** `fileOf` gives the file of a reference in the result. */
  async approve(
    location: string,
    comparisons: readonly ScreenshotComparison[],
    fileOf: (reference: string) => string,
  ): Promise<void> {
    const known = this.#byLocation.get(location) ?? new Map<string, AssignedBaseline>();
    this.#byLocation.set(location, known);
    for (const { path, platform, deployedDigest, actual } of comparisons) {
      const digest = this.put(await readFile(fileOf(actual)));
      known.set(path, { path, platform, deployedDigest, digest });
    }
  }
}
