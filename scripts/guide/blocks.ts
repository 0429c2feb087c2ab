/**
 * Code blocks of the guide, and what tests do with them. A block of shell commands runs, in the order of its
 * page. `sh background` runs beside the rest. `sh not-run: <reason>` is only looked at.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { source } from './contents.ts';

export interface Block {
  page: string;
  line: number;
  language: string;
  text: string;
  /** Shell commands run, unless there is a reason why not. */
  how: 'run' | 'background' | 'not-run';
  reason: string;
}

/** Pages with tests of their own, which run what stands there; here it is only looked at. */
const ownTests = new Set(['install.md', 'proof.md', 'encryption.md']);

const fence = /^```(\w*)(?: ([^\n]*))?\n([^]*?)^```$/gm;

function blocksOf(page: string): Block[] {
  const markdown = readFileSync(join(source, page), 'utf8');
  return [...markdown.matchAll(fence)].map(
    ({ 1: language = '', 2: mark = '', 3: text = '', index }) => {
      const line = markdown.slice(0, index).split('\n').length;
      const reason = ownTests.has(page)
        ? 'the page has its own test'
        : (/^not-run: (.+)$/.exec(mark)?.[1] ?? '');
      if (mark !== '' && mark !== 'background' && reason === '') {
        throw new Error(
          `${source}/${page}:${line}: a block is "background" or "not-run: <reason>", not "${mark}"`,
        );
      }
      const how = reason === '' ? (mark === 'background' ? 'background' : 'run') : 'not-run';
      return { page, line, language, text, how, reason };
    },
  );
}

export function guideBlocks(): Block[] {
  return globSync('*.md', { cwd: source }).sort().flatMap(blocksOf);
}
