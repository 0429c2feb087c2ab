/** Cuts an answer so that it fits into the context of a model, and says what is missing. */
import { isFields } from '@monitor/shared/fields.ts';

/** Of an answer, in characters. */
export const maxAnswerLength = 40_000;
const maxTextLength = 4_000;

function shortTexts(value: unknown): unknown {
  if (typeof value === 'string' && value.length > maxTextLength) {
    return `${value.slice(0, maxTextLength)}… (${value.length - maxTextLength} characters more)`;
  }
  if (Array.isArray(value)) return value.map(shortTexts);
  if (!isFields(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shortTexts(inner)]));
}

/** As many of the entries as have room, at least one. */
function fitting(entries: readonly unknown[], room: number): unknown[] {
  let used = 0;
  const end = entries.findIndex((entry) => (used += JSON.stringify(entry).length + 1) > room);
  return end === -1 ? [...entries] : entries.slice(0, Math.max(1, end));
}

/** The text of an answer, whole where it fits; of a list the first entries. */
export function fit(answer: unknown): string {
  if (typeof answer === 'string') return end(answer);
  const whole = JSON.stringify(answer);
  if (whole.length <= maxAnswerLength) return whole;
  const short = shortTexts(answer);
  const entries = isFields(short) && Array.isArray(short['entries']) ? short['entries'] : short;
  if (Array.isArray(entries)) {
    const shown = fitting(entries, maxAnswerLength);
    const cut = `the first ${shown.length} of ${entries.length} entries; ask for fewer with limit and page, or for one by its id`;
    const rest = isFields(short) ? { ...short, entries: shown } : { entries: shown };
    return end(JSON.stringify({ cut, ...rest }));
  }
  return end(JSON.stringify(short));
}

function end(text: string): string {
  if (text.length <= maxAnswerLength) return text;
  return `${text.slice(0, maxAnswerLength)}… (${text.length - maxAnswerLength} characters more: ask for a part)`;
}
