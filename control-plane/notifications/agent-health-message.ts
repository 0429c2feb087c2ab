import { noResultsCode, overloadedCode } from '../scheduling/index.ts';
import { oneLine } from '../core/escape.ts';
import type { AgentHealthFacts } from './facts.ts';
import { linkToAgents } from './links.ts';
import { count, durationText, instantText, namesText } from './phrases.ts';

/** Used when agents send no error code. */
const unknownCode = 'UNKNOWN';

/** Notices that are about the work of a location rather than about an error. */
const wordings: Readonly<
  Record<
    string,
    {
      title: (location: string, checks: string) => string;
      over: string;
      label: string;
      overLabel: string;
      advice: string;
    }
  >
> = {
  [noResultsCode]: {
    title: (location, checks) =>
      `Monitoring is not happening: ${checks} of ${location} without results`,
    over: 'There are results again from',
    label: 'NOT MONITORED',
    overLabel: 'MONITORED AGAIN',
    advice: 'look at the agents of the location, and run "monitor-agent doctor" there',
  },
  [overloadedCode]: {
    title: (location) => `An agent of ${location} is overloaded`,
    over: 'No agent is overloaded any more in',
    label: 'OVERLOADED',
    overLabel: 'NOT OVERLOADED',
    advice: 'give the machine of the agent more processor time, or start another agent there',
  },
};

/** What to do about an agent error that `doctor` does not explain. */
const advices: Readonly<Record<string, string>> = {
  WORK_REFUSED:
    'nothing ran that nobody signed; look who changed these checks, and sign them again if the change is right',
};

/** Codes come from agents: one may be called as a member that every object has. */
const wordingOf = (code: string | null) =>
  code !== null && Object.hasOwn(wordings, code) ? wordings[code] : undefined;

function titleOf({ code, isOver, isConclusive, ...facts }: AgentHealthFacts): string {
  const location = `location "${oneLine(facts.locationName)}"`;
  const wording = wordingOf(code);
  if (wording !== undefined) {
    if (isOver && !isConclusive) return `No check without results runs at ${location} any more`;
    return isOver
      ? `${wording.over} ${location}`
      : wording.title(location, count(facts.checks.length, 'check'));
  }
  if (code === null) {
    if (!isOver) return `Nothing but agent errors from ${location}`;
    return isConclusive
      ? `There are results from ${location} again`
      : `No check with agent errors runs at ${location} any more`;
  }
  const error = code === unknownCode ? 'an agent error' : oneLine(code);
  return isOver
    ? `No check of ${location} ends in ${error} any more`
    : `${count(facts.checks.length, 'check')} of ${location} ${facts.checks.length === 1 ? 'ends' : 'end'} in ${error} every time`;
}

/** The message about a location whose checks have nothing but agent errors. */
export function agentHealthMessage(
  facts: AgentHealthFacts,
  publicUrl: string,
  timezone: string | null,
) {
  const { isOver, isConclusive, since, runs, checks, at, location, mostCommonCode: code } = facts;
  const name = oneLine(facts.locationName);
  const said = oneLine(facts.message ?? '');
  const wording = wordingOf(facts.code);
  const labels = wording ?? { label: 'NOT MEASURING', overLabel: 'MEASURING AGAIN' };
  const hasEnded = wording === undefined || isConclusive;
  const lines: [string, string][] = [
    ['Location', name === location ? name : `${name} (${location})`],
    [isOver ? 'Began' : 'Since', instantText(since, timezone)],
    ['Lasted', isOver ? durationText(at - since) : ''],
    ['Runs', isOver || runs === 0 ? '' : count(runs, 'run')],
    ['Most often', code === null || code === unknownCode ? '' : oneLine(code)],
    ['Checks', namesText(checks.map((check) => oneLine(check.name)))],
    [
      'What to do',
      isOver
        ? ''
        : (wording?.advice ??
          (Object.hasOwn(advices, code ?? '') ? advices[code ?? ''] : undefined) ??
          'run "monitor-agent doctor" on the machine of the agent there'),
    ],
  ];
  const isOne = checks.length === 1;
  return {
    tone: isOver ? ('recovered' as const) : ('failing' as const),
    label: isOver ? (hasEnded ? labels.overLabel : 'NOTHING RUNS') : labels.label,
    title: titleOf(facts),
    subject: name,
    reason: isOver
      ? ''
      : said === '' && facts.code === overloadedCode
        ? "times measured there include the agent's own waiting"
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
