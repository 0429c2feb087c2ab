/** Go templates in pieces: text, and the tokens of actions. */

export type TokenKind =
  'word' | 'field' | 'variable' | 'string' | 'integer' | 'float' | 'sign' | 'dot';

export interface Token {
  kind: TokenKind;
  /** Without quotes, and without the dot of a field or the `$` of a variable. */
  text: string;
  /** True when nothing stands between it and the token before. */
  isAdjacent: boolean;
}

export type Piece =
  { kind: 'text'; text: string } | { kind: 'action'; tokens: Token[]; line: number };

const patterns: readonly (readonly [TokenKind, RegExp])[] = [
  ['string', /"(?:[^"\\\n]|\\.)*"|`[^`]*`/y],
  ['float', /-?\d+\.\d+/y],
  ['integer', /-?\d+/y],
  ['variable', /\$\w*/y],
  ['field', /\.[A-Za-z_]\w*/y],
  ['dot', /\./y],
  ['word', /[A-Za-z_]\w*/y],
  ['sign', /:=|[=|(),]/y],
];

function textOf(kind: TokenKind, matched: string): string {
  if (kind === 'field' || kind === 'variable') return matched.slice(1);
  if (kind !== 'string') return matched;
  return matched.startsWith('`') ? matched.slice(1, -1) : (JSON.parse(matched) as string);
}

function tokensOf(action: string, line: number): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  let isAdjacent = false;
  while (at < action.length) {
    const space = /\s+/y;
    space.lastIndex = at;
    if (space.test(action)) {
      at = space.lastIndex;
      isAdjacent = false;
      continue;
    }
    let found: Token | null = null;
    for (const [kind, pattern] of patterns) {
      pattern.lastIndex = at;
      const matched = pattern.exec(action)?.[0];
      if (matched === undefined) continue;
      found = { kind, text: textOf(kind, matched), isAdjacent };
      at += matched.length;
      break;
    }
    if (found === null) throw new Error(`line ${line}: not understood: ${action.slice(at)}`);
    tokens.push(found);
    isAdjacent = true;
  }
  return tokens;
}

/** Cuts a template; comments are gone and `{{-`, `-}}` have done their trimming. */
export function lex(source: string): Piece[] {
  const pieces: Piece[] = [];
  const action = /\{\{(-\s)?((?:"(?:[^"\\\n]|\\.)*"|`[^`]*`|\/\*[\s\S]*?\*\/|[\s\S])*?)(\s-)?\}\}/g;
  let at = 0;
  let trimsNext = false;
  const addText = (raw: string, trimsEnd: boolean): void => {
    const text = trimsNext ? raw.trimStart() : raw;
    pieces.push({ kind: 'text', text: trimsEnd ? text.trimEnd() : text });
  };
  for (const match of source.matchAll(action)) {
    const [whole, trimBefore, inner = '', trimAfter] = match;
    addText(source.slice(at, match.index), trimBefore !== undefined);
    at = match.index + whole.length;
    trimsNext = trimAfter !== undefined;
    if (inner.trim().startsWith('/*')) continue;
    const line = source.slice(0, match.index).split('\n').length;
    pieces.push({ kind: 'action', tokens: tokensOf(inner, line), line });
  }
  addText(source.slice(at), false);
  return pieces;
}
