/** The daily message of shadow mode. */
import type { ShadowDifference, ShadowState } from '@monitor/shared/contract/shadow.ts';
import { oneLine, shorten } from '../core/escape.ts';
import { count, instantText, linkToResult, type ReportFacts } from '../notifications/index.ts';
import { gapIn } from './decide/gap.ts';

const shownDifferences = 20;
const maxError = 200;

/** What each side saw, with a link to results of ours. */
function evidenceText(of: ShadowDifference, publicUrl: string): string {
  const at = (text: string) => instantText(Date.parse(text));
  const [who, other] = of.failedAt === 'OURS' ? ['we', 'they'] : ['they', 'we'];
  const sawText = (saw: ShadowDifference['saw'], isOurs: boolean): string => {
    const { status, location, responseTime, error, resultId } = saw;
    const time = responseTime === null ? '' : ` in ${responseTime} ms`;
    const why = error === null ? '' : `: ${shorten(oneLine(error), maxError)}`;
    const where = isOurs ? linkToResult(publicUrl, of.checkId, resultId) : `result ${resultId}`;
    return `${status} at ${at(saw.at)} from ${location}${time}${why} (${where})`;
  };
  const until = of.results === 1 ? '' : ` to ${at(of.lastAt)}, ${of.results} results`;
  const brief = of.fitsBetweenRuns ? '; no run of the other lies between' : '';
  return [
    `only ${who} saw it failing: ${at(of.firstAt)}${until}${brief}`,
    `${who}: ${sawText(of.saw, who === 'we')}`,
    `${other}: ${of.othersSaw.map((saw) => sawText(saw, other === 'we')).join('; ')}`,
  ].join('. ');
}

/** `state` has the sums of the time since the last report. */
export function reportOf(
  state: ShadowState,
  differences: readonly ShadowDifference[],
  { host, since, now, publicUrl }: { host: string; since: number; now: number; publicUrl: string },
): Omit<ReportFacts, 'incidentKey'> {
  const results = count(state.compared, 'result');
  const total = differences.length;
  const [label, title] =
    total > 0
      ? ['VERDICTS DIFFER', `${count(total, 'difference')} to ${host}, ${results} compared`]
      : state.compared > 0
        ? ['NONE DIFFERED', `No verdict differed from ${host}, ${results} compared`]
        : ['NOT COMPARED', `Verdicts could not be compared with ${host}`];
  const gap = gapIn(state, now);
  const reasons = Map.groupBy(state.notCompared, ({ why }) => why);
  const compared = `${results} of ${count(state.checks, 'check')}`;
  const more = total - shownDifferences;
  const lines: [string, string][] = [
    ['Since', instantText(since)],
    ['Compared', `${compared}; ${state.undecided} had none beside them`],
    ...[...reasons].map(([why, of]): [string, string] => [
      'Not compared',
      oneLine(`${count(of.length, 'check')}: ${why}`),
    ]),
    ...differences
      .slice(0, shownDifferences)
      .map((of): [string, string] => [oneLine(of.name), evidenceText(of, publicUrl)]),
  ];
  if (more > 0) lines.push(['More', `${more}: control-plane shadow show`]);
  return {
    ...{ kind: 'report', at: now, label, title },
    reason: state.problem === null ? (gap ?? '') : oneLine(`${String(gap)}: ${state.problem}`),
    details: lines.map(([name, value]) => ({ label: name, value })),
    link: { url: `${publicUrl}/console/#/checks`, text: 'Open the checks' },
  };
}
