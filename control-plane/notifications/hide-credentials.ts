/** Takes credentials out of what is kept about a delivery: receivers echo what they were sent. */
import { escapeHtml, escapeJson } from '../core/escape.ts';

const shown = '[hidden]';
/** Hiding single letters would leave nothing to read, and hide nothing. */
const shortest = 3;

/** The ways in which a value comes back: as it is, encoded for addresses, JSON, HTML, or base64. */
function spellings(value: string): string[] {
  const wellFormed = value.toWellFormed();
  return [
    value,
    encodeURIComponent(wellFormed),
    encodeURI(wellFormed),
    new URLSearchParams([['', wellFormed]]).toString().slice(1),
    escapeJson(value),
    // What was sent as JSON comes back as a text within JSON.
    escapeJson(escapeJson(value)),
    escapeHtml(value),
    // Headers carry bytes, which read one by one look like this.
    Buffer.from(value).toString('latin1'),
    Buffer.from(value).toString('base64'),
    Buffer.from(value).toString('base64url'),
  ];
}

/** A text with every spelling of these values replaced. `isCut` says that its end is missing. */
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
  // What was cut off may be the rest of one of them.
  const [longest = ''] = needles;
  return isCut && longest !== '' ? hidden.slice(0, -longest.length) : hidden;
}
