/** Texts that others wrote, such as names in certificates, as they may be shown on a terminal. */

/** What a terminal acts on instead of showing it: control characters, and those that turn text around. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

function escaped(character: string): string {
  return [...Array(character.length).keys()]
    .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
    .join('');
}

/** The text on one line, without lines or colours of its own. */
export const printable = (text: string): string => text.replace(unprintable, escaped);

/** The same, but for its lines and tabs. */
function printableLines(text: string): string {
  return text.replace(unprintable, (found) => (/[\n\t]/.test(found) ? found : escaped(found)));
}

/** Every text in a value made printable; `hasLines` where they may be of several lines. */
export function printableValue<T>(value: T, { hasLines = false } = {}): T {
  const of = (one: unknown): unknown => {
    if (typeof one === 'string') return hasLines ? printableLines(one) : printable(one);
    if (Array.isArray(one)) return one.map(of);
    if (one === null || typeof one !== 'object') return one;
    if (Object.getPrototypeOf(one) !== Object.prototype) return one;
    return Object.fromEntries(Object.entries(one).map(([name, inner]) => [name, of(inner)]));
  };
  return of(value) as T;
}
