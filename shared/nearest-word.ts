/** Edit distance (Damerau-Levenshtein) of two words. */
export function edits(word: string, other: string): number {
  const first = Array.from({ length: other.length + 1 }, (_, index) => index);
  const rows = [first];
  for (let row = 1; row <= word.length; row += 1) {
    const above = rows[row - 1] ?? [];
    const now = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = word[row - 1] === other[column - 1];
      const isSwapped = word[row - 1] === other[column - 2] && word[row - 2] === other[column - 1];
      now.push(
        Math.min(
          (now[column - 1] ?? 0) + 1,
          (above[column] ?? 0) + 1,
          (above[column - 1] ?? 0) + (isSame ? 0 : 1),
          isSwapped ? (rows[row - 2]?.[column - 2] ?? Infinity) + 1 : Infinity,
        ),
      );
    }
    rows.push(now);
  }
  return rows[word.length]?.[other.length] ?? 0;
}

/** The most similar known word; null without one. Short words must match more closely. */
export function nearestWord(word: string, known: readonly string[]): string | null {
  let nearest: string | null = null;
  let fewest = Math.min(word.length, word.length < 5 ? 2 : 3);
  for (const each of known) {
    if (Math.abs(each.length - word.length) >= fewest) continue;
    const count = edits(word.toLowerCase(), each.toLowerCase());
    if (count < fewest) [nearest, fewest] = [each, count];
  }
  return nearest;
}
