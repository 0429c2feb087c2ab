/**
 * Code blocks of the guide, and how they are run. A block of shell commands runs, in the order of its page.
 * `sh background` runs beside the rest. `sh until` is repeated until it succeeds. `sh not-run: <reason>` is
 * only looked at.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { source } from './contents.ts';

export interface Block {
  page: string;
  line: number;
  /** The title above it. */
  heading: string;
  language: string;
  text: string;
  /** Shell commands run, unless there is a reason why not. */
  how: 'run' | 'background' | 'until' | 'not-run';
  reason: string;
}

/** Its commands install the packages: `npm run stranger` runs them, in a root of its own. */
export const installPage = 'install.md';

/** Blocks of a list are indented. */
const headingOrFence = /^#+ (.+)$|^( *)```(\w*)(?: ([^\n]*))?\n([^]*?)^ *```$/gm;

function howOf(mark: string, place: string): Pick<Block, 'how' | 'reason'> {
  const reason = /^not-run: (.+)$/.exec(mark)?.[1];
  if (reason !== undefined) return { how: 'not-run', reason };
  if (mark === '') return { how: 'run', reason: '' };
  if (mark === 'background' || mark === 'until') return { how: mark, reason: '' };
  throw new Error(
    `${place}: a block is "background", "until" or "not-run: <reason>", not "${mark}"`,
  );
}

/** The blocks of a page, which is named as in messages about it. */
export function blocksIn(page: string, markdown: string): Block[] {
  let heading = '';
  return [...markdown.matchAll(headingOrFence)].flatMap(
    ({ 1: title, 2: indent = '', 3: language = '', 4: mark = '', 5: inside = '', index }) => {
      if (title !== undefined) {
        heading = title;
        return [];
      }
      const line = markdown.slice(0, index).split('\n').length;
      const text = inside.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
      return [{ page, line, heading, language, text, ...howOf(mark, `${source}/${page}:${line}`) }];
    },
  );
}

export function guideBlocks(): Block[] {
  return globSync('*.md', { cwd: source })
    .sort()
    .flatMap((page) => blocksIn(page, readFileSync(join(source, page), 'utf8')));
}

/** The shell commands of the pages, as one shell runs them: what it exports stays. */
export function shellTextOf({ how, text }: Block, log: string): string {
  switch (how) {
    case 'run':
      return text;
    case 'background':
      return `( ${text.trim()} ) > ${log} 2>&1 &\n`;
    case 'until':
      return `until ( ${text.trim()} ); do sleep 0.2; done 2> /dev/null\n`;
    case 'not-run':
      return '';
  }
}
