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
export function fit(answer: unknown): { text: string; isCut: boolean } {
  const whole = typeof answer === 'string' ? answer : JSON.stringify(answer);
  if (whole.length <= maxAnswerLength) return { text: whole, isCut: false };
  const short = shortTexts(answer);
  const entries = isFields(short) && Array.isArray(short['entries']) ? short['entries'] : short;
  if (Array.isArray(entries)) {
    const shown = fitting(entries, maxAnswerLength);
    const cut = `the first ${shown.length} of ${entries.length} entries; ask for fewer with limit and page, or for one by its id`;
    const rest = isFields(short) ? { ...short, entries: shown } : { entries: shown };
    return end(JSON.stringify({ cut, ...rest }));
  }
  if (!isFields(short)) return end(String(short));
  const cut = `texts of more than ${maxTextLength} characters are shortened: do not write them back`;
  return end(JSON.stringify({ cut, ...short }));
}

function end(text: string): { text: string; isCut: true } {
  const more = text.length - maxAnswerLength;
  const shown =
    more <= 0
      ? text
      : `${text.slice(0, maxAnswerLength)}… (${more} characters more: ask for a part)`;
  return { text: shown, isCut: true };
}
