import type { Services } from '../../core/services.ts';

export const reportFile = 'report.zip';

/** A link to the files of a reported result, valid for an hour: signed as those to files of other results. */
export function linkToReport(
  links: Services['links'],
  publicUrl: string,
  testResultId: string,
  now: number,
): string {
  const { search } = new URL(links.to(testResultId, reportFile, now));
  return `${publicUrl}/v1/test-reports/${testResultId}${search}`;
}
