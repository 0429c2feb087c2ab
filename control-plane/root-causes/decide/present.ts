/** A finding as clients read it. */
import type { RootCause } from '@monitor/shared/contract/root-cause.ts';
import { count, listText, titleOf } from './cause-class.ts';
import type { Finding } from './diagnose.ts';

const maxChecks = 20;

/** The class of a finding without a cause. */
export const unknownClass = 'not-enough-to-tell';

export function present(
  finding: Finding,
  linkTo: (checkId: string, resultId: string) => string,
): RootCause {
  const { cause, runs, certainty } = finding;
  const checks = [...new Map(runs.map((run) => [run.checkId, run])).values()];
  const locations = [...new Set(runs.map(({ location }) => location))];
  const [first] = runs;
  return {
    classification: cause?.name ?? unknownClass,
    title: titleOf(cause?.name ?? unknownClass),
    rootCause: finding.sentence,
    userImpact: `${count(checks.length, 'check')} from ${listText(locations)}`,
    codeFix: null,
    evidence: finding.evidence.map((description) => ({ artifacts: [], description })),
    referenceLinks:
      first === undefined
        ? []
        : [{ url: linkTo(first.checkId, first.resultId), title: `Result of ${first.checkName}` }],
    place: finding.place,
    side: cause?.side ?? null,
    confidence: certainty,
    rulesOut: finding.rulesOut,
    wouldTell: finding.tells,
    since: new Date(finding.since).toISOString(),
    locations,
    checks: checks
      .slice(0, maxChecks)
      .map(({ checkId: id, checkName: name, resultId }) => ({ id, name, resultId })),
    moreChecks: Math.max(0, checks.length - maxChecks),
  };
}
