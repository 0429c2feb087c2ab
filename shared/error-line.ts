/** What failed, in one line. */

/** A page may be in there. */
const maxRead = 16_384;
const maxShown = 200;

const shown = (text: string): string =>
  text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;

/** The rest of the first line that begins with a word, such as `Received string: "no"`; null without one. */
function after(word: string, text: string): string | null {
  const [, found] = new RegExp(`^ *${word}(?: \\w+)?: +(\\S.*)`, 'm').exec(text) ?? [];
  return found === undefined ? null : shown(found);
}

/** The line of a difference that begins with a sign, where it has just one; null otherwise. */
function onlyLine(sign: '-' | '+', text: string): string | null {
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith(`${sign} `) && !/^. (Expected|Received) /.test(line));
  return lines.length === 1 ? shown(lines.join().slice(1).trim().replace(/,$/, '')) : null;
}

/** What an assertion of Playwright 1.28 to 1.65 expected and found, from the lines below its first one. */
function assertionLine(line: string, facts: string, log: string): string {
  const said = line
    .replace(/(^|: )Error: /, '$1')
    .replace('(locator)', () => `(${after('Locator', facts) ?? 'locator'})`)
    .replace(/\) (?:\/\/ .*|failed)$/, ')');
  const expected = after('Expected', facts) ?? onlyLine('-', facts);
  const received =
    after('Received', facts) ?? onlyLine('+', facts) ?? /^ *← (.+)/m.exec(log)?.[1] ?? null;
  const found = received === null ? after('Error', facts) : `received ${received}`;
  const parts = [expected === null ? null : `expected ${expected}`, found];
  const known = parts.filter((part) => part !== null);
  return known.length === 0
    ? `${said} failed`
    : `${said.replace('(expected)', '')}: ${known.join(', ')}`;
}

/**
 * The first line of the first error. Where that does not say what was found, as with assertions and timeouts of
 * Playwright, it is taken from below. Empty without an error.
 */
export function errorLine([text = '', next = '']: readonly string[]): string {
  const isBare = /^Test timeout of \d+ms exceeded\.\s*$/.test(text);
  // The second error of such a test says where it was.
  const whole = (isBare && next.includes('Test timeout of') ? next : text).slice(0, maxRead).trim();
  const [line = '', ...others] = whole.split('\n');
  const [facts = '', log = ''] = others.join('\n').split(/^Call [Ll]og:$/m);
  if (
    /\bexpect(?:\.\w+)?\(.*\)(?:\.\w+)+\(/.test(`${line.slice(0, 500)}\n${facts.slice(0, 500)}`)
  ) {
    return assertionLine(line.trim(), facts, log);
  }
  const awaited = /timeout .*exceeded\.?$/i.test(line) && /^ *- (waiting for .+)/m.exec(log)?.[1];
  const said = line.trim().replace(/[.:]$/, '');
  return awaited ? `${said}, ${shown(awaited)}` : said;
}
