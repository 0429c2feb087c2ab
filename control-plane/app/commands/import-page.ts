/** The plan of an import as a page of its own, with every name, file and line. */
import { escapeHtml } from '../../core/escape.ts';
import { sections, summary, type Plan, type Said } from '../../movers/index.ts';

export function planHtml(plan: Plan): string {
  const [created, exact] = summary(plan).map(escapeHtml);
  const line = ({ names, text }: Said): string => {
    const [first = '', ...others] = names.map(escapeHtml);
    if (others.length === 0) return `<p>${first === '' ? '' : `${first}: `}${escapeHtml(text)}`;
    const items = [first, ...others].map((name) => `<li>${name}`).join('');
    return `<details><summary>${names.length} objects: ${escapeHtml(text)}</summary><ul>${items}</ul></details>`;
  };
  const parts = sections(plan).map(
    ([title, said]) => `<h2>${escapeHtml(title)}</h2>${said.map(line).join('\n')}`,
  );
  const style = 'body{max-width:60rem;margin:2rem auto;padding:0 1rem;font:16px/1.5 system-ui}';
  return [
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Import</title><style>${style}</style>`,
    ...[`<h1>${created}</h1>`, `<p>${exact}`, ...parts],
  ].join('\n');
}
