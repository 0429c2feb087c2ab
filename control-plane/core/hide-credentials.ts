/** Removes credentials from stored texts of others: receivers echo what they were sent, and jobs print what they know. */
import { escapeHtml, escapeJson } from './escape.ts';

const shown = '[hidden]';
/** Shorter values are not hidden: that would leave nothing to read. */
const shortest = 3;

/** The encodings of a value: plain, percent-encoded, JSON, HTML, base64. */
function spellings(value: string): string[] {
  const wellFormed = value.toWellFormed();
  return [
    value,
    encodeURIComponent(wellFormed),
    encodeURI(wellFormed),
    new URLSearchParams([['', wellFormed]]).toString().slice(1),
    escapeJson(value),
    // A value that was sent as JSON may come back as a string within JSON.
    escapeJson(escapeJson(value)),
    escapeHtml(value),
    // UTF-8 bytes of a header value, read as Latin-1.
    Buffer.from(value).toString('latin1'),
    Buffer.from(value).toString('base64'),
    Buffer.from(value).toString('base64url'),
  ];
}

/** Replaces all encodings of these values. `isCut` says that the end of the text is missing. */
export function hideCredentials(
  text: string,
  credentials: readonly string[],
  isCut = false,
): string {
  const needles = [
    ...new Set(credentials.filter((value) => value.length >= shortest).flatMap(spellings)),
  ].sort((left, right) => right.length - left.length);
  let hidden = text;
  for (const needle of needles) hidden = hidden.replaceAll(needle, shown);
  // The cut end may contain the beginning of a value.
  const [longest = ''] = needles;
  return isCut && longest !== '' ? hidden.slice(0, -longest.length) : hidden;
}
