/** The index of the search: one entry for each section of a page. */
import MiniSearch from 'minisearch';
import { searchOptions } from './theme/search-options.js';

interface Part {
  id: string;
  title: string;
  heading: string;
  text: string;
  excerpt: string;
}

const excerptLength = 150;

function plainText(html: string): string {
  return html
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

function partsOf(url: string, title: string, body: string): Part[] {
  return body.split(/(?=<h[1-3] id=)/).flatMap((section) => {
    const [whole, level, anchor, heading] =
      /^<h([1-3]) id="([^"]+)">([^]*?)<\/h\1>/.exec(section) ?? [];
    if (whole === undefined || anchor === undefined || heading === undefined) return [];
    const rest = section.slice(whole.length);
    const text = plainText(rest);
    return [
      {
        id: level === '1' ? url : `${url}#${anchor}`,
        title,
        heading: level === '1' ? '' : plainText(heading),
        text,
        // Sentences say more than commands.
        excerpt: plainText(rest.replaceAll(/<pre[^]*?<\/pre>/g, '')).slice(0, excerptLength),
      },
    ];
  });
}

/** The index as JSON, of the bodies of pages by their addresses. */
export function searchIndex(pages: ReadonlyMap<string, { title: string; body: string }>): string {
  const index = new MiniSearch<Part>(searchOptions);
  for (const [url, { title, body }] of pages) index.addAll(partsOf(url, title, body));
  return JSON.stringify(index);
}
