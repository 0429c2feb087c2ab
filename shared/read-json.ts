/** JSON that a person wrote: what is wrong is shown where it stands. */

function messageOf(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** True when a text could still become JSON: what is wrong with it is its end. */
function isUnfinished(text: string): boolean {
  const message = messageOf(text);
  if (message === null || /unexpected end|unterminated/i.test(message)) return true;
  return Number(/at position (\d+)/.exec(message)?.[1]) >= text.length;
}

/** Where the first character stands that no JSON can have there. */
function positionOf(text: string): number {
  let [good, bad] = [0, text.length];
  while (good < bad) {
    const middle = Math.ceil((good + bad) / 2);
    if (isUnfinished(text.slice(0, middle))) good = middle;
    else bad = middle - 1;
  }
  return good;
}

function placeIn(text: string): { line: number; column: number } {
  const before = text.slice(0, positionOf(text)).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}

/** The problem without what the engine says of places, which it does for some problems only. */
function problemOf(message: string): string {
  return message
    .replace(/(?: in JSON)? at position .*$/s, '')
    .replace(/, (\.\.\.)?".*" is not valid JSON$/s, '')
    .replace(/^Unexpected end of JSON input$/, 'it ends too early');
}

/** To find a place in a longer text would hold up others. */
const longestSearched = 262_144;

/** What is wrong with a text that is no JSON, with line and column unless it is very long. */
export function jsonProblem(text: string): string | null {
  const message = messageOf(text);
  if (message === null) return null;
  if (text.length > longestSearched) return problemOf(message);
  const { line, column } = placeIn(text);
  return `line ${line}, column ${column}: ${problemOf(message)}`;
}

/** The parsed text. Throws an Error that names line and column, with the line and a mark below it. */
export function readJson(text: string): unknown {
  const message = messageOf(text);
  if (message === null) return JSON.parse(text);
  const { line: number, column } = placeIn(text);
  const line = text.split('\n')[number - 1] ?? '';
  const from = Math.max(0, column - 60);
  throw new Error(
    [
      `line ${number}, column ${column}: ${problemOf(message)}`,
      `  ${number} | ${line.slice(from, from + 100)}`,
      `  ${' '.repeat(String(number).length)} | ${' '.repeat(column - 1 - from)}^`,
    ].join('\n'),
  );
}

/** Where the string ends that begins at `open`. */
export function endOfString(json: string, open: number): number {
  for (
    let close = json.indexOf('"', open + 1);
    close !== -1;
    close = json.indexOf('"', close + 1)
  ) {
    let slashes = 0;
    while (json[close - 1 - slashes] === '\\') slashes += 1;
    if (slashes % 2 === 0) return close + 1;
  }
  return json.length;
}

interface Level {
  /** Null in a list. */
  names: Set<string> | null;
  at: string | number;
}

/** The path of the first field that its object has already, which parsers replace in silence; null for none. */
export function repeatedField(json: string): string | null {
  const levels: Level[] = [];
  const signs = /["{}[\],]/g;
  let isName = false;
  for (let found = signs.exec(json); found !== null; found = signs.exec(json)) {
    const [sign] = found;
    const level = levels.at(-1);
    if (sign === '{' || sign === '[') {
      levels.push({ names: sign === '{' ? new Set() : null, at: 0 });
      isName = sign === '{';
    } else if (sign === ',') {
      isName = level?.names != null;
      if (level?.names === null) level.at = Number(level.at) + 1;
    } else if (sign === '"') {
      signs.lastIndex = endOfString(json, found.index);
      if (!isName || level?.names == null) continue;
      isName = false;
      const text = json.slice(found.index, signs.lastIndex);
      const name = text.includes('\\') ? String(JSON.parse(text)) : text.slice(1, -1);
      level.at = name;
      if (level.names.has(name))
        return levels
          .map(({ at }) => at)
          .join('.')
          .slice(0, 200);
      level.names.add(name);
    } else levels.pop();
  }
  return null;
}
