/**
 * True when a name matches a pattern with `*` (any text) and `?` (any character), ignoring case.
 * The time is at most the product of both lengths, whatever the pattern.
 */
export function matchesGlob(name: string, pattern: string): boolean {
  const text = name.toLowerCase();
  const wanted = pattern.toLowerCase();
  let at = 0;
  let next = 0;
  /** Position after the last star, and how much text it has matched. */
  let afterStar = -1;
  let taken = 0;
  while (at < text.length) {
    const sign = wanted[next];
    if (sign === '*') {
      next += 1;
      afterStar = next;
      taken = at;
    } else if (sign === '?' || sign === text[at]) {
      at += 1;
      next += 1;
    } else if (afterStar !== -1) {
      taken += 1;
      at = taken;
      next = afterStar;
    } else {
      return false;
    }
  }
  while (wanted[next] === '*') next += 1;
  return next === wanted.length;
}
