/** What a result says of files that stay on the agent: no link to them, and a line in its log. */
import type { ArtifactDeclaration } from '@monitor/shared/contract/agent-protocol.ts';
import {
  artifactReference,
  exchangeFields,
  type BrowserCheckResult,
  type ExchangeResult,
  type MultiStepCheckResult,
  type ResultDetails,
} from '@monitor/shared/contract/check-result.ts';

/**
 * The same details without references to files that are not uploaded. `declared` are all files of the
 * run; `now` is the time of the lines in the log, in milliseconds.
 */
export function withoutDeadLinks<T extends ResultDetails>(
  result: T,
  declared: readonly ArtifactDeclaration[],
  now: number,
): T {
  const withheld = declared.filter((file) => file.withheld !== null);
  const uploaded = new Set(
    declared.filter((file) => file.withheld === null).map(({ name }) => artifactReference(name)),
  );
  const isLive = (reference: string): boolean =>
    uploaded.has(reference) || !reference.startsWith(artifactReference(''));
  const orNull = (reference: string | null): string | null =>
    reference !== null && isLive(reference) ? reference : null;
  const lines = withheld.map(({ name, size, withheld: reason }) => ({
    time: now,
    msg: `the file ${name} (${size} bytes) was not uploaded: ${reason ?? ''}`,
    level: 'WARN',
  }));
  // A picture that is not there cannot be approved.
  const ofPictures = <S extends Pick<BrowserCheckResult, 'screenshotComparisons'>>({
    screenshotComparisons: all = [],
    ...details
  }: S) => {
    const screenshotComparisons = all
      .filter(({ actual }) => isLive(actual))
      .map((one) => ({ ...one, expected: orNull(one.expected), diff: orNull(one.diff) }));
    return { ...details, ...(screenshotComparisons.length > 0 && { screenshotComparisons }) };
  };
  const ofScript = <S extends Omit<MultiStepCheckResult, 'requests'>>(details: S): S => ({
    ...details,
    jobLog: [...details.jobLog, ...lines],
    jobAssets: details.jobAssets.filter(isLive),
    playwrightTestTraces: details.playwrightTestTraces.filter(isLive),
    playwrightTestJsonReportFile: orNull(details.playwrightTestJsonReportFile),
  });
  const ofExchange = <S extends ExchangeResult>(details: S): S => ({
    ...details,
    jobLog: { ...details.jobLog, request: [...details.jobLog.request, ...lines] },
    jobAssets: details.jobAssets?.filter(isLive) ?? null,
    pcapDataUrl: orNull(details.pcapDataUrl),
  });
  const exchanges = exchangeFields.map((field) => {
    const details = result[field];
    return [field, details && ofExchange(details)] as const;
  });
  const { browserCheckResult: browser, multiStepCheckResult: steps } = result;
  const { playwrightCheckResult: suite, agenticCheckResult: agentic } = result;
  return {
    ...result,
    ...Object.fromEntries(exchanges),
    browserCheckResult: browser && {
      ...ofScript(ofPictures(browser)),
      pages: browser.pages.map((page) => ({
        ...page,
        screenshots: page.screenshots.filter(isLive),
      })),
      playwrightTestVideos: browser.playwrightTestVideos.filter(isLive),
    },
    multiStepCheckResult: steps && ofScript(steps),
    playwrightCheckResult: suite && {
      ...ofScript(ofPictures(suite)),
      playwrightTestVideos: suite.playwrightTestVideos.filter(isLive),
      playwrightTraceFiles: suite.playwrightTraceFiles.filter(({ url }) => isLive(url)),
    },
    agenticCheckResult: agentic && {
      ...agentic,
      artifactManifest: Object.fromEntries(
        Object.entries(agentic.artifactManifest).filter(
          ([, reference]) => typeof reference !== 'string' || isLive(reference),
        ),
      ),
    },
  };
}
