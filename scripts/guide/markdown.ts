/** How the Markdown of a repository becomes HTML of the site. */
import { join, relative } from 'node:path';
import { source, urlOf } from './contents.ts';
import type { Markdown, MarkdownToken } from './eleventy.d.ts';

/** The anchor that repositories give a heading, so that links work in both. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}

function textOf(token: MarkdownToken): string {
  return (token.children ?? []).map(({ content }) => content).join('');
}

function giveAnchors(tokens: readonly MarkdownToken[]): void {
  const taken = new Map<string, number>();
  for (const [index, token] of tokens.entries()) {
    const title = tokens[index + 1];
    if (token.type !== 'heading_open' || title === undefined) continue;
    const anchor = anchorOf(textOf(title));
    const count = taken.get(anchor) ?? 0;
    taken.set(anchor, count + 1);
    token.attrSet('id', count === 0 ? anchor : `${anchor}-${count}`);
  }
}

/** Links to pages lead to their HTML. The site has no page for other files of the repository. */
function adjustLinks(tokens: readonly MarkdownToken[], page: string): void {
  for (const { children } of tokens) {
    for (const token of children ?? []) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null;
      if (href === null || /^(https?:|mailto:|#)/.test(href)) continue;
      const target = relative(source, join(page, '..', href));
      if (target.startsWith('..')) {
        token.attrs = [
          ['class', 'in-source'],
          ['title', `In the source: ${join(page, '..', href)}`],
        ];
        token.tag = 'span';
        closeAs(children ?? [], token);
      } else token.attrSet('href', urlOf(href));
    }
  }
}

function closeAs(tokens: readonly MarkdownToken[], opened: MarkdownToken): void {
  const close = tokens.slice(tokens.indexOf(opened)).find(({ type }) => type === 'link_close');
  if (close !== undefined) close.tag = opened.tag;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** A column without a title has no header: screen readers would announce an empty one. */
function dropEmptyHeaders(tokens: readonly MarkdownToken[]): void {
  for (const [index, token] of tokens.entries()) {
    const [inside, close] = [tokens[index + 1], tokens[index + 2]];
    if (token.type !== 'th_open' || inside?.content !== '' || close === undefined) continue;
    token.tag = 'td';
    close.tag = 'td';
  }
}

export function amendMarkdown(markdown: Markdown): void {
  markdown.core.ruler.push('site', ({ tokens, env }) => {
    giveAnchors(tokens);
    dropEmptyHeaders(tokens);
    adjustLinks(tokens, env.page.inputPath.replace(/^\.\//, ''));
  });
  const { rules } = markdown.renderer;
  rules['table_open'] = () => '<div class="table" tabindex="0"><table>';
  rules['table_close'] = () => '</table></div>\n';
  rules['fence'] = (tokens, index) => {
    const { info = '', content = '' } = tokens[index] ?? {};
    const language = /^\w*/.exec(info)?.[0] ?? '';
    return `<div class="code" data-language="${language}"><pre tabindex="0"><code>${escapeHtml(content)}</code></pre></div>\n`;
  };
}
