/** Texts: instants, durations, statuses of incidents, and user texts. */
import { DateTime } from 'luxon';
import type { IncidentStatus } from '../../incidents/index.ts';
import type { NoticeView } from '../view/notices.ts';
import { html, webAddress, type Markup } from '../../core/html.ts';

const utc = (instant: number): DateTime =>
  DateTime.fromMillis(instant, { zone: 'utc', locale: 'en' });

/** `21 Nov`, without the year. */
export function dayWords(instant: number): string {
  return utc(instant).toFormat('d LLL');
}

/** `November 2026`. */
export function monthWords(instant: number): string {
  return utc(instant).toFormat('LLLL yyyy');
}

/** `21 Nov 2026, 08:05 UTC`. */
export function instantWords(instant: number): string {
  return utc(instant).toFormat("d LLL yyyy, HH:mm 'UTC'");
}

/** `21 Nov 2026, 22:00 – 23:30 UTC`; both days when they differ. */
export function rangeWords(from: number, to: number): string {
  const isOneDay = utc(from).hasSame(utc(to), 'day');
  return isOneDay
    ? `${utc(from).toFormat('d LLL yyyy, HH:mm')} – ${utc(to).toFormat("HH:mm 'UTC'")}`
    : `${utc(from).toFormat('d LLL yyyy, HH:mm')} – ${instantWords(to)}`;
}

export function time(instant: number): Markup {
  return html`<time datetime="${utc(instant).toISO() ?? ''}">${instantWords(instant)}</time>`;
}

/** `1 h 20 min`: the two largest units. */
export function durationWords(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return 'less than a minute';
  const parts: [number, string][] = [
    [Math.floor(minutes / 1_440), 'd'],
    [Math.floor(minutes / 60) % 24, 'h'],
    [minutes % 60, 'min'],
  ];
  const first = parts.findIndex(([amount]) => amount > 0);
  return parts
    .slice(first, first + 2)
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(' ');
}

const statusWords: Record<IncidentStatus | NoticeView['status'], string> = {
  INVESTIGATING: 'Investigating',
  IDENTIFIED: 'Identified',
  MONITORING: 'Monitoring',
  RESOLVED: 'Resolved',
  scheduled: 'Scheduled',
  in_progress: 'In progress',
  completed: 'Completed',
};

export function wordsOfStatus(status: IncidentStatus | NoticeView['status']): string {
  return statusWords[status];
}

/** A list of names: `Search, Checkout and Login`. */
export function listWords(names: readonly string[]): string {
  const last = names.at(-1) ?? '';
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} and ${last}`;
}

/** Punctuation that ends a sentence and does not belong to a URL before it. */
const punctuation = '.,;:!?\'")]';

/** Length of a URL without trailing punctuation, in linear time. */
function lengthWithout(address: string): number {
  let length = address.length;
  while (length > 0 && punctuation.includes(address.charAt(length - 1))) length -= 1;
  return length;
}

function linked(line: string): Markup[] {
  return line.split(/(https?:\/\/[^\s<>"]+)/gi).map((part, index) => {
    if (index % 2 === 0) return html`${part}`;
    const shown = part.slice(0, lengthWithout(part));
    const end = part.slice(shown.length);
    const address = webAddress(shown);
    if (address === null) return html`${part}`;
    return html`<a href="${address}" rel="noopener nofollow">${shown}</a>${end}`;
  });
}

const maxExcerptLength = 2_000;

/** The beginning of a long text, for lists; the page of the incident has all of it. */
export function excerpt(text: string): string {
  return text.length <= maxExcerptLength
    ? text
    : `${text.slice(0, maxExcerptLength).toWellFormed()} …`;
}

/** User text with its line breaks and links. */
export function prose(text: string): Markup {
  const paragraphs = text
    .trim()
    .split(/\r?\n[ \t]*(?:\r?\n[ \t]*)+/)
    .filter((paragraph) => paragraph !== '');
  return html`${paragraphs.map(
    (paragraph) =>
      html`<p>
        ${paragraph.split(/\r?\n/).map((line, index) => html`${index > 0 && html`<br />`}${linked(line)}`)}
      </p>`,
  )}`;
}
