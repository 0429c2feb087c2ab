/** Patterns with `*` and `?` as regular expressions of a linear dialect. */

export function escapeRegex(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}

/** `any` is what a star matches. A set of letters such as `[0-9]` means the same in both. */
export function regexOfGlob(glob: string, any = '.*', one = '.'): string {
  return glob.replace(/\\.|\[\^?[^[\]\\]+\]|./gsu, (part) => {
    if (part === '*') return any;
    if (part === '?') return one;
    if (part.length > 2 && part.startsWith('[')) return part;
    return escapeRegex(part.length === 2 && part.startsWith('\\') ? part.slice(1) : part);
  });
}

/** The text in `*text*`; null for another pattern. */
export function containedText(glob: string): string | null {
  return /^\*([^*?[\]\\]+)\*$/.exec(glob)?.[1] ?? null;
}
