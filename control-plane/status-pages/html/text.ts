/** User texts as markup. */
import { html, webAddress, type Markup } from '../../core/html.ts';

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
