import type { NamedScript } from '@monitor/shared/contract/agent-protocol.ts';

/**
 * The snippets whose names occur in these texts or in such a snippet, in the given order. A name
 * that occurs by chance costs a few bytes; a missing snippet would break a script.
 */
export function mentionedSnippets(
  texts: readonly string[],
  snippets: readonly NamedScript[],
): NamedScript[] {
  const chosen = new Set<NamedScript>();
  const unread = [...texts];
  for (let text = unread.pop(); text !== undefined; text = unread.pop()) {
    for (const snippet of snippets) {
      if (chosen.has(snippet) || !text.includes(snippet.name)) continue;
      chosen.add(snippet);
      unread.push(snippet.source);
    }
  }
  return snippets.filter((snippet) => chosen.has(snippet));
}
