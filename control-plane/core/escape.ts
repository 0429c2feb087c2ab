/** Escapes user text for the formats it is embedded in. */

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#x27;',
  '`': '&#x60;',
  '=': '&#x3D;',
};

/** For HTML text and quoted attributes; escapes the same characters as Handlebars. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"'`=]/g, (character) => entities[character] ?? character);
}

/** For XML. Invalid characters of XML become spaces. */
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

/** For the Markdown of chats: no text becomes a link that shows another address than it opens. */
export function escapeMarkdownLinks(text: string): string {
  return text.replaceAll('](', ']\\(');
}

/**
 * A single line without control characters and bidirectional marks, for subjects, headers and text
 * messages.
 */
export function oneLine(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]+/gu, ' ')
    .replace(/ {2,}/g, ' ')
    .trim();
}

/** Cuts to a length, with an ellipsis; surrogate pairs stay whole. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  const cut = text.slice(0, length - 1);
  return `${/[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}
