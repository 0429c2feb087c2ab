/**
 * The order of the pages: `docs/README.md` lists them, and is the first page itself. A page that it does
 * not list yet comes last, below "More".
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const source = 'docs';
const first = 'README.md';

interface Entry {
  title: string;
  /** Below `docs/`. */
  file: string;
  /** Its address, from the page of contents. */
  url: string;
}

export interface Section {
  title: string;
  entries: Entry[];
}

/** The address of a page, from a page in the same folder. */
export function urlOf(file: string): string {
  return file.replace(/(^|\/)README\.md/, '$1index.html').replace(/\.md(?=$|#)/, '.html');
}

export function titleOf(markdown: string): string {
  return /^# (.+)$/m.exec(markdown)?.[1]?.replaceAll('`', '') ?? '';
}

/** The first paragraph, without marks: what search engines and link previews show. */
export function summaryOf(markdown: string): string {
  const paragraph = markdown.split(/\n\s*\n/).find((part) => /^[A-Z`*[]/.test(part)) ?? '';
  return paragraph
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

export function contents(): Section[] {
  const sections: Section[] = [];
  for (const line of readFileSync(join(source, first), 'utf8').split('\n')) {
    const heading = /^## (.+)$/.exec(line)?.[1];
    if (heading !== undefined) sections.push({ title: heading, entries: [] });
    const [, title, file] = /^- \[([^\]]+)\]\(([\w-]+\.md)\)/.exec(line) ?? [];
    if (title !== undefined && file !== undefined) {
      sections.at(-1)?.entries.push({ title, file, url: urlOf(file) });
    }
  }
  const listed = new Set(sections.flatMap(({ entries }) => entries.map(({ file }) => file)));
  const others = globSync('*.md', { cwd: source })
    .filter((file) => file !== first && !listed.has(file))
    .sort()
    .map((file) => ({
      title: titleOf(readFileSync(join(source, file), 'utf8')),
      file,
      url: urlOf(file),
    }));
  const filled = sections.filter(({ entries }) => entries.length > 0);
  return others.length === 0 ? filled : [...filled, { title: 'More', entries: others }];
}
