/** The message about several alerts with one cause. */
import { oneLine } from '../core/escape.ts';
import type { GroupedCheck, GroupFacts } from './facts.ts';
import { linkToGroup } from './links.ts';
import {
  alsoFailingText,
  causeLines,
  count,
  durationText,
  instantText,
  namesText,
} from './phrases.ts';

/** One line for each check: mails and chats show as many as fit. */
function listText(checks: readonly GroupedCheck[], all: number): string {
  const lines = checks.map(({ name, error }) =>
    error === null ? oneLine(name) : `${oneLine(name)} (${oneLine(error)})`,
  );
  const more = all - checks.length;
  return lines.join('; ') + (more > 0 ? `; and ${more} more` : '');
}

function titleOf({ sequence, began, ended, open, total, cause }: GroupFacts): string {
  const because = cause === null ? '' : `: ${cause}`;
  if (open === 0)
    return `All ${count(total, 'check')} have recovered${cause === null ? '' : ` (${cause})`}`;
  const verb = began.isFailing ? 'failing' : 'degraded';
  if (sequence === 1) {
    // Some may have recovered while the first alert waited for others.
    const over = ended.count > 0 ? `, ${ended.count} recovered` : '';
    const several = cause === null ? ', with several causes' : because;
    return `${count(open, 'check')} ${open === 1 ? 'is' : 'are'} ${verb}${over}${several}`;
  }
  const news = [
    ...(began.count > 0 ? [`${began.count} more ${verb}`] : []),
    ...(ended.count > 0 ? [`${ended.count} recovered`] : []),
    `${open} of ${count(total, 'check')} not recovered`,
  ];
  return `${news.join(', ')}${because}`;
}

function limitText(
  { heldBack, maxPerHour, limitedUntil }: GroupFacts,
  timezone: string | null,
): string | null {
  const parts = [
    ...(heldBack > 0
      ? [
          `${count(heldBack, 'alert')} waited because the channel takes at most ${maxPerHour} notifications an hour`,
        ]
      : []),
    ...(limitedUntil === null
      ? []
      : [
          `the limit of ${maxPerHour} notifications an hour is reached: further alerts wait until ${instantText(limitedUntil, timezone)}`,
        ]),
  ];
  return parts.length === 0 ? null : parts.join('; ');
}

/** The descriptions of the checks, each once: often the runbook. */
function aboutText(checks: readonly GroupedCheck[]): string | null {
  const byText = Map.groupBy(
    checks.filter(({ description }) => oneLine(description ?? '') !== ''),
    ({ description }) => oneLine(description ?? ''),
  );
  const lines = [...byText].map(
    ([text, about]) => `${namesText(about.map(({ name }) => oneLine(name)))}: ${text}`,
  );
  return lines.length === 0 ? null : lines.join('; ');
}

export function groupMessage(facts: GroupFacts, publicUrl: string, timezone: string | null) {
  const { cause, began, ended, reminded, open, total, since, at } = facts;
  const acknowledgedBy = (facts.acknowledgedBy ?? []).map((name) => oneLine(name));
  const isOver = open === 0;
  const title = titleOf(facts);
  const isBad = began.isFailing || began.count === 0;
  const lines: [string, string | null][] = [
    ['Cause', cause],
    ...(isOver ? [] : causeLines(facts.rootCauses)),
    [
      began.isFailing ? 'Failing' : 'Degraded',
      began.count === 0 ? null : listText(began.checks, began.count),
    ],
    ['Recovered', ended.count === 0 ? null : listText(ended.checks, ended.count)],
    ['Not recovered', isOver ? null : `${open} of ${total}`],
    ['Reminders', reminded === 0 ? null : String(reminded)],
    [isOver ? 'Began' : 'Since', instantText(since, timezone)],
    ['Lasted', isOver ? durationText(at - since) : null],
    ['Acknowledged', acknowledgedBy.length === 0 ? null : `by ${namesText(acknowledgedBy)}`],
    [
      'What else failed',
      facts.alsoFailing === undefined ? null : alsoFailingText(facts.alsoFailing),
    ],
    ['About', aboutText(began.checks)],
    ['Held back', limitText(facts, timezone)],
  ];
  return {
    tone: isOver ? ('recovered' as const) : isBad ? ('failing' as const) : ('degraded' as const),
    label: isOver ? 'RECOVERED' : facts.sequence > 1 ? 'UPDATE' : isBad ? 'FAILING' : 'DEGRADED',
    title,
    // The name of one check would hide the others.
    subject: title,
    reason: isOver
      ? [
          `it lasted ${durationText(at - since)}`,
          ...(acknowledgedBy.length === 0 ? [] : [`acknowledged by ${namesText(acknowledgedBy)}`]),
        ].join('; ')
      : '',
    details: lines.flatMap(([label, value]) => (value === null ? [] : [{ label, value }])),
    link: { url: linkToGroup(publicUrl, facts.groupId), text: 'Open the alerts' },
    recentRuns: [],
    incidentKey: facts.incidentKey,
    at,
  };
}
