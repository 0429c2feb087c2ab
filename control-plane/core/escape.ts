/** Texts of customers in the languages they are put into. */

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#x27;',
  '`': '&#x60;',
  '=': '&#x3D;',
};

/** For HTML, in text and in quoted attributes; the same characters as Handlebars escapes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"'`=]/g, (character) => entities[character] ?? character);
}

/** For XML. Characters that XML cannot carry become spaces. */
export function escapeXml(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, ' ')
    .replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** For the inside of a JSON string literal. */
export function escapeJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/**
 * One line without control characters and without those that turn the direction of what follows:
 * fit for a subject, a header, a text message.
 */
export function oneLine(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]+/gu, ' ')
    .replace(/ {2,}/g, ' ')
    .trim();
}

/** At most so many characters, with an ellipsis where something is missing; never half a pair. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  const cut = text.slice(0, length - 1);
  return `${/[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}
