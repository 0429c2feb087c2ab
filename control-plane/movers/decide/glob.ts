/** Patterns with `*` and `?` as regular expressions of a linear dialect. */

export function escapeRegex(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}

/** `any` is what a star matches. */
export function regexOfGlob(glob: string, any = '.*', one = '.'): string {
  return [...glob]
    .map((letter) => (letter === '*' ? any : letter === '?' ? one : escapeRegex(letter)))
    .join('');
}

/** The text in `*text*`; null for another pattern. */
export function containedText(glob: string): string | null {
  return /^\*([^*?[\]\\]+)\*$/.exec(glob)?.[1] ?? null;
}
