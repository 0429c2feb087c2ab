import { oneLine } from './escape.ts';
import type { FaultFacts } from './facts.ts';
import { linkToAgents } from './links.ts';
import { count, durationText, instantText, namesText } from './phrases.ts';

/** Where agents do not say which error it was. */
const unknownCode = 'UNKNOWN';

function titleOf({ code, isOver, isConclusive, ...facts }: FaultFacts): string {
  const location = `location "${oneLine(facts.locationName)}"`;
  if (code === null) {
    if (!isOver) return `Nothing but errors of ours from ${location}`;
    return isConclusive
      ? `There are results from ${location} again`
      : `No check of ${location} ends in errors of ours any more`;
  }
  const error = code === unknownCode ? 'an error of ours' : oneLine(code);
  return isOver
    ? `No check of ${location} ends in ${error} any more`
    : `${count(facts.checks.length, 'check')} of ${location} ${facts.checks.length === 1 ? 'ends' : 'end'} in ${error} every time`;
}

/** What is said of a location whose checks get nothing but errors of ours. */
export function faultMessage(facts: FaultFacts, publicUrl: string) {
  const { isOver, since, runs, checks, at, location, mostCommonCode: code } = facts;
  const name = oneLine(facts.locationName);
  const said = oneLine(facts.message ?? '');
  const lines: [string, string][] = [
    ['Location', name === location ? name : `${name} (${location})`],
    [isOver ? 'Began' : 'Since', instantText(since)],
    ['Lasted', isOver ? durationText(at - since) : ''],
    ['Runs', isOver ? '' : count(runs, 'run')],
    ['Most often', code === null || code === unknownCode ? '' : oneLine(code)],
    ['Checks', namesText(checks.map((check) => oneLine(check.name)))],
    ['What to do', isOver ? '' : 'run "monitor-agent doctor" on the machine of the agent there'],
  ];
  const isOne = checks.length === 1;
  return {
    tone: isOver ? ('recovered' as const) : ('failing' as const),
    label: isOver ? 'MEASURING AGAIN' : 'NOT MEASURING',
    title: titleOf(facts),
    subject: name,
    reason: isOver
      ? ''
      : said === ''
        ? `nothing is known about the ${isOne ? 'target' : 'targets'} of ${count(checks.length, 'check')}`
        : said,
    details: lines.flatMap(([label, value]) => (value === '' ? [] : [{ label, value }])),
    link: { url: linkToAgents(publicUrl), text: 'Open the agents' },
    recentRuns: [],
    incidentKey: facts.incidentKey,
    at,
  };
}
